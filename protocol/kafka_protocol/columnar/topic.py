"""The documented path of `kafka_protocol.arrow_io.topic`."""

from kafka_protocol.arrow_io.topic import (
    Position,
    Progress,
    TopicReader,
    create_topic,
    offsets_for_times,
    read_topic,
    topics,
)

__all__ = [
    "Position",
    "Progress",
    "TopicReader",
    "create_topic",
    "offsets_for_times",
    "read_topic",
    "topics",
]
