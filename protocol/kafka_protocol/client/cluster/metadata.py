"""What brokers are asked about the cluster, and what their answers mean: topics, coordinators.

One question to one broker each, in whatever version it speaks. Whom to ask, what to keep and when
to ask again is `cluster`'s business.
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
    """Who leads a partition, since which epoch (-1 where brokers do not say)."""

    node_id: int
    epoch: int


class Topic(NamedTuple):
    """What metadata says about a topic; `partitions` may lack a leader (NO_LEADER)."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool
    error_code: int
    partitions: Mapping[int, Leader]


# From that version on one request finds several coordinators (KIP-699).
_MANY_COORDINATORS: Final = 4
# Below that version a broker with auto.create.topics.enable creates what it is asked for.
_LEAVES_TOPICS_ALONE: Final = 4


def ask_metadata(
    broker: Broker, names: Collection[str] | None, deadline: Deadline, *, create: bool = False
) -> MetadataResponse:
    """Ask for topics by name, or for all of them.

    Raises:
        BrokerError: The broker refused.
    """
    request = _metadata_request(names, create, broker.choose(MetadataRequest))
    response = broker.request(request, MetadataResponse, deadline)
    if response.error_code:
        raise BrokerError(response.error_code, f"Metadata to {broker}")
    return response


def _metadata_request(names: Collection[str] | None, create: bool, version: int) -> MetadataRequest:
    if names and not create and version < _LEAVES_TOPICS_ALONE:
        names = None  # all of them, of which the caller picks: reading must not create
    named = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(names or ())]
    return MetadataRequest(
        topics=None if names is None and version > 0 else named,
        # Where no topic is named, there is none to create.
        allow_auto_topic_creation=create or not names,
    )


class Coordinator(NamedTuple):
    """The broker that minds a group or a transactional id, or why there is none."""

    node_id: int
    address: Address
    error: BrokerError | None


_WHAT: Final = {GROUP: "group", TRANSACTION: "transactional id"}

# Version 0 knows groups only (KIP-98).
_KNOW_THE_KIND: Final = {
    GROUP: FindCoordinatorRequest.versions,
    TRANSACTION: VersionRange(1, FindCoordinatorRequest.versions.highest),
}

_LACKING: Final[Mapping[int, str]] = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "grant the principal DESCRIBE on the group",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "grant the principal DESCRIBE and WRITE on the transactional id"
    ),
}


def find_coordinators(
    kind: int, keys: Collection[str], broker: Broker, deadline: Deadline
) -> dict[str, Coordinator]:
    """Ask for the coordinators of groups, or of transactional ids.

    Args:
        kind: GROUP or TRANSACTION.
        keys: The groups or ids.
        broker: Whom to ask.
        deadline: When to stop waiting.

    Returns:
        One for each key.

    Raises:
        OutOfStepError: The answer lacks one of them.
        UnsupportedVersionError: The broker is older than transactions.
    """
    needed = _KNOW_THE_KIND[kind]
    is_one_each = broker.choose(FindCoordinatorRequest, needed) < _MANY_COORDINATORS
    if is_one_each:
        requests = [FindCoordinatorRequest(key=key, key_type=kind) for key in keys]
    else:
        requests = [FindCoordinatorRequest(coordinator_keys=[*keys], key_type=kind)]
    sent = [broker.send(request, deadline, needed) for request in requests]
    answers = [broker.receive(each, FindCoordinatorResponse, deadline) for each in sent]
    found: Mapping[str, FindCoordinatorResponse | FindCoordinatorResponse.Coordinator]
    if is_one_each:
        found = dict(zip(keys, answers, strict=True))
    else:
        found = {each.key: each for answer in answers for each in answer.coordinators}
    return {key: _coordinator(found.get(key), f"{_WHAT[kind]} {key!r}", broker) for key in keys}


def _coordinator(
    answer: FindCoordinatorResponse | FindCoordinatorResponse.Coordinator | None,
    of_what: str,
    broker: Broker,
) -> Coordinator:
    context = f"FindCoordinator of {of_what} to {broker}"
    if answer is None:
        raise OutOfStepError(f"{context}: the answer lacks it")
    code = answer.error_code
    said = filter(None, (answer.error_message, _LACKING.get(code)))
    error = BrokerError(code, context, "; ".join(said) or None) if code else None
    return Coordinator(answer.node_id, Address(answer.host, answer.port), error)


def unknown_topic(name: str) -> Topic:
    """A topic that a broker was asked for and did not mention."""
    return Topic(name, ZERO_UUID, False, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, {})


def topic_of(answer: MetadataResponse.MetadataResponseTopic) -> Topic:
    """The topic of an answer."""
    return Topic(
        name=answer.name or "",
        topic_id=answer.topic_id,
        is_internal=answer.is_internal,
        error_code=answer.error_code,
        partitions={
            p.partition_index: Leader(p.leader_id, p.leader_epoch) for p in answer.partitions
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
    """Whether the brokers told the topic's id (Kafka 2.8 and later, KIP-516)."""
    return topic.topic_id != ZERO_UUID
