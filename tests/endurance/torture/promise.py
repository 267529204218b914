"""What Kafka promises to a reader, of plain and of compacted topics. Pure.

Of a plain topic a reader gets exactly the rows. Replicas of a compacted topic compact each for
itself, and whenever they like. So a reader gets, in order, rows that were written, and among them
the newest committed row of each key, unless that is a tombstone.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.endurance.torture.difference import Difference
from tests.endurance.torture.rows import Row, Truth

COMMITTED = "read_committed"
UNCOMMITTED = "read_uncommitted"


def candidates(truth: Truth, topic: str, partition: int, isolation_level: str) -> Sequence[Row]:
    """The rows that a reader of the whole partition may get, from the log start on, by offset.

    Apply a query's range and filter to them, and give the result to `violation` as `wanted`.
    """
    raise NotImplementedError


def violation(truth: Truth, wanted: Sequence[Row], rows: Sequence[Row]) -> Difference | None:
    """The first way in which `rows` break the promise; None if they keep it.

    Args:
        truth: Of all topics that were read.
        wanted: What the query selects of the `candidates`, with all columns that it reads.
        rows: What it returned. Of compacted topics it must have read topic, partition and offset.
    """
    raise NotImplementedError
