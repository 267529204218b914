"""One listener of a broker, step by step: host name, TCP, TLS, SASL and ApiVersions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.metadata import request_metadata
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.network.connect import connect_tcp
from kafka_protocol.client.network.host_names import ip_addresses
from kafka_protocol.errors import AuthenticationError, KafkaError, TlsError
from kafka_protocol.versions.releases import release_of
from kafka_spark_source.diagnosis.findings import Finding, Result, tried

_DAY_MS: Final = 86_400_000
# An end of a certificate that is nearer is worth a warning, in days.
_SOON_DAYS: Final = 30


class Listener(NamedTuple):
    """Where a broker listens, and how a client connects; a bootstrap server has no ids."""

    address: Address
    node_id: int | None
    config: ClientConfig
    cluster_id: str | None = None

    def __str__(self) -> str:
        role = "bootstrap server" if self.node_id is None else f"broker {self.node_id}"
        return f"{role} ({self.address})"

    @property
    def deadline(self) -> Deadline:
        """The end of a step that begins now."""
        return Deadline.after(self.config.connection_setup_timeout_ms)


def reach(listener: Listener) -> Iterator[Finding]:
    """Take the steps of a connection one by one, until one is bad."""
    for step in (_name, _tcp, _tls, _kafka):
        for finding in step(listener):
            yield finding
            if finding.result is Result.BAD:
                return


def _name(listener: Listener) -> list[Finding]:
    def look_up() -> str:
        return ", ".join(ip_addresses(listener.address, listener.deadline))

    return [tried("name", str(listener), look_up)]


def _tcp(listener: Listener) -> list[Finding]:
    def connect() -> str:
        with closing(connect_tcp(listener.address, listener.deadline)) as sock:
            return f"connected to {sock.getpeername()[0]}"

    return [tried("TCP", str(listener), connect)]


def _tls(listener: Listener) -> list[Finding]:
    security = listener.config.security
    if not security.uses_tls:
        return []
    # Imported here, so that a client without TLS does not load `ssl`.
    from kafka_protocol.client.network.certificate import certificate_of  # noqa: PLC0415

    days_left: list[int] = []

    def read() -> str:
        certificate = certificate_of(listener.address, security, listener.deadline)
        days_left.append((certificate.expires_ms - now_ms()) // _DAY_MS)
        expires = datetime.fromtimestamp(certificate.expires_ms / 1000, timezone.utc)
        return (
            f"{certificate.tls}, certificate of {certificate.subject} from {certificate.issuer}, "
            f"valid until {expires:%Y-%m-%d}"
        )

    finding = tried("TLS", str(listener), read)
    if days_left and days_left[0] < _SOON_DAYS:
        detail = f"{finding.detail}; it ends in {days_left[0]} days: renew it"
        return [finding._replace(result=Result.COSTLY, detail=detail)]
    return [finding]


def _kafka(listener: Listener) -> list[Finding]:
    """ApiVersions and SASL. Without SASL, a listener that expects it refuses the first request."""
    address, node_id, config, cluster_id = listener
    deadline = listener.deadline
    try:
        with closing(Broker(address, node_id, config, deadline, cluster_id)) as broker:
            request_metadata(broker, [], deadline)
            served = broker.versions.ranges
    except KafkaError as error:
        return [Finding(_failed_step(error), str(listener), Result.BAD, str(error))]
    looks = f"{len(served)} APIs, like Kafka {release_of(served)}"
    mechanism = config.security.mechanism
    login = [Finding("SASL", str(listener), Result.GOOD, mechanism)] if mechanism else []
    return [Finding("ApiVersions", str(listener), Result.GOOD, looks), *login]


def _failed_step(error: KafkaError) -> str:
    if isinstance(error, TlsError):
        return "TLS"
    return "SASL" if isinstance(error, AuthenticationError) else "ApiVersions"
