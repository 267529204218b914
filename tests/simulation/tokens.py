"""Tokens for brokers that want one: the callback that options name."""

from __future__ import annotations

from kafka_protocol.auth.secret import Secret
from kafka_protocol.auth.token import AccessToken
from kafka_protocol.client.clock import now_ms

_LASTS_S = 30


def token(host: str, _scope: str | None) -> AccessToken:
    """A token for a broker, for half a minute."""
    return AccessToken(Secret(f"for-{host}"), now_ms() / 1000 + _LASTS_S)
