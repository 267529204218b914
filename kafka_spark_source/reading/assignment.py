"""Which partitions a query asks for, and which of them exist: strategies put to a cluster."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
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
    """What a query asks for, and what there is of it.

    Attributes:
        assigned: The partitions that the query asks for.
        existing: Those of them that exist.
        topic_ids: Topic -> its id, where brokers tell it (Kafka 2.8 and later).
    """

    assigned: Collection[TopicPartition]
    existing: Collection[TopicPartition]
    topic_ids: dict[str, uuid.UUID]


def resolve(
    cluster: Cluster, strategy: Strategy, deadline: Deadline, known: Collection[str] = ()
) -> Assignment:
    """Ask a cluster for the partitions that a strategy means.

    Args:
        cluster: Whom to ask.
        strategy: Which topics, which partitions.
        deadline: When to give up.
        known: Topics that were there before; that one is not any more is no error here.

    Raises:
        BrokerError: A topic that is named does not exist, or one may not be read.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached, or none answers.
    """
    topics = [*_topics(cluster, strategy, deadline, known)]
    found = {TopicPartition(topic.name, number) for topic in topics for number in topic.partitions}
    assigned = set(strategy.partitions) if isinstance(strategy, Assign) else found
    return Assignment(
        assigned,
        assigned & found,
        {topic.name: topic.topic_id for topic in topics if has_topic_id(topic)},
    )


def _topics(
    cluster: Cluster, strategy: Strategy, deadline: Deadline, known: Collection[str]
) -> Iterable[Topic]:
    match strategy:
        case SubscribePattern():
            option = "subscribePattern"
            everything = cluster.topics(None, deadline).values()
            topics = [each for each in everything if _is_wanted(each, strategy)]
        case Subscribe(names):
            option = "subscribe"
            topics = [*cluster.settled_topics(names, deadline).values()]
        case Assign():
            option = "assign"
            # A topic that is not there lacks all of its partitions, which planning reports.
            known = names_of(strategy)
            topics = [*cluster.settled_topics(known, deadline).values()]
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topics = [each for each in topics if each.error_code != missing or each.name not in known]
    for topic in topics:
        if topic.error_code:
            raise BrokerError(
                topic.error_code, f"Cannot read topic {topic.name!r} of the option '{option}'"
            )
    return topics


def _is_wanted(topic: Topic, pattern: SubscribePattern) -> bool:
    return not topic.is_internal and pattern.matches(topic.name)
