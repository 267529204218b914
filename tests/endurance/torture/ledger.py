"""The records that brokers acknowledged, by partition. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tests.endurance.torture.rows import Row, TopicTruth


class Ledger:
    """What was acknowledged since the topic was made.

    Args:
        truth: What was acknowledged before; None for a new topic.
    """

    def __init__(self, truth: TopicTruth | None = None) -> None:
        self._rows: dict[int, dict[int, Row]] = defaultdict(dict)
        self._aborted: dict[int, set[int]] = defaultdict(set)
        for partition, known in truth.partitions.items() if truth else ():
            self._rows[partition] = {row.offset: row for row in known.written}
            self._aborted[partition] = set(known.aborted)

    def add(self, rows: Iterable[Row], *, committed: bool) -> None:
        """Adds rows.

        Raises:
            ValueError: A row of this offset was acknowledged before.
        """
        for row in rows:
            if row.offset in self._rows[row.partition]:
                raise ValueError(f"partition {row.partition}: two rows have offset {row.offset}")
            self._rows[row.partition][row.offset] = row
            if not committed:
                self._aborted[row.partition].add(row.offset)

    def forget(self) -> None:
        """Forgets all: the topic was deleted."""
        self._rows.clear()
        self._aborted.clear()

    def written(self, partition: int) -> tuple[Row, ...]:
        """All rows, by offset."""
        return tuple(row for _, row in sorted(self._rows[partition].items()))

    def aborted(self, partition: int) -> frozenset[int]:
        """The offsets of rows in aborted transactions."""
        return frozenset(self._aborted[partition])
