"""Tokens for OAUTHBEARER that no endpoint gives: of an identity of the machine, or of a function.

A token with a known end is kept for four fifths of its time, as in Java's client
(sasl.login.refresh.window.factor). Schema registries accept tokens of identities, too.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Final, NamedTuple

from kafka_protocol.auth.secret import Secret
from kafka_protocol.auth.token import AccessToken
from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.errors import AuthenticationError, KafkaConfigError, KafkaError

KEPT_FRACTION: Final = 0.8
CALLBACK: Final = "callback"


class TokenSource(NamedTuple):
    """Where tokens come from.

    Attributes:
        kind: CALLBACK, or an identity of the machine: one of `security_options.IDENTITIES`.
        scope: The scope to request; None for the usual one.
        name: The callback as `package.module:function`, or the client id of an identity that a
            user assigned; None for the only one.
    """

    kind: str
    scope: str | None = None
    name: str | None = None


class KeptToken(NamedTuple):
    """A token, and until when it is used."""

    token: Secret
    until: Deadline


# By the host, too: a scope may have its name.
_kept: dict[tuple[TokenSource, str], KeptToken] = {}


def source_token(source: TokenSource, host: str) -> Secret:
    """Get a valid token. The time of a callback has no limit; identities have limits of their own.

    Args:
        source: Where it comes from.
        host: The broker's host name; empty for a registry.

    Raises:
        AuthenticationError: The callback failed, there is no such identity, or it was refused.
        BrokerConnectionError: The server of the identity cannot be reached.
        KafkaConfigError: The callback, or the library, does not exist.
    """
    kept = _kept.get((source, host))
    if kept is None or kept.until.has_passed:
        token, expires_s, _ = _SOURCES[source.kind](source, host)
        left_ms = max(0.0, expires_s * 1000 - now_ms())
        kept = _kept[source, host] = KeptToken(token, Deadline.after(left_ms * KEPT_FRACTION))
    return kept.token


def forget_source_token(source: TokenSource) -> None:
    """Drop the tokens that are kept, because a server refused one."""
    for key in [key for key in _kept if key[0] == source]:
        _kept.pop(key, None)


def _of_azure(source: TokenSource, host: str) -> AccessToken:
    from kafka_protocol.auth.azure import azure_token  # noqa: PLC0415 - an extra

    return azure_token(host, source.scope, source.name, is_managed=source.kind == "azure_imds")


def _of_google(source: TokenSource, _host: str) -> AccessToken:
    from kafka_protocol.auth.google import google_token  # noqa: PLC0415 - an extra

    return google_token(source.scope, now_ms() / 1000)


def _of_callback(source: TokenSource, host: str) -> AccessToken:
    path = source.name or ""
    module, _, name = path.partition(":")
    try:
        callback = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise KafkaConfigError(
            f"Option 'kafka.sasl.oauthbearer.token.callback' names {path!r}, which cannot be "
            f"imported: {error}"
        ) from error
    try:
        token = callback(*_arguments_of(callback, host, source.scope))
    except KafkaError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a user's callback raises
        # Not chained: its text may contain a secret.
        raise AuthenticationError(f"{path} raised {type(error).__name__}") from None
    if isinstance(token, str):
        return AccessToken(Secret(token))
    if not isinstance(token, AccessToken):
        raise AuthenticationError(
            f"{path} returned {type(token).__name__}, and not a str or an AccessToken"
        )
    return token


def _arguments_of(callback: Callable[..., Any], *more: str | None) -> tuple[str | None, ...]:
    """The arguments of a callback: none if it can be called so."""
    try:
        signature(callback).bind()
    except TypeError:
        return more
    except ValueError:  # a function of C
        return ()
    return ()


_SOURCES: Final[Mapping[str, Callable[[TokenSource, str], AccessToken]]] = {
    CALLBACK: _of_callback,
    "azure_imds": _of_azure,
    "azure": _of_azure,
    "gcp": _of_google,
}
