"""Metadata: one request to one broker, in whatever version it speaks.

`cluster` chooses the broker, caches the results and retries; nothing of that here.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Mapping
from copy import copy
from typing import Final, NamedTuple

from kafka_protocol.auth.mechanism import shown
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.options.topic_names import is_topic_name
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.primitives import ZERO_UUID

_log = logging.getLogger(__name__)

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


# Below this version, a broker with auto.create.topics.enable creates every topic in the request.
_FIRST_WITHOUT_CREATION: Final = 4


def request_metadata(
    broker: Broker, names: Collection[str] | None, deadline: Deadline, *, create: bool = False
) -> MetadataResponse:
    """Send Metadata for topics by name, or for all of them (None).

    Topics with a name that Kafka does not allow, and that was not requested, are left out with a
    warning: names become words of shells, file names and patterns. If a topic is listed more
    than once, the last one counts.

    Raises:
        BrokerError: The broker refused.
    """
    request = metadata_request(broker, names, create=create)
    response = broker.request(request, MetadataResponse, deadline)
    if response.error_code:
        raise BrokerError(response.error_code, f"Metadata to {broker}")
    # Metadata by topic id has no name for an unknown one.
    last = {topic.name: topic for topic in response.topics if topic.name is not None}
    impossible = {name for name in last if not is_topic_name(name)}.difference(names or ())
    if impossible:
        _warn(impossible, broker)
    kept = [
        topic
        for topic in response.topics
        if topic.name is None or (topic.name not in impossible and last[topic.name] is topic)
    ]
    if len(kept) == len(response.topics):
        return response
    # A copy: a response that is equal to the one before is the same object.
    others = copy(response)
    others.topics = kept
    return others


def _warn(names: Collection[str], broker: Broker) -> None:
    _log.warning(
        "%s listed %d topics with names that Kafka does not allow, such as %r; they are left out. "
        "Check that it is a broker of Kafka, and use TLS, so that no one else can respond",
        broker,
        len(names),
        shown(min(names)),
    )


def metadata_request(
    broker: Broker, names: Collection[str] | None, *, create: bool = False
) -> MetadataRequest:
    """The request for topics by name, or for all of them (None), in the broker's version."""
    version = broker.choose(MetadataRequest)
    if names and not create and version < _FIRST_WITHOUT_CREATION:  # point: created-topics
        names = None  # all topics, of which the caller picks: reading must not create any
    named = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(names or ())]
    return MetadataRequest(
        topics=None if names is None and version > 0 else named,
        # Without names nothing is created; and below v4 this must have its default.
        allow_auto_topic_creation=create or not names,
    )


def unknown_topic(name: str) -> Topic:
    """A topic that a request named and the response lacks."""
    return Topic(
        name,
        ZERO_UUID,
        is_internal=False,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        partitions={},
    )


def topic_of(topic: MetadataResponse.MetadataResponseTopic) -> Topic:
    """The topic in a response."""
    return Topic(
        name=topic.name or "",
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        error_code=topic.error_code,
        partitions={
            p.partition_index: Leader(p.leader_id, p.leader_epoch) for p in topic.partitions
        },
    )


def is_unsettled(topic: Topic, may_lack: Collection[str]) -> bool:
    """Whether a topic has an error that may pass; topics in `may_lack` may be unknown."""
    error = ErrorCode.lookup(topic.error_code)
    may_be_unknown = topic.name in may_lack and error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return error.retriable and not may_be_unknown


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
