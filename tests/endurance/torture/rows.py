"""The types of the truth: rows, and what librdkafka read of a topic. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.endurance.torture.topics import TopicPlan

CREATE_TIME = 0
LOG_APPEND_TIME = 1


class Row(NamedTuple):
    """A record, with the columns of Spark's connector. The timestamp is in ms."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class PartitionTruth(NamedTuple):
    """What a partition has, all by offset.

    Attributes:
        start: The log start offset.
        end: The high watermark.
        stable: The last stable offset. It equals `end`: no transaction is open.
        committed: The rows that librdkafka reads with read_committed.
        uncommitted: The rows that it reads with read_uncommitted.
        written: All acknowledged rows since the topic was made, deleted and compacted ones too.
        aborted: The offsets of the rows in `written` whose transaction was aborted.
    """

    start: int
    end: int
    stable: int
    committed: tuple[Row, ...]
    uncommitted: tuple[Row, ...]
    written: tuple[Row, ...]
    aborted: frozenset[int]


class TopicTruth(NamedTuple):
    """What a topic has, by partition, and the plan with all steps that were carried out."""

    topic: str
    plan: TopicPlan
    partitions: Mapping[int, PartitionTruth]


Truth = Mapping[str, TopicTruth]
"""By topic."""
