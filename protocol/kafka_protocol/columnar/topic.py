"""The documented path of `kafka_protocol.arrow_io.topic`."""

from kafka_protocol.arrow_io.topic import (
    Position,
    create_topic,
    offsets_for_times,
    read_topic,
    topics,
)
from kafka_protocol.arrow_io.topic_reader import Progress, TopicReader

__all__ = [
    "Position",
    "Progress",
    "TopicReader",
    "create_topic",
    "offsets_for_times",
    "read_topic",
    "topics",
]
