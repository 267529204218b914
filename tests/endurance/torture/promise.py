"""What Kafka promises to a reader, of plain and of compacted topics. Pure.

Of a plain topic a reader gets exactly the rows. Replicas of a compacted topic compact each for
itself, and whenever they like. So a reader gets, in order, rows that were written, and among them
the newest committed row of each key, unless that is a tombstone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tests.endurance.torture.rows import PartitionTruth, Row, Truth, by_partition, identity_of
from tests.truth.delivery import EXACTLY_ONCE, Difference, compare
from tests.truth.tables import newest

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


def violation(
    truth: Truth,
    wanted: Sequence[Row],
    rows: Sequence[Row],
    allowed: Collection[str] = EXACTLY_ONCE,
) -> Difference | None:
    """The first way in which `rows` break the promise; None if they keep it.

    Args:
        truth: Of all topics that were read.
        wanted: What the query selects of the `candidates`, with all columns that it reads.
        rows: What it returned. Of compacted topics it must have read topic, partition and offset.
        allowed: The kinds of differences that are right.
    """
    all_wanted, all_rows = by_partition(wanted), by_partition(rows)
    for place in sorted({*all_wanted, *all_rows}):
        must = _must(truth, *place)
        pair = all_wanted.get(place, []), all_rows.get(place, [])
        found = compare(*pair, identity_of, must, allowed)
        if found:
            return found[0]
    return None


def _must(truth: Truth, topic: str, partition: int) -> Collection[int] | None:
    """The offsets that a reader of a compacted partition must get; None for all of a plain one."""
    if topic not in truth or not truth[topic].plan.is_compacted:
        return None
    known = truth[topic].partitions.get(partition)
    return () if known is None else promised(known)


def promised(known: PartitionTruth) -> list[int]:
    """The offsets that compaction must keep, in order."""
    return [row.offset for row in newest(_kept(known, committed=True)) if row.value is not None]
