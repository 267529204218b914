"""Tokens for OAUTHBEARER: from a function of the user's, or from an OIDC endpoint (KIP-768).

A token of an endpoint is kept until four fifths of its life are over, the point at which Java's
client gets a new one (sasl.login.refresh.window.factor). No token is verified here: that is the
broker's part.
"""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple
from urllib.parse import quote_plus, urlencode, urlsplit

from kafka_protocol.auth.mechanism import shown, utf8
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.http_post import Answer, post
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    KafkaConfigError,
    KafkaError,
)

_KEEP_FOR: Final = 0.8
_OK: Final = 200
_BEYOND_BELIEF_S: Final = 1e12
# Too many requests, and what is wrong at the other end: it may pass.
_PASSING: Final = frozenset({429, 500, 502, 503, 504})


class _Kept(NamedTuple):
    token: Secret
    until: Deadline


_kept: dict[SecurityOptions, _Kept] = {}


def token_for(security: SecurityOptions, deadline: Deadline) -> Secret:
    """A token that is valid for a while.

    Args:
        security: A callback, or an endpoint with the client's credentials.
        deadline: When the endpoint must have answered. A callback takes as long as it takes.

    Raises:
        AuthenticationError: The endpoint refused, or the callback failed.
        BrokerConnectionError, KafkaTimeoutError: The endpoint cannot be reached, or is silent.
        TlsError: It cannot be trusted.
        ProtocolError: What it answers is not HTTP.
        KafkaConfigError: There is no such callback.
    """
    if security.token_callback is not None:
        return _called(security.token_callback)
    kept = _kept.get(security)
    if kept is None or kept.until.has_passed:
        kept = _kept[security] = _fetched(security, deadline)
    return kept.token


def forget_token(security: SecurityOptions) -> None:
    """Get a new one the next time: the broker did not like it."""
    _kept.pop(security, None)


def _called(path: str) -> Secret:
    module, _, name = path.partition(":")
    try:
        callback = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise KafkaConfigError(
            f"Option 'kafka.sasl.oauthbearer.token.callback' names {path!r}, which cannot be "
            f"imported: {error}"
        ) from error
    try:
        token = callback()
    except KafkaError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a user's callback raises
        # Not chained: what it says may hold a secret.
        raise AuthenticationError(f"{path} raised {type(error).__name__}") from None
    if not isinstance(token, str):
        raise AuthenticationError(f"{path} returned {type(token).__name__}, and not a str")
    return Secret(token)


def _fetched(security: SecurityOptions, deadline: Deadline) -> _Kept:
    url, secret = security.token_endpoint_url or "", security.oauth_client_secret or Secret("")
    form = {"grant_type": "client_credentials"}
    if security.oauth_scope is not None:
        form["scope"] = security.oauth_scope
    credentials = [security.oauth_client_id or "", secret.reveal()]
    if security.oauth_header_urlencode:
        credentials = [quote_plus(part) for part in credentials]
    basic = base64.b64encode(utf8(":".join(credentials), "the client's credentials")).decode()
    headers = {
        "Authorization": f"Basic {basic}",
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    body = urlencode(form).encode()
    answer = post(url, headers, body, security.https_ca_location, deadline)
    hidden = (secret.reveal(), quote_plus(secret.reveal()), basic)
    return _token_in(answer, f"the token endpoint at {urlsplit(url).netloc}", hidden)


def _token_in(answer: Answer, who: str, hidden: Iterable[str]) -> _Kept:
    told = _object_in(answer.body)
    if answer.status != _OK:
        raise _refusal(f"{who} answered {answer.status}", answer.status, told, hidden)
    token = told.get("access_token")
    if not isinstance(token, str) or not token:
        raise AuthenticationError(f"{who} answered without an access_token")
    return _Kept(Secret(token), Deadline.after(_lifetime_s(told, token) * _KEEP_FOR * 1000))


def _refusal(what: str, status: int, told: dict[str, Any], hidden: Iterable[str]) -> KafkaError:
    """Its words (RFC 6749, section 5.2), but for what they may repeat of ours."""
    words = [told[key] for key in ("error", "error_description") if isinstance(told.get(key), str)]
    for secret in filter(None, hidden):
        words = [text.replace(secret, "***") for text in words]
    said = [shown(text) for text in words]
    kind = BrokerConnectionError if status in _PASSING else AuthenticationError
    return kind(": ".join([what, *said]))


def _lifetime_s(told: dict[str, Any], token: str) -> float:
    """How long the token lives, as the answer and the token itself say; 0 where neither does.

    The token's own times are compared with each other and not with a clock: clocks differ.
    """
    claims = _claims_in(token)
    told_s, start_s, end_s = (
        _seconds(times.get(key))
        for times, key in ((told, "expires_in"), (claims, "iat"), (claims, "exp"))
    )
    of_claims_s = end_s - start_s if start_s and end_s else 0.0
    return max(0.0, min(filter(None, (told_s, of_claims_s)), default=0.0))


def _seconds(value: object) -> float:
    """A number of seconds; 0 for what is none, or beyond belief."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 < value < _BEYOND_BELIEF_S else 0.0


def _claims_in(token: str) -> dict[str, Any]:
    """A JSON web token's claims, unverified; none where it is not one."""
    payload = "".join(token.split(".")[1:2])
    try:
        return _object_in(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return {}


def _object_in(text: bytes) -> dict[str, Any]:
    """A JSON object; an empty one where it is something else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
