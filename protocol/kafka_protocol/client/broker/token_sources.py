"""Tokens for OAUTHBEARER that no endpoint gives: of an identity of the machine, or of a function.

A token with a known end is kept for four fifths of its time, as in Java's client
(sasl.login.refresh.window.factor). Schema registries accept tokens of identities, too.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping
from inspect import Signature, signature
from math import isfinite
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple

from kafka_protocol.auth.secret import Secret
from kafka_protocol.auth.token import AccessToken
from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    KafkaConfigError,
    KafkaError,
)

KEPT_FRACTION: Final = 0.8
CALLBACK: Final = "callback"
# For a token of an identity, in s.
_LIMIT_S: Final = 30


class TokenSource(NamedTuple):
    """Where tokens come from.

    Attributes:
        kind: CALLBACK, or an identity of the machine: one of `security_options.IDENTITIES`.
        scope: The scope to request; None for the usual one.
        name: The callback as `package.module:function`, the client id of an identity that a user
            assigned, or a service credential's name; None for the only one.
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
    """Get a valid token. The time of a callback has no limit; that of an identity is 30 s.

    Args:
        source: Where it comes from.
        host: The broker's host name; empty for a registry.

    Raises:
        AuthenticationError: The callback failed, there is no such identity, or it was refused.
        BrokerConnectionError: The server of the identity cannot be reached in time.
        KafkaConfigError: The callback, or the library, does not exist.
    """
    kept = _kept.get((source, host))
    if kept is None or kept.until.has_passed:
        token, expires_s, _ = _requested(source, host)
        left_ms = max(0.0, expires_s * 1000 - now_ms())
        kept = _kept[source, host] = KeptToken(token, Deadline.after(left_ms * KEPT_FRACTION))
    return kept.token


def forget_source_token(source: TokenSource) -> None:
    """Drop the tokens that are kept, because a server refused one."""
    for key in [key for key in [*_kept] if key[0] == source]:
        _kept.pop(key, None)


def _requested(source: TokenSource, host: str) -> AccessToken:
    if source.kind == CALLBACK:
        return _of_callback(source, host)
    # Libraries of clouds wait as long as a server says: in a thread that may go on.
    outcomes: SimpleQueue[AccessToken | Exception] = SimpleQueue()

    def request() -> None:
        try:
            outcomes.put(_IDENTITIES[source.kind](source, host))
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            outcomes.put(error)

    threading.Thread(target=request, name="pykafka-token", daemon=True).start()
    try:
        outcome = outcomes.get(timeout=_LIMIT_S)
    except Empty:
        raise BrokerConnectionError(
            f"no token of the identity {source.kind!r} within {_LIMIT_S} s"
        ) from None
    if isinstance(outcome, KafkaError):
        raise outcome
    if isinstance(outcome, Exception):
        # Without its text, which may have a part of a response or of a file.
        kind = type(outcome).__name__
        raise AuthenticationError(f"no token of the identity {source.kind!r}: {kind}") from None
    return outcome


def _of_azure(source: TokenSource, host: str) -> AccessToken:
    from kafka_protocol.auth.azure import azure_token  # noqa: PLC0415 - an extra

    return azure_token(host, source.scope, source.name, is_managed=source.kind == "azure_imds")


def _of_google(source: TokenSource, _host: str) -> AccessToken:
    from kafka_protocol.auth.google import google_token  # noqa: PLC0415 - an extra

    return google_token(source.scope, now_ms() / 1000)


def _of_databricks(source: TokenSource, host: str) -> AccessToken:
    from kafka_protocol.auth.databricks import databricks_token  # noqa: PLC0415 - there only

    return databricks_token(host, source.scope, source.name)


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
    except Exception as error:  # noqa: BLE001 - whatever a user's module raises
        raise KafkaConfigError(
            f"Option 'kafka.sasl.oauthbearer.token.callback' names {path!r}, whose module raises "
            f"{type(error).__name__}"
        ) from None
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
    text: object = token.text  # a user's function may return anything
    expires_s: object = token.expires_s
    is_time = isinstance(expires_s, int | float) and isfinite(expires_s)
    if not isinstance(text, Secret) or not is_time:
        raise AuthenticationError(
            f"{path} returned an AccessToken that is not of a Secret and of seconds since 1970"
        )
    return token


def _arguments_of(callback: Callable[..., Any], *more: str | None) -> tuple[str | None, ...]:
    """The arguments of a callback: none, unless it needs exactly these."""
    try:
        own = signature(callback, follow_wrapped=False)
    except (TypeError, ValueError):  # a function of C
        return ()
    return more if _takes(own, *more) and not _takes(own) else ()


def _takes(own: Signature, *arguments: str | None) -> bool:
    try:
        own.bind(*arguments)
    except TypeError:
        return False
    return True


_IDENTITIES: Final[Mapping[str, Callable[[TokenSource, str], AccessToken]]] = {
    "azure_imds": _of_azure,
    "azure": _of_azure,
    "gcp": _of_google,
    "databricks": _of_databricks,
}
