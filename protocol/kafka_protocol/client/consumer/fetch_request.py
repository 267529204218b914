"""Fetch requests, for one partition or many. No I/O."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_protocol.client.cluster.metadata import Leader, Topic
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.messages.fetch import ISOLATION_LEVELS, FetchRequest
from kafka_protocol.records.fetch_response import UNKNOWN_EPOCH
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_protocol.wire.schema import VersionRange

# From v13 on, requests and responses have topic ids and no names.
FIRST_BY_ID: Final = 13
FETCH_BY_NAME: Final = VersionRange(0, FIRST_BY_ID - 1)
# The first version with `last_fetched_epoch` (KIP-320).
_FIRST_WITH_FETCHED_EPOCH: Final = 12

# The bytes of a Fetch response with one partition that are not records, at the most.
OVERHEAD_BYTES: Final = 1024


@dataclass(slots=True)
class PartlyRead:
    """A range that is read up to the start of `rest`.

    Attributes:
        rest: The part that is not read yet; empty at the end.
        topic_id: The topic's id when the range was planned; None or ZERO_UUID below Kafka 2.8.
        epoch: The leader epoch of the last batch that was read, or UNKNOWN_EPOCH.
    """

    rest: OffsetRange
    topic_id: uuid.UUID | None
    epoch: int = UNKNOWN_EPOCH

    @property
    def is_done(self) -> bool:
        """Whether the whole range is read."""
        return self.rest.is_empty


class WantedPartition(NamedTuple):
    """A partition to fetch from, at its leader or at a replica that the leader named.

    Attributes:
        topic_partition: The partition.
        offset: The first offset to fetch.
        epoch: The leader epoch of the batch before `offset`, or UNKNOWN_EPOCH.
        max_bytes: The limit of its records in a response.
        leader: Its leader in metadata.
        topic: Its topic in metadata.
    """

    topic_partition: TopicPartition
    offset: int
    epoch: int
    max_bytes: int
    leader: Leader
    topic: Topic


class FetchLimits(NamedTuple):
    """Limits of one response.

    Attributes:
        max_bytes: The limit of all records; a larger first batch comes whole (KIP-74).
        max_wait_ms: How long the broker waits for `fetch.min.bytes`.
    """

    max_bytes: int
    max_wait_ms: int


def fetch_request(
    wanted: Iterable[WantedPartition],
    limits: FetchLimits,
    config: ClientConfig,
    version: int,
    rack: str = "",
) -> FetchRequest:
    """A Fetch, to be sent in this version."""
    topics: dict[str, FetchRequest.FetchTopic] = {}
    for topic_partition, offset, epoch, max_bytes, leader, topic in wanted:
        # No checksum covers the epoch of a batch: one above the leader's cannot be right.
        has_epoch = version >= _FIRST_WITH_FETCHED_EPOCH and epoch <= leader.epoch
        partition = FetchRequest.FetchTopic.FetchPartition(
            partition=topic_partition.partition,
            current_leader_epoch=leader.epoch,
            fetch_offset=offset,
            last_fetched_epoch=epoch if has_epoch else UNKNOWN_EPOCH,
            partition_max_bytes=max_bytes,
        )
        of_topic = topics.setdefault(
            topic.name,
            FetchRequest.FetchTopic(topic=topic.name, topic_id=topic.topic_id, partitions=[]),
        )
        of_topic.partitions.append(partition)
    return FetchRequest(
        max_wait_ms=limits.max_wait_ms,
        # A broker waits for these, and no more than the limit can come.
        min_bytes=min(config.fetch_min_bytes, limits.max_bytes),
        max_bytes=limits.max_bytes,
        isolation_level=ISOLATION_LEVELS[config.isolation_level],
        topics=[*topics.values()],
        rack_id=rack,
    )
