"""Finds out why a listener closed a connection: it may expect another security protocol.

A broker closes a connection without a reason on TLS where it expects plain text, and on requests
where it expects SASL. A broker that is stopping does the same, so the error alone would be retried
until the time is up. A second connection shows which it is. It sends no secret, and is closed.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Final

from kafka_protocol.auth.mechanism import shown
from kafka_protocol.client.broker.connection import BrokerConnection
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.errors import AuthenticationError, ErrorCode, KafkaError, TlsError
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_protocol.wire.schema import Request, Response

_WITHOUT_TLS: Final = {"SSL": "PLAINTEXT", "SASL_SSL": "SASL_PLAINTEXT"}
_WITH_SASL: Final = {"PLAINTEXT": "SASL_PLAINTEXT", "SSL": "SASL_SSL"}


def raise_if_without_tls(address: Address, config: ClientConfig, deadline: Deadline) -> None:
    """Raise if a broker responds there without TLS, after it closed on a TLS handshake.

    Raises:
        TlsError: It does; the client never continues without TLS by itself.
    """
    plaintext = replace(config, security=SecurityOptions())
    response = _response_to(ApiVersionsRequest(), address, plaintext, deadline)
    if isinstance(response, ApiVersionsResponse):
        raise TlsError(
            f"{address} closed the connection in the TLS handshake, and a broker responds there "
            f"without TLS; check the port, or set kafka.security.protocol to "
            f"{_WITHOUT_TLS[config.security.protocol]}"
        )


def raise_if_sasl(address: Address, config: ClientConfig, deadline: Deadline, context: str) -> None:
    """Raise if a listener expects SASL, after it closed on the first request without it.

    Raises:
        AuthenticationError: It does. Names its mechanisms.
    """
    response = _response_to(SaslHandshakeRequest(mechanism=""), address, config, deadline)
    if (
        isinstance(response, SaslHandshakeResponse)
        and response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    ):
        raise AuthenticationError(
            f"{context}: the listener expects SASL ({', '.join(map(shown, response.mechanisms))}); "
            f"set kafka.security.protocol to {_WITH_SASL[config.security.protocol]}"
        )


def _response_to(
    request: Request, address: Address, config: ClientConfig, deadline: Deadline
) -> Response | None:
    """The response to the lowest version of a request on a new connection; None without one."""
    limit = deadline.capped_at(config.times.listener_probe_ms)
    try:
        with closing(BrokerConnection(address, config, limit)) as connection:
            connection.send(request, limit, version=0)
            return connection.receive(limit)
    except KafkaError:
        return None
