"""The cluster's metadata as values: what the controller decides, and what each broker has heard."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_protocol.topic_partition import TopicPartition

NO_LEADER: Final = -1


class PartitionImage(NamedTuple):
    """A partition. `change` counts all decisions about it, `epoch` those about its leader."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    epoch: int = 0
    change: int = 0


class TopicImage(NamedTuple):
    """A topic, its configuration and its partitions by number."""

    name: str
    topic_id: uuid.UUID
    config: Mapping[str, str]
    partitions: tuple[PartitionImage, ...]
    is_internal: bool = False

    def changed(self, number: int, partition: PartitionImage) -> TopicImage:
        """The same topic with another state of one partition."""
        before = self.partitions
        return self._replace(
            partitions=(*before[:number], partition, *before[number + 1 :]),
        )

    def number(self, name: str, default: int) -> int:
        """The value of a numeric configuration."""
        return int(self.config.get(name, default))


class ClusterImage:
    """What one broker knows of the cluster."""

    def __init__(self, topics: Mapping[str, TopicImage], live: tuple[int, ...]) -> None:
        self.topics = dict(topics)
        self.names = {topic.topic_id: topic.name for topic in topics.values()}
        self.live = live

    def set_topic(self, name: str, topic: TopicImage | None) -> TopicImage | None:
        """Take over a topic's state, or its end; returns the state before."""
        before = self.topics.pop(name, None)
        if before is not None:
            self.names.pop(before.topic_id, None)
        if topic is not None:
            self.topics[name] = topic
            self.names[topic.topic_id] = name
        return before

    def partition(self, topic_partition: TopicPartition) -> PartitionImage | None:
        topic = self.topics.get(topic_partition.topic)
        if topic is None or not 0 <= topic_partition.partition < len(topic.partitions):
            return None
        return topic.partitions[topic_partition.partition]
