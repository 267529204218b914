"""A new connection and the versions to speak on it: ApiVersions, and below it (KIP-35).

A broker older than 0.10 does not know ApiVersions. 0.8 closes the connection on it, 0.9 may stay
silent. But so does a newer broker that is restarting, or stopped for a while, and to take that one
for an old broker would read its records in an old format, without their headers. So nobody is
taken for old before it was proven: it answers an old request, and after that it still does not
answer ApiVersions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from kafka_protocol import negotiation
from kafka_protocol.client.broker.connection import Wire
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.network.transport import ClosedByPeerError
from kafka_protocol.errors import ErrorCode, KafkaTimeoutError, OutOfStepError
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.releases import parse_release
from kafka_protocol.version import __version__

SOFTWARE_NAME: Final = "pyspark-pykafka"

OpenWire: TypeAlias = Callable[[], Wire]

# Every broker up to 3.9 serves it; without topics it costs nothing and creates none.
_OLD_REQUEST: Final = ListOffsetsRequest(topics=[])
_FIRST_WITH_API_VERSIONS: Final = (0, 10)


def bring_up(first: Wire, open_another: OpenWire, config: ClientConfig, deadline: Deadline) -> Wire:
    """Find out which versions to speak with a broker.

    Args:
        first: A new connection, owned from now on.
        open_another: Makes one more; called twice at the most.
        config: Whether to ask, and what to assume of a broker that cannot be asked.
        deadline: When it must be done.

    Returns:
        A connection that knows its versions; the others are closed.

    Raises:
        BrokerConnectionError: The broker accepts no more, or closes on everything.
        KafkaTimeoutError: It accepted and then said nothing.
        ProtocolError: It is no Kafka broker, or speaks TLS.
        BrokerError: It refused to say its versions.
    """
    wires = [first]

    def opened() -> Wire:
        wires.append(open_another())
        return wires[-1]

    chosen: Wire | None = None
    try:
        chosen = _negotiated(first, opened, config, deadline)
        return chosen
    finally:
        for wire in wires:
            if wire is not chosen:
                wire.close()


def _negotiated(first: Wire, opened: OpenWire, config: ClientConfig, deadline: Deadline) -> Wire:
    if not config.api_version_request:
        return _assume(first, config)
    patience = min(config.api_version_request_timeout_ms, deadline.remaining_ms / 2)
    question = _Question(first, deadline)
    try:
        return question.wait(deadline.or_sooner(patience))
    except (ClosedByPeerError, KafkaTimeoutError):
        if parse_release(config.broker_version_fallback) >= _FIRST_WITH_API_VERSIONS:
            raise
    elder = opened()
    if not _speaks_old(elder, question, deadline):
        return question.wait(deadline)
    if question.is_closed:
        # It closes on ApiVersions and answers what is old; once more, in case it was restarting.
        question = _Question(opened(), deadline)
    try:
        return question.wait(deadline.or_sooner(patience / 2))
    except (ClosedByPeerError, KafkaTimeoutError):
        return _assume(elder, config)


def _assume(wire: Wire, config: ClientConfig) -> Wire:
    wire.connection.versions = negotiation.assumed_versions(config.broker_version_fallback)
    return wire


class _Question:
    """ApiVersions, asked on one connection from the newest version down (KIP-511)."""

    def __init__(self, wire: Wire, deadline: Deadline) -> None:
        self.wire = wire
        self.is_closed = False
        self._deadline = deadline
        self._ask(negotiation.FIRST_TRY)

    def _ask(self, version: int) -> None:
        self._version = version
        request = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=__version__
        )
        self.wire.send(request, self._deadline, version=version)

    def wait(self, deadline: Deadline) -> Wire:
        """The connection, once it knows its versions; after a time-out, wait again."""
        try:
            while True:
                response = self.wire.receive(deadline)
                if not isinstance(response, ApiVersionsResponse):
                    raise OutOfStepError(f"{type(response).__name__} came unasked")
                if response.error_code == ErrorCode.NONE:
                    self.wire.connection.versions = negotiation.versions_from(response)
                    return self.wire
                self._ask(negotiation.step_down(self._version, response))
        except ClosedByPeerError:
            self.is_closed = True
            raise


def _speaks_old(wire: Wire, question: _Question, deadline: Deadline) -> bool:
    """Whether a broker answers a request that only old ones, and not too new ones, know."""
    try:
        wire.send(_OLD_REQUEST, deadline, version=0)
        wire.receive(deadline)
    except ClosedByPeerError as error:
        if question.is_closed:
            raise ClosedByPeerError(
                f"{error}, on ApiVersions as well as on an old request; it is going down, wants "
                "TLS or SASL, or is no Kafka broker"
            ) from error
        return False
    return True
