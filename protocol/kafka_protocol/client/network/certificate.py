"""The certificate that a listener shows, for people who look for a fault. No connection uses it."""

from __future__ import annotations

import ssl
from contextlib import closing
from typing import Any, NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.connect import connect_tcp
from kafka_protocol.client.network.tls_stream import handshake


class Certificate(NamedTuple):
    """A verified certificate.

    Attributes:
        subject: The common name of its owner, or the first of its names.
        issuer: The common name of the authority that signed it.
        names: The host names and IP addresses that it is for.
        expires_ms: The end of its validity, in ms since 1970.
        tls: The version of TLS that both sides agreed on, such as "TLSv1.3".
    """

    subject: str
    issuer: str
    names: tuple[str, ...]
    expires_ms: int
    tls: str


def certificate_of(address: Address, security: SecurityOptions, deadline: Deadline) -> Certificate:
    """Connect, and read the listener's certificate.

    Raises:
        BrokerConnectionError, KafkaTimeoutError, TlsError, KafkaConfigError: As from `connect`.
    """
    with (
        closing(connect_tcp(address, deadline)) as sock,
        closing(handshake(sock, address, security, deadline)) as encrypted,
    ):
        fields: Any = encrypted.getpeercert() or {}
        tls = encrypted.version() or "TLS"
    names = tuple(str(name) for _, name in fields.get("subjectAltName", ()))
    return Certificate(
        _common_name(fields.get("subject", ())) or next(iter(names), "a nameless owner"),
        _common_name(fields.get("issuer", ())) or "a nameless authority",
        names,
        int(ssl.cert_time_to_seconds(fields["notAfter"]) * 1000),
        tls,
    )


def _common_name(parts: Any) -> str:
    """The common name among the parts of a distinguished name."""
    values = [value for part in parts for name, value in part if name == "commonName"]
    return values[-1] if values else ""
