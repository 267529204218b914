"""Tokens for OAUTHBEARER: of an identity of the machine, of a function, or of an OIDC endpoint.

Schema registries accept tokens of such endpoints, too.

A token with a known end is cached for four fifths of its lifetime, as in Java's client
(sasl.login.refresh.window.factor). Tokens are not verified here: brokers do that. KIP-768 has the
endpoints.
"""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote_plus, urlencode, urlsplit

from kafka_protocol.auth.mechanism import shown, utf8
from kafka_protocol.auth.secret import Secret
from kafka_protocol.auth.token import AccessToken
from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.http_request import HttpRequest, HttpResponse, send
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    KafkaConfigError,
    KafkaError,
    TlsError,
)

_CACHED_FRACTION: Final = 0.8
_OK: Final = 200
_MAX_BODY_BYTES: Final = 1024 * 1024
_MAX_LIFETIME_S: Final = 1e12
# Too many requests, and errors of the server: a retry may succeed.
_RETRIABLE_STATUSES: Final = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """The credentials to request a token with (RFC 6749, section 4.4), and the endpoint.

    Attributes:
        endpoint_url: An http or https URL without a user.
        client_id: The client's id.
        client_secret: The client's secret.
        scope: The scope to request; None to request a token without one.
        tls: The options of TLS for the endpoint.
        urlencode: Whether id and secret are URL-encoded in the request's header.
    """

    endpoint_url: str
    client_id: str
    client_secret: Secret
    scope: str | None
    tls: SecurityOptions
    urlencode: bool = False


class _CachedToken(NamedTuple):
    token: Secret
    until: Deadline


_cache: dict[ClientCredentials, _CachedToken] = {}
# By the options and the host: scopes may have its name.
_cache_of_sources: dict[tuple[SecurityOptions, str], _CachedToken] = {}


def token_for(security: SecurityOptions, host: str, deadline: Deadline) -> Secret:
    """Get a valid token, from the cache if possible.

    The deadline is for an endpoint. The time of a callback has no limit, and an identity of the
    machine has limits of its own.

    Args:
        security: The options.
        host: The broker's host name.
        deadline: When an endpoint must have responded.

    Raises:
        KafkaError: As from `endpoint_token`, `azure_token` or `google_token`.
        AuthenticationError: The callback failed.
        KafkaConfigError: The callback does not exist.
    """
    source = _source_of(security)
    if source is not None:
        return _cached(security, host, source)
    try:
        return endpoint_token(_credentials_in(security), deadline)
    except TlsError as error:
        raise TlsError(
            f"{error} (the authorities to trust at a token endpoint: kafka.https.ca.location)"
        ) from error


def forget_token(security: SecurityOptions) -> None:
    """Drop the cached token, because a broker refused it."""
    forget_endpoint_token(_credentials_in(security))
    for key in [key for key in _cache_of_sources if key[0] == security]:
        _cache_of_sources.pop(key, None)


_Source: TypeAlias = Callable[[SecurityOptions, str], AccessToken]


def _source_of(security: SecurityOptions) -> _Source | None:
    """The source of tokens that is not an endpoint; None for an endpoint."""
    if security.token_callback is not None:
        return _of_callback
    return _IDENTITIES.get(security.metadata_authentication)


def _of_azure(security: SecurityOptions, host: str) -> AccessToken:
    from kafka_protocol.auth.azure import azure_token  # noqa: PLC0415 - an extra

    is_managed = security.metadata_authentication == "azure_imds"
    scope, client_id = security.oauth_scope, security.oauth_client_id
    return azure_token(host, scope, client_id, is_managed=is_managed)


def _of_google(security: SecurityOptions, _host: str) -> AccessToken:
    from kafka_protocol.auth.google import google_token  # noqa: PLC0415 - an extra

    return google_token(security.oauth_scope, now_ms() / 1000)


_IDENTITIES: Final[Mapping[str, _Source]] = {
    "azure_imds": _of_azure,
    "azure": _of_azure,
    "gcp": _of_google,
}


def _cached(security: SecurityOptions, host: str, source: _Source) -> Secret:
    cached = _cache_of_sources.get((security, host))
    if cached is None or cached.until.has_passed:
        token, expires_s, _ = source(security, host)
        left_ms = max(0.0, expires_s * 1000 - now_ms())
        cached = _CachedToken(token, Deadline.after(left_ms * _CACHED_FRACTION))
        _cache_of_sources[security, host] = cached
    return cached.token


