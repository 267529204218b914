"""Whether a batch with `envelope=upsert` has the newest record of each key of a partition. Pure.

The read certainly had some records in its range (`must`), and may have had others (`may`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tests.simulation.disk import Row
from tests.simulation.outcome import LogRecord


def newest_lacking(
    must: Sequence[LogRecord],
    may: Sequence[LogRecord],
    passes: Callable[[LogRecord], bool],
    rows: Sequence[Row],
) -> list[LogRecord]:
    """Records that are the newest of their keys, pass the filters, and are no rows."""
    last_that_may = {each.key: each.offset for each in may}
    found = {row.key for row in rows}
    return [
        each
        for each in _newest(must)
        if each.key not in found and last_that_may[each.key] == each.offset and passes(each)
    ]


def wrong_newest(must: Sequence[LogRecord], rows: Sequence[Row]) -> Iterator[str]:
    """Rows that are not of the newest record of their key, or one too many."""
    offsets = {each.key: each.offset for each in _newest(must)}
    seen: set[bytes | None] = set()
    for row in rows:
        if row.offset < offsets.get(row.key, 0):
            yield f"the row at {row.offset} is older than the record at {offsets[row.key]}"
        if row.key in seen:
            yield f"the key of the row at {row.offset} has another row"
        seen.add(row.key)


def _newest(records: Sequence[LogRecord]) -> list[LogRecord]:
    return [*{each.key: each for each in records}.values()]
