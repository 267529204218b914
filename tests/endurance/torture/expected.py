"""The rows that a query has to give, from the truth, and how they differ from what it gave. Pure.

`latest` is compared with the end of the log also while brokers are paused: nothing is written to a
topic after its truth was read, so an old answer is the same as a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tests.endurance.torture.filters import holds
from tests.endurance.torture.promise import COMMITTED, UNCOMMITTED, candidates, violation
from tests.endurance.torture.queries import COLUMNS, DEAD_LETTERS, IDENTITY, Query, ranges_of
from tests.endurance.torture.rows import CREATE_TIME, Row, Truth
from tests.truth.delivery import AT_LEAST_ONCE, EXACTLY_ONCE, Difference
from tests.truth.headers import by_name
from tests.truth.order import out_of_order
from tests.truth.tables import newest

BLANK: Final = Row("", -1, -1, -1, -1, None, None, ())
"""What a row has in columns that a query leaves out."""

_FIELDS: Final[Mapping[str, str]] = {name: name for name in COLUMNS} | {
    "timestampType": "timestamp_type"
}
_LEVELS: Final = {True: COMMITTED, False: UNCOMMITTED}


class Answer(NamedTuple):
    """What a query gave.

    Attributes:
        groups: The rows, each group in the order in which one task or thread gave it.
        ordered: Whether a group has the rows of each partition in the order of their offsets.
        may_repeat: Whether rows may be there again, as after a repeated task of a write.
    """

    groups: Sequence[Sequence[Row]]
    ordered: bool = True
    may_repeat: bool = False


def only(row: Row, columns: Iterable[str]) -> Row:
    """The row with BLANK in all other columns."""
    fields: dict[str, Any] = {_FIELDS[name]: getattr(row, _FIELDS[name]) for name in columns}
    return BLANK._replace(**fields)


def expected_rows(query: Query, truth: Truth) -> list[Row]:
    """The rows of a query, by topic, partition and offset.

    Of compacted topics all candidates; but of a table the rows that each reader gets.
    """
    return [
        only(as_read(query, row), query.columns)
        for (topic, partition), (first, last) in sorted(ranges_of(query, truth).items())
        for row in _of_table(
            query,
            [
                row
                for row in candidates(truth, topic, partition, _LEVELS[query.committed])
                if first <= row.offset < last
            ],
        )
        if all(holds(each, row) for each in query.filters) and not is_dead(query, row)
    ]


def dead_rows(query: Query, truth: Truth) -> list[Row]:
    """The records that a query writes to its topic of dead letters."""
    return [
        row
        for (topic, partition), (first, last) in sorted(ranges_of(query, truth).items())
        for row in candidates(truth, topic, partition, _LEVELS[query.committed])
        if first <= row.offset < last and is_dead(query, row)
    ]


def is_dead(query: Query, row: Row) -> bool:
    """Whether a record has a key or a value that is not the text that the query wants."""
    if query.way not in DEAD_LETTERS:
        return False
    texts = {"key": row.key, "value": row.value}
    return not all(_is_text(texts[name]) for name in query.types)


def _is_text(data: bytes | None) -> bool:
    try:
        (data or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def as_read(query: Query, row: Row) -> Row:
    """The row with headers as a query reads them: of a map the last of each name, in any order."""
    if "headers" not in query.types:
        return row
    return row._replace(headers=tuple(sorted(by_name(row.headers))))


def _is_table(query: Query) -> bool:
    return query.options.get("envelope") == "upsert"


def _of_table(query: Query, rows: Sequence[Row]) -> Sequence[Row]:
    """The newest row of each key of a partition, if the query makes a table."""
    if not _is_table(query):
        return rows
    is_kept = query.options.get("upsert.tombstones") == "keep"
    return [row for row in newest(rows) if is_kept or row.value is not None]


def as_written(rows: Iterable[Row], columns: Collection[str]) -> list[Row]:
    """The rows that a write of these columns has to leave; timestamps are those of the rows."""
    return [only(row._replace(timestamp_type=CREATE_TIME), columns) for row in rows]


def difference(
    query: Query, truth: Truth, wanted: Sequence[Row], answer: Answer
) -> Difference | None:
    """The first difference between what a query gave and the rows that it should give."""
    if answer.ordered and {*IDENTITY} <= {*query.columns}:
        for group in answer.groups:
            for disorder in out_of_order(group):
                return disorder
    found = sorted((row for group in answer.groups for row in group), key=_order)
    # A table has its rows also where compaction may remove them.
    known = {} if _is_table(query) else truth
    allowed = AT_LEAST_ONCE if answer.may_repeat else EXACTLY_ONCE
    return violation(known, sorted(wanted, key=_order), found, allowed)


def _order(row: Row) -> tuple[Any, ...]:
    """A total order, also of rows without their identity."""
    return (*((field is not None, field) for field in row[:-1]), _headers(row))


def _headers(row: Row) -> tuple[tuple[str, bool, bytes], ...]:
    return tuple((key, value is not None, value or b"") for key, value in row.headers)