def endpoint_token(credentials: ClientCredentials, deadline: Deadline) -> Secret:
    """Get a valid token from an endpoint, or from the cache if possible.

    Raises:
        AuthenticationError: The endpoint refused.
        BrokerConnectionError, KafkaTimeoutError: The endpoint cannot be reached, or is silent.
        TlsError: The endpoint cannot be trusted.
        ProtocolError: Its response is not HTTP, or longer than 1 MiB.
        KafkaConfigError: A file that TLS needs cannot be used.
    """
    cached = _cache.get(credentials)
    if cached is None or cached.until.has_passed:
        cached = _cache[credentials] = _request_token(credentials, deadline)
    return cached.token


def forget_endpoint_token(credentials: ClientCredentials) -> None:
    """Drop the cached token, because a server refused it."""
    _cache.pop(credentials, None)


def _credentials_in(security: SecurityOptions) -> ClientCredentials:
    return ClientCredentials(
        security.token_endpoint_url or "",
        security.oauth_client_id or "",
        security.oauth_client_secret or Secret(""),
        security.oauth_scope,
        SecurityOptions(truststore_location=security.https_ca_location),
        security.oauth_header_urlencode,
    )


def _of_callback(security: SecurityOptions, host: str) -> AccessToken:
    path = security.token_callback or ""
    module, _, name = path.partition(":")
    try:
        callback = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise KafkaConfigError(
            f"Option 'kafka.sasl.oauthbearer.token.callback' names {path!r}, which cannot be "
            f"imported: {error}"
        ) from error
    try:
        token = callback(*_arguments_of(callback, host, security.oauth_scope))
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


def _request_token(credentials: ClientCredentials, deadline: Deadline) -> _CachedToken:
    url, secret = credentials.endpoint_url, credentials.client_secret.reveal()
    form = {"grant_type": "client_credentials"}
    if credentials.scope is not None:
        form["scope"] = credentials.scope
    user = [credentials.client_id, secret]
    if credentials.urlencode:
        user = [quote_plus(part) for part in user]
    basic = base64.b64encode(utf8(":".join(user), "the client's credentials")).decode()
    headers = {
        "Authorization": f"Basic {basic}",
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    request = HttpRequest("POST", url, headers, urlencode(form).encode())
    response = send(request, credentials.tls, deadline, _MAX_BODY_BYTES)
    hidden = (secret, quote_plus(secret), basic)
    return _token_in(response, f"the token endpoint at {urlsplit(url).netloc}", hidden)


def _token_in(response: HttpResponse, endpoint: str, hidden: Iterable[str]) -> _CachedToken:
    values = _object_in(response.body)
    if response.status != _OK:
        raise _refusal(endpoint, response.status, values, hidden)
    token = values.get("access_token")
    if not isinstance(token, str) or not token:
        raise AuthenticationError(f"{endpoint} responded without an access_token")
    lifetime_s = _lifetime_s(values, token)
    return _CachedToken(Secret(token), Deadline.after(lifetime_s * _CACHED_FRACTION * 1000))


def _refusal(peer: str, status: int, values: dict[str, Any], hidden: Iterable[str]) -> KafkaError:
    """An error with the endpoint's texts (RFC 6749, section 5.2), without secrets they repeat."""
    keys = ("error", "error_description")
    texts = [values[key] for key in keys if isinstance(values.get(key), str)]
    for secret in filter(None, hidden):
        texts = [text.replace(secret, "***") for text in texts]
    kind = BrokerConnectionError if status in _RETRIABLE_STATUSES else AuthenticationError
    return kind(": ".join([f"{peer} responded with {status}", *map(shown, texts)]))


def _lifetime_s(values: dict[str, Any], token: str) -> float:
    """The shorter of the lifetimes in the response and in the token, in seconds; 0 without any.

    The token's times are compared with each other, not with a clock: clocks differ.
    """
    claims = _claims_in(token)
    expires_in_s, start_s, end_s = (
        _seconds(times.get(key))
        for times, key in ((values, "expires_in"), (claims, "iat"), (claims, "exp"))
    )
    claimed_s = end_s - start_s if start_s and end_s else 0.0
    return max(0.0, min(filter(None, (expires_in_s, claimed_s)), default=0.0))


def _seconds(value: object) -> float:
    """A number of seconds; 0 if it is not a number, or not a plausible one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 < value < _MAX_LIFETIME_S else 0.0


def _claims_in(token: str) -> dict[str, Any]:
    """The unverified claims of a JSON web token; empty if it is not one."""
    payload = "".join(token.split(".")[1:2])
    try:
        return _object_in(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return {}


def _object_in(text: bytes) -> dict[str, Any]:
    """A JSON object; an empty one if the text is something else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
