"""Tokens for OAUTHBEARER: from an OIDC endpoint (KIP-768), or from another source.

Schema registries accept tokens of such endpoints, too.

A token is kept for four fifths of its time. It is not verified here: brokers do that.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from kafka_protocol.auth.mechanism import shown
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker.grants import ByAssertion, ClientCredentials, Grant
from kafka_protocol.client.broker.token_sources import (
    CALLBACK,
    KEPT_FRACTION,
    KeptToken,
    TokenSource,
    forget_source_token,
    source_token,
)
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.assertion_options import AssertionOptions
from kafka_protocol.client.config.option import options_of
from kafka_protocol.client.config.security_options import IDENTITIES, SecurityOptions
from kafka_protocol.client.network.http_request import HttpRequest, HttpResponse, send
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    KafkaError,
    TlsError,
)

_OK: Final = 200
_MAX_BODY_BYTES: Final = 1024 * 1024
_MAX_LIFETIME_S: Final = 1e12
# Too many requests, and errors of the server: a retry may succeed.
_RETRIABLE_STATUSES: Final = frozenset({429, 500, 502, 503, 504})


_cache: dict[Grant, KeptToken] = {}


def token_for(security: SecurityOptions, host: str, deadline: Deadline) -> Secret:
    """Get a valid token, from the cache if possible.

    Args:
        security: The options.
        host: The broker's host name.
        deadline: When an endpoint must have responded; other sources have limits of their own.

    Raises:
        KafkaError: As from `endpoint_token` or `source_token`.
    """
    source = _source_of(security)
    if source is not None:
        return source_token(source, host)
    try:
        return endpoint_token(_grant_in(security), deadline)
    except TlsError as error:
        raise TlsError(
            f"{error} (the authorities to trust at a token endpoint: kafka.https.ca.location)"
        ) from error


def forget_token(security: SecurityOptions) -> None:
    """Drop the cached token, because a broker refused it."""
    source = _source_of(security)
    if source is not None:
        forget_source_token(source)
    else:
        forget_endpoint_token(_grant_in(security))


def _source_of(security: SecurityOptions) -> TokenSource | None:
    """The source of tokens that is not an endpoint; None for an endpoint."""
    scope = security.oauth_scope
    if security.token_callback is not None:
        return TokenSource(CALLBACK, scope, security.token_callback)
    if security.metadata_authentication in IDENTITIES:
        return TokenSource(security.metadata_authentication, scope, security.oauth_client_id)
    return None


def endpoint_token(grant: Grant, deadline: Deadline) -> Secret:
    """Get a valid token from an endpoint, or from the cache if possible.

    Raises:
        AuthenticationError: The endpoint refused.
        BrokerConnectionError, KafkaTimeoutError: The endpoint cannot be reached, or is silent.
        TlsError: The endpoint cannot be trusted.
        ProtocolError: Its response is not HTTP, or longer than 1 MiB.
        KafkaConfigError: A file that TLS needs cannot be used.
    """
    cached = _cache.get(grant)
    if cached is None or cached.until.has_passed:
        cached = _cache[grant] = _request_token(grant, deadline)
    return cached.token


def forget_endpoint_token(grant: Grant) -> None:
    """Drop the cached token, because a server refused it."""
    _cache.pop(grant, None)


def _grant_in(security: SecurityOptions) -> Grant:
    url, scope = security.token_endpoint_url or "", security.oauth_scope
    tls = SecurityOptions(truststore_location=security.https_ca_location)
    if security.uses_assertion:
        names = options_of(AssertionOptions)
        options = AssertionOptions(**{name: getattr(security, name) for name in names})
        return ByAssertion(url, scope, tls, options)
    return ClientCredentials(
        url,
        security.oauth_client_id or "",
        security.oauth_client_secret or Secret(""),
        scope,
        tls,
        security.oauth_header_urlencode,
    )


def _request_token(grant: Grant, deadline: Deadline) -> KeptToken:
    form, headers, hidden = grant.show()
    headers = {
        **headers,
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    request = HttpRequest("POST", grant.endpoint_url, headers, urlencode(form).encode())
    response = send(request, grant.tls, deadline, _MAX_BODY_BYTES)
    return _token_in(
        response, f"the token endpoint at {urlsplit(grant.endpoint_url).netloc}", hidden
    )


def _token_in(response: HttpResponse, endpoint: str, hidden: Iterable[str]) -> KeptToken:
    values = _object_in(response.body)
    if response.status != _OK:
        raise _refusal(endpoint, response.status, values, hidden)
    token = values.get("access_token")
    if not isinstance(token, str) or not token:
        raise AuthenticationError(f"{endpoint} responded without an access_token")
    lifetime_s = _lifetime_s(values, token)
    return KeptToken(Secret(token), Deadline.after(lifetime_s * KEPT_FRACTION * 1000))


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
    claims = claims_in(token)
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


def claims_in(token: str) -> dict[str, Any]:
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
