"""Resolves a strategy to the partitions of a cluster.

Offsets never enter here.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Topic, has_topic_id
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.strategies import (
    Assign,
    Strategy,
    Subscribe,
    SubscribePattern,
    names_of,
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The partitions of a query.

    Attributes:
        assigned: All partitions of the query.
        existing: The assigned partitions that exist.
        topic_ids: Topic -> its id; empty before Kafka 2.8.
    """

    assigned: Collection[TopicPartition]
    existing: Collection[TopicPartition]
    topic_ids: dict[str, uuid.UUID]


def resolve(
    cluster: Cluster,
    strategy: Strategy,
    deadline: Deadline,
    known: Collection[str] = (),
    may_lack: Collection[str] = (),
) -> Assignment:
    """Find the partitions of a strategy.

    A topic in `known`, which existed before, may be missing without an error. A named topic is
    waited for, as brokers may not have heard of it yet, unless they `may_lack` it.

    Raises:
        BrokerError: A named topic does not exist, or the user may not read a topic.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached, or no broker responds.
    """
    return assignment_of(strategy, request_topics(cluster, strategy, deadline, known, may_lack))


def assignment_of(strategy: Strategy, topics: Collection[Topic]) -> Assignment:
    """The partitions of a strategy in these topics, which it selected."""
    existing = {
        TopicPartition(topic.name, number) for topic in topics for number in topic.partitions
    }
    assigned = set(strategy.partitions) if isinstance(strategy, Assign) else existing
    return Assignment(
        assigned,
        assigned & existing,
        {topic.name: topic.topic_id for topic in topics if has_topic_id(topic)},
    )


def request_topics(
    cluster: Cluster,
    strategy: Strategy,
    deadline: Deadline,
    known: Collection[str] = (),
    may_lack: Collection[str] = (),
) -> Collection[Topic]:
    """Request the topics of a strategy. The rest is as for `resolve`."""
    match strategy:
        case SubscribePattern():
            option = "subscribePattern"
            every_topic = cluster.topics(None, deadline).values()
            topics = [each for each in every_topic if _is_selected(each, strategy)]
        case Subscribe(names):
            option = "subscribe"
            topics = [*cluster.settled_topics(names, deadline, may_lack=may_lack).values()]
        case Assign():
            option = "assign"
            # Planning reports all partitions of a topic that does not exist.
            known = names_of(strategy)
            topics = [*cluster.settled_topics(known, deadline, may_lack=may_lack).values()]
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topics = [each for each in topics if each.error_code != missing or each.name not in known]
    for topic in topics:
        if topic.error_code:
            raise BrokerError(
                topic.error_code, f"Cannot read topic {topic.name!r} of the option '{option}'"
            )
    return topics


def _is_selected(topic: Topic, pattern: SubscribePattern) -> bool:
    return not topic.is_internal and pattern.matches(topic.name)
