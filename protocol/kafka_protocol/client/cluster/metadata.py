"""Metadata and FindCoordinator: one request to one broker, in whatever version it speaks.

`cluster` chooses the broker, caches the results and retries; nothing of that here.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import Address
from kafka_protocol.errors import BrokerError, ErrorCode, OutOfStepError
from kafka_protocol.messages.find_coordinator import (
    GROUP,
    TRANSACTION,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.primitives import ZERO_UUID
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import TopicPartition

NO_LEADER: Final = -1


class Leader(NamedTuple):
    """The node id of a partition's leader, and its leader epoch (-1 from old brokers)."""

    node_id: int
    epoch: int


class Topic(NamedTuple):
    """A topic in metadata. A partition without a leader has NO_LEADER."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool
    error_code: int
    partitions: Mapping[int, Leader]


# From this version on, one request finds several coordinators (KIP-699).
_MANY_COORDINATORS: Final = 4
# More requests than this could fill the buffers of both sides, each waiting for the other to read.
_MAX_IN_FLIGHT: Final = 500
# Below this version, a broker with auto.create.topics.enable creates every topic in the request.
_FIRST_WITHOUT_CREATION: Final = 4


def request_metadata(
    broker: Broker, names: Collection[str] | None, deadline: Deadline, *, create: bool = False
) -> MetadataResponse:
    """Send Metadata for topics by name, or for all of them (None).

    Raises:
        BrokerError: The broker refused.
    """
    version = broker.choose(MetadataRequest)
    if names and not create and version < _FIRST_WITHOUT_CREATION:
        names = None  # all topics, of which the caller picks: reading must not create any
    named = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(names or ())]
    request = MetadataRequest(
        topics=None if names is None and version > 0 else named,
        # Without names nothing is created; and below v4 this must have its default.
        allow_auto_topic_creation=create or not names,
    )
    response = broker.request(request, MetadataResponse, deadline)
    if response.error_code:
        raise BrokerError(response.error_code, f"Metadata to {broker}")
    return response


class Coordinator(NamedTuple):
    """The coordinator of a group or a transactional id, or the error in its place."""

    node_id: int
    address: Address
    error: BrokerError | None


_KEY_NAMES: Final = {GROUP: "group", TRANSACTION: "transactional id"}

# Version 0 knows groups only (KIP-98).
_VERSIONS: Final = {
    GROUP: FindCoordinatorRequest.versions,
    TRANSACTION: VersionRange(1, FindCoordinatorRequest.versions.highest),
}

_MISSING_ACLS: Final[Mapping[int, str]] = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "grant the principal DESCRIBE on the group",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "grant the principal DESCRIBE and WRITE on the transactional id"
    ),
}


def find_coordinators(
    kind: int, keys: Collection[str], broker: Broker, deadline: Deadline
) -> dict[str, Coordinator]:
    """Find the coordinator of each group (GROUP), or of each transactional id (TRANSACTION).

    Raises:
        OutOfStepError: The response lacks a key.
        UnsupportedVersionError: The broker is older than transactions.
    """
    needed = _VERSIONS[kind]
    has_one_each = broker.choose(FindCoordinatorRequest, needed) < _MANY_COORDINATORS
    if has_one_each:
        requests = [FindCoordinatorRequest(key=key, key_type=kind) for key in keys]
    else:
        requests = [FindCoordinatorRequest(coordinator_keys=[*keys], key_type=kind)]
    responses: list[FindCoordinatorResponse] = []
    for start in range(0, len(requests), _MAX_IN_FLIGHT):
        some = requests[start : start + _MAX_IN_FLIGHT]
        sent = [broker.send(request, deadline, needed) for request in some]
        responses += [broker.receive(each, FindCoordinatorResponse, deadline) for each in sent]
    found: Mapping[str, FindCoordinatorResponse | FindCoordinatorResponse.Coordinator]
    if has_one_each:
        found = dict(zip(keys, responses, strict=True))
    else:
        found = {each.key: each for response in responses for each in response.coordinators}
    return {
        key: _coordinator(found.get(key), f"{_KEY_NAMES[kind]} {key!r}", broker) for key in keys
    }


def _coordinator(
    found: FindCoordinatorResponse | FindCoordinatorResponse.Coordinator | None,
    key: str,
    broker: Broker,
) -> Coordinator:
    context = f"FindCoordinator of {key} to {broker}"
    if found is None:
        raise OutOfStepError(f"{context}: the response lacks it")
    code = found.error_code
    details = filter(None, (found.error_message, _MISSING_ACLS.get(code)))
    error = BrokerError(code, context, "; ".join(details) or None) if code else None
    return Coordinator(found.node_id, Address(found.host, found.port), error)


def unknown_topic(name: str) -> Topic:
    """A topic that a request named and the response lacks."""
    return Topic(
        name,
        ZERO_UUID,
        is_internal=False,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        partitions={},
    )


def topic_of(found: MetadataResponse.MetadataResponseTopic) -> Topic:
    """The topic in a response."""
    return Topic(
        name=found.name or "",
        topic_id=found.topic_id,
        is_internal=found.is_internal,
        error_code=found.error_code,
        partitions={
            p.partition_index: Leader(p.leader_id, p.leader_epoch) for p in found.partitions
        },
    )


def why_no_leader(topic: Topic, topic_partition: TopicPartition) -> int:
    """The error code for a partition without a leader."""
    if topic.error_code:
        return topic.error_code
    if topic_partition.partition not in topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.LEADER_NOT_AVAILABLE


def has_topic_id(topic: Topic) -> bool:
    """Whether metadata has the topic's id (Kafka 2.8 and later, KIP-516)."""
    return topic.topic_id != ZERO_UUID
