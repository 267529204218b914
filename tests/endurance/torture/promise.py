"""What Kafka promises to a reader, of plain and of compacted topics. Pure.

Of a plain topic a reader gets exactly the rows. Replicas of a compacted topic compact each for
itself, and whenever they like. So a reader gets, in order, rows that were written, and among them
the newest committed row of each key, unless that is a tombstone.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.endurance.torture.difference import (
    Difference,
    by_partition,
    first_difference,
    kept_in_order,
)
from tests.endurance.torture.rows import PartitionTruth, Row, Truth

COMMITTED = "read_committed"
UNCOMMITTED = "read_uncommitted"


def candidates(truth: Truth, topic: str, partition: int, isolation_level: str) -> Sequence[Row]:
    """The rows that a reader of the whole partition may get, from the log start on, by offset.

    Apply a query's range and filter to them, and give the result to `violation` as `wanted`.
    """
    of_topic = truth[topic]
    known = of_topic.partitions[partition]
    committed = isolation_level == COMMITTED
    if not of_topic.plan.is_compacted:
        return known.committed if committed else known.uncommitted
    return _kept(known, committed=committed)


def _kept(known: PartitionTruth, *, committed: bool) -> list[Row]:
    """The written rows that were not deleted."""
    left_out = known.aborted if committed else frozenset()
    return [r for r in known.written if r.offset >= known.start and r.offset not in left_out]


def violation(truth: Truth, wanted: Sequence[Row], rows: Sequence[Row]) -> Difference | None:
    """The first way in which `rows` break the promise; None if they keep it.

    Args:
        truth: Of all topics that were read.
        wanted: What the query selects of the `candidates`, with all columns that it reads.
        rows: What it returned. Of compacted topics it must have read topic, partition and offset.
    """
    compacted = {topic for topic, of_topic in truth.items() if of_topic.plan.is_compacted}
    difference = first_difference(
        [row for row in wanted if row.topic not in compacted],
        [row for row in rows if row.topic not in compacted],
    )
    if difference:
        return difference
    all_wanted = by_partition(row for row in wanted if row.topic in compacted)
    all_rows = by_partition(row for row in rows if row.topic in compacted)
    for place in sorted({*all_wanted, *all_rows}):
        topic, partition = place
        known = truth[topic].partitions.get(partition)
        of_place = {row.offset: row for row in all_wanted.get(place, [])}
        difference = _violation(known, of_place, all_rows.get(place, []))
        if difference:
            return difference
    return None


def _violation(
    known: PartitionTruth | None, wanted: dict[int, Row], rows: list[Row]
) -> Difference | None:
    difference = kept_in_order(wanted, rows)
    if difference or known is None:
        return difference
    returned = {row.offset for row in rows}
    for offset in promised(known):
        if offset in wanted and offset not in returned:
            return Difference("missing", wanted[offset], None)
    return None


def promised(known: PartitionTruth) -> list[int]:
    """The offsets that compaction must keep, in order."""
    newest = {row.key: row for row in _kept(known, committed=True)}
    return sorted(row.offset for row in newest.values() if row.value is not None)
