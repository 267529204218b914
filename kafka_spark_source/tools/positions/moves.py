"""New positions of a query or of a consumer group in partitions. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import KafkaConfigError, KafkaError
from kafka_protocol.topic_partition import LogBounds, TopicPartition
from kafka_spark_source.planning.positions import (
    Bound,
    Everywhere,
    SpecificOffsets,
    needs_group_offsets,
)
from kafka_spark_source.planning.positions import parse_position as parse_option
from kafka_spark_source.tools.positions.positions import locate, parse_position


class PositionError(KafkaError):
    """A log does not have the offset that was asked for."""


class Move(NamedTuple):
    """The new position of a query or of a group in a partition.

    Attributes:
        committed: For a query, the end of the last micro-batch that has ended. For a group, its
            committed offset; None if it has none.
        offset: The new position.
        earliest: The first offset of the log.
        latest: The end of the log.
    """

    topic: str
    partition: int
    committed: int | None
    offset: int
    earliest: int
    latest: int

    @property
    def read_again(self) -> int:
        """The number of offsets that are read a second time, an upper limit of the records."""
        if self.committed is None:
            return 0
        return max(0, min(self.committed, self.latest) - self.offset)

    @property
    def skipped(self) -> int:
        """The number of offsets that are never read."""
        return 0 if self.committed is None else max(0, self.offset - self.committed)

    @property
    def is_at_start(self) -> bool:
        """Whether the position moves to the start of a log that has lost records."""
        return 0 < self.earliest == self.offset != self.committed


@dataclass(frozen=True, kw_only=True)
class OffsetPlan:
    """Moves that can be done; nothing is written yet.

    Attributes:
        moves: By topic and partition.
    """

    moves: tuple[Move, ...]

    @property
    def read_again(self) -> int:
        """The number of offsets that are read a second time."""
        return sum(each.read_again for each in self.moves)

    @property
    def skipped(self) -> int:
        """The number of offsets that are never read."""
        return sum(each.skipped for each in self.moves)

    @property
    def ahead(self) -> list[TopicPartition]:
        """The partitions in which offsets are never read."""
        return [TopicPartition(*each[:2]) for each in self.moves if each.skipped]


def parse_target(text: str) -> Everywhere | SpecificOffsets:
    """Read a position, or positions of some partitions as JSON: `{"orders":{"0":23}}`.

    Raises:
        KafkaConfigError: The text is neither.
    """
    if not text.strip().startswith("{"):
        return Everywhere(parse_position(text))
    target = parse_option("--to", text)
    if needs_group_offsets(target):
        raise KafkaConfigError("'group' is not a position here: write offsets instead.")
    return target


def plan_moves(
    committed: Mapping[TopicPartition, int | None],
    bounds: Mapping[TopicPartition, Bound],
    cluster: Cluster,
    deadline: Deadline,
) -> tuple[Move, ...]:
    """Find the new offset of each partition. One without a bound stays where it is.

    Args:
        committed: The present position of each partition, which must exist.
        bounds: The new positions.
        cluster: The brokers of the topics.
        deadline: When the brokers must have responded.

    Raises:
        PositionError: A log does not have an offset.
        KafkaError: As from `locate`.
    """
    moves: dict[TopicPartition, Move] = {}
    # A partition that stays needs no position, and its log is of interest.
    wanted = {tp: bounds.get(tp, offset or 0) for tp, offset in committed.items()}
    for bound in set(wanted.values()):
        alike = [tp for tp, each in wanted.items() if each == bound]
        for tp, (log, offset) in locate(cluster, alike, bound, deadline).items():
            stays = tp not in bounds
            if not stays and isinstance(bound, int) and bound >= 0 and bound != offset:
                raise _outside(tp, bound, log)
            before = committed[tp]
            at = before if stays and before is not None else offset
            moves[tp] = Move(*tp, before, at, log.earliest, log.latest)
    return tuple(moves[tp] for tp in sorted(moves))


def _outside(tp: TopicPartition, offset: int, log: LogBounds) -> PositionError:
    why = "retention has taken it" if offset < log.earliest else "there is no such record yet"
    return PositionError(
        f"{tp} has no offset {offset:,}: {why}. Its log is from {log.earliest:,} to {log.latest:,}."
    )
