"""The cells of the matrix that are not exact: the table of docs/debezium.md, and what it covers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tests.change_data.matrix import ARRAY, CONVERTERS, KINDS, MODES
from tests.formats.debezium.matrix_cells import NO_COLUMN, NULL, OTHER, REFUSED, UNCHANGED, Cell

ALL: Final = tuple(MODES)
_PRECISE: Final = ("adaptive", "isostring", "microseconds", "nanoseconds")
_MICROS: Final = ("adaptive", "micros_of_day", "microseconds")
_NOT_NANOS: Final = (*_MICROS, "connect", "isostring")
_NOT_ISO: Final = (*_MICROS, "connect", "nanoseconds")


class Clause(NamedTuple):
    """Cells of a row.

    Attributes:
        columns: Each of them has at least one such cell in each mode, with each converter.
        outcome: What became of them.
        texts: The values, or items of arrays; none: all that have the outcome.
        modes: The modes.
        converters: The converters.
        when: Only cells of the snapshot, or of rows that follow it (`stream`); empty for both.
    """

    columns: tuple[str, ...]
    outcome: str
    texts: tuple[str, ...] = ()
    modes: tuple[str, ...] = ALL
    converters: tuple[str, ...] = CONVERTERS
    when: str = ""

    def covers(self, cell: Cell) -> bool:
        """Whether a cell is one of them."""
        texts = cell.text if isinstance(cell.text, list) else [cell.text]
        return (
            cell.column in self.columns
            and cell.outcome == self.outcome
            and cell.mode in self.modes
            and cell.converter in self.converters
            and (not self.texts or any(each in self.texts for each in texts))
            and self.when in {"", cell.when}
        )


class Row(NamedTuple):
    """A row of the page's table, and the cells that it is about."""

    types: str
    values: str
    options: str
    found: str
    reason: str
    clauses: tuple[Clause, ...]


def _arrays(*kinds: str) -> tuple[str, ...]:
    return tuple(kind + ARRAY for kind in kinds)


_UNKNOWN: Final = ("pair", "circle", "box", "lsn", "query", "multirange")
_UNKNOWN_ITEMS: Final = ("money", "varbit", "interval", "point", "domain")
_LISTED_DECIMALS: Final = ("num10_2", "num38_10", "num50_2", "num3_5", "num")
_DAYS_BEFORE: Final = ("4713-01-01 BC", "0001-12-31 BC", "1582-10-10")
_MOMENTS_BEFORE: Final = (
    "4713-01-01 00:00:00 BC",
    "0001-12-31 00:00:00 BC",
    "0001-01-01 00:00:00",
    "1582-10-10 00:00:00",
)
_ZONED_BEFORE: Final = (
    "4713-01-01 00:00:00+00 BC",
    "0001-12-31 00:00:00+00 BC",
    "1582-10-10 01:02:03+00",
)
_INFINITE: Final = ("infinity", "-infinity")
_LATEST: Final = ("294276-12-31 23:59:59.999999", "294277-01-01 00:00:00")
_LATEST_ZONED: Final = ("294276-12-31 23:59:59.999999+00",)
# Of these Debezium knows how to write that they are not available.
_TOLD_ARRAYS: Final = {
    *("int4", "int8", "char", "varchar", "text", "bytea", "date", "json", "jsonb", "uuid"),
}
_LOST_ARRAYS: Final = tuple(
    kind for kind in KINDS if kind not in _TOLD_ARRAYS and kind not in {*_UNKNOWN, *_UNKNOWN_ITEMS}
)

ROWS: Final[tuple[Row, ...]] = (
    Row(
        "composite types, `box`, `circle`, `pg_lsn`, `tsquery`, multiranges, and arrays of them; "
        "arrays of `money`, `bit varying`, `interval`, `point`, and of domains",
        "all",
        "",
        "no column",
        "events do not have it",
        (Clause(_UNKNOWN + _arrays(*_UNKNOWN, *_UNKNOWN_ITEMS), NO_COLUMN),),
    ),
    Row(
        "arrays of `bit`",
        "all, also an empty one",
        "",
        "null",
        "Debezium cannot convert it, and logs a warning",
        (Clause(_arrays("bit1", "bit10"), NULL),),
    ),
    Row(
        "arrays of enums, `ltree`, `tsvector`, `vector`",
        "all but an empty one",
        "",
        "null",
        "Debezium cannot convert it, and logs a warning",
        (Clause(_arrays("color", "ltree", "tsvector", "vector"), NULL),),
    ),
    Row(
        "`numeric`, `bit varying`; arrays of other types than `int`, `bigint`, `char`, `varchar`, "
        "`text`, `bytea`, `date`, `json`, `jsonb`, `uuid`",
        "unchanged TOAST",
        "",
        "null, and not in `_unavailable`",
        "Debezium writes null. For `numeric` it does with `decimal.handling.mode=string`",
        (
            Clause(("varbit", *_arrays(*_LOST_ARRAYS)), NULL, (UNCHANGED,)),
            Clause(("num",), NULL, (UNCHANGED,), tuple(each for each in ALL if each != "connect")),
        ),
    ),
    Row(
        "`bytea`, arrays of it",
        "unchanged TOAST",
        "`binary.handling.mode=base64`, `base64-url-safe`; arrays also with `hex`",
        "null, and not in `_unavailable`",
        "Debezium writes null",
        (
            Clause(("bytea",), NULL, (UNCHANGED,), ("micros_of_day", "connect")),
            Clause(_arrays("bytea"), NULL, (UNCHANGED,), ("micros_of_day", "connect", "isostring")),
        ),
    ),
    Row(
        "arrays of `date`",
        "unchanged TOAST",
        "`time.precision.mode=connect`, `isostring`",
        "null, and not in `_unavailable`",
        "Debezium writes null",
        (Clause(_arrays("date"), NULL, (UNCHANGED,), ("connect", "isostring")),),
    ),
    Row(
        "`numeric`",
        "NaN, infinity",
        "`decimal.handling.mode=precise`",
        "null",
        "Debezium writes null",
        (
            Clause(("num10_2", "num"), NULL, ("NaN",), _PRECISE),
            Clause(("num",), NULL, ("Infinity", "-Infinity"), _PRECISE),
        ),
    ),
    Row(
        "arrays of `numeric`",
        "with NaN or infinity",
        "",
        "null",
        "Debezium writes null for the array",
        (
            Clause(_arrays("num10_2", "num"), NULL, ("NaN",)),
            Clause(_arrays("num"), NULL, ("Infinity", "-Infinity")),
        ),
    ),
    Row(
        "`numeric`",
        "infinity",
        "`decimal.handling.mode=string`",
        "`POSITIVE_INFINITY`, `NEGATIVE_INFINITY`",
        "the connector's text; NaN is `NAN`",
        (Clause(("num",), OTHER, ("Infinity", "-Infinity"), ("connect",)),),
    ),
    Row(
        "`numeric`, `money`, domains of them, arrays",
        "which no double is equal to",
        "`decimal.handling.mode=double`",
        "the nearest double",
        "the option's meaning",
        (
            Clause(
                (*_LISTED_DECIMALS, "money", "domain", *_arrays(*_LISTED_DECIMALS)),
                OTHER,
                modes=("micros_of_day",),
            ),
        ),
    ),
    Row(
        "`numeric` with more than 38 digits or a negative scale, arrays of it",
        "all",
        "JSON without schemas, `decimal.handling.mode=precise`",
        "base64 of the unscaled bytes",
        "no decimal of Spark's has them, and no schema tells the scale",
        (
            Clause(
                ("num50_2", "num5_m2", *_arrays("num50_2", "num5_m2")),
                OTHER,
                modes=_PRECISE,
                converters=("plain",),
            ),
        ),
    ),
    Row(
        "`bit varying`",
        "all",
        "",
        "the bits as a number, lowest byte first",
        "the number of bits is not in events",
        (Clause(("varbit",), OTHER, ("101", "000")),),
    ),
    Row(
        "`timetz`",
        "with another zone than UTC",
        "",
        "the time of the day in UTC",
        "the zone is not in events",
        (
            Clause(
                ("timetz", *_arrays("timetz")),
                OTHER,
                ("10:00:00.000001+02", "23:59:59.999999-15:59"),
            ),
        ),
    ),
    Row(
        "arrays of `time`, `timetz`",
        "parts of a millisecond, of `timetz` of a second",
        "",
        "without them",
        "Debezium writes none",
        (
            Clause(_arrays("time"), OTHER, ("23:59:59.999999",)),
            Clause(_arrays("timetz"), OTHER, ("10:00:00.000001+02",)),
        ),
    ),
    Row(
        "`time`, `timestamp`, arrays of it",
        "parts of a millisecond",
        "`time.precision.mode=connect`",
        "without them",
        "the option's meaning",
        (
            Clause(("time",), OTHER, ("23:59:59.999999", "01:02:03.000004"), ("connect",)),
            Clause(
                ("ts", *_arrays("ts")),
                OTHER,
                (
                    "2026-01-02 03:04:05.678901",
                    "1969-12-31 23:59:59.999999",
                    "9999-12-31 23:59:59.999999",
                ),
                ("connect",),
            ),
        ),
    ),
    Row(
        "`time`",
        "24:00",
        "`timetz`, arrays, or `time.precision.mode=isostring`",
        "00:00",
        "Debezium writes 00:00",
        (
            Clause(("timetz", *_arrays("timetz")), OTHER, ("24:00:00+00",)),
            Clause(_arrays("time", "time3"), OTHER, ("24:00:00",)),
            Clause(("time", "time3"), OTHER, ("24:00:00",), ("isostring",)),
        ),
    ),
    Row(
        "`interval`",
        "with months or years",
        "`interval.handling.mode=numeric`",
        "microseconds, where a month is 30.4375 days; at most 2^63 - 1",
        "the option's meaning; with `string` it is exact",
        (
            Clause(
                ("interval",),
                OTHER,
                ("1 year 2 days", "-1 mons", "178000000 years"),
                _NOT_ISO,
            ),
        ),
    ),
    Row(
        "`date`",
        "BC, and 1582-10-05 to 1582-10-14",
        "rows of the snapshot",
        "another day",
        "the database's driver loses BC, and has the Julian calendar before 1582-10-15. Rows that "
        "follow the snapshot are exact",
        (Clause(("date",), OTHER, _DAYS_BEFORE, when="snapshot"),),
    ),
    Row(
        "arrays of `date`, `timestamptz`",
        "BC, and 1582-10-05 to 1582-10-14",
        "",
        "another day",
        "as above, in all rows",
        (
            Clause(_arrays("date"), OTHER, _DAYS_BEFORE),
            Clause(_arrays("tstz"), OTHER, _ZONED_BEFORE),
        ),
    ),
    Row(
        "arrays of `timestamp`",
        "before 1582-10-15",
        "",
        "another day",
        "as above, in all rows",
        (Clause(_arrays("ts", "ts3"), OTHER, _MOMENTS_BEFORE),),
    ),
    Row(
        "`date`, `timestamp`, arrays of them",
        "infinity",
        "",
        "a day or moment in the far past or future",
        "Debezium has no other. It differs by snapshot and stream for `date`",
        (
            Clause(("date",), OTHER, _INFINITE, _NOT_ISO),
            Clause(("date",), OTHER, _INFINITE, ("isostring",), when="stream"),
            Clause(_arrays("date"), OTHER, _INFINITE, _NOT_ISO),
            Clause(("ts", "ts3", *_arrays("ts", "ts3")), OTHER, _INFINITE, _NOT_NANOS),
        ),
    ),
    Row(
        "`date`, arrays of it",
        "infinity",
        "`time.precision.mode=isostring`; `date` only in the snapshot",
        "refused by name",
        "the text has more digits of the year than a date",
        (
            Clause(("date",), REFUSED, _INFINITE, ("isostring",), when="snapshot"),
            Clause(_arrays("date"), REFUSED, _INFINITE, ("isostring",)),
        ),
    ),
    Row(
        "`timestamp`, arrays of it",
        "infinity",
        "`time.precision.mode=nanoseconds`",
        "refused by name",
        "it has a part of a microsecond",
        (Clause(("ts", "ts3", *_arrays("ts", "ts3")), REFUSED, _INFINITE, ("nanoseconds",)),),
    ),
    Row(
        "`timestamptz`, arrays of it",
        "infinity, and after 294247-01-10",
        "",
        "refused by name",
        "Spark's timestamps end there. Read the column as string",
        (Clause(("tstz", *_arrays("tstz")), REFUSED, (*_INFINITE, *_LATEST_ZONED)),),
    ),
    Row(
        "`timestamp`, arrays of it",
        "after 294247-01-10",
        "",
        "refused by name, or another moment where Debezium writes microseconds",
        "its number has more than 64 bits, which Debezium does not notice",
        (
            Clause(("ts", *_arrays("ts")), OTHER, _LATEST, _MICROS),
            Clause(("ts3", *_arrays("ts3")), OTHER, _LATEST, ("microseconds",)),
            Clause(
                ("ts", "ts3", *_arrays("ts", "ts3")), REFUSED, _LATEST, ("connect", "isostring")
            ),
            Clause(
                ("ts3", *_arrays("ts3")),
                REFUSED,
                _LATEST,
                ("adaptive", "micros_of_day"),
                ("told", "avro"),
            ),
        ),
    ),
    Row(
        "`timestamp`, arrays of it",
        "before 1677-09-21, after 2262-04-11",
        "`time.precision.mode=nanoseconds`",
        "null; in arrays an item that is null",
        "64 bits do not have it; Debezium writes null",
        (
            Clause(("ts", "ts3"), NULL, modes=("nanoseconds",)),
            Clause(
                _arrays("ts", "ts3"),
                OTHER,
                (*_MOMENTS_BEFORE, *_LATEST, "2262-04-12 00:00:00"),
                ("nanoseconds",),
            ),
        ),
    ),
)


def page_lines() -> Iterator[str]:
    """The table, as it stands on the page."""
    yield "| PostgreSQL's type | values | only with | here | why |"
    yield "| --- | --- | --- | --- | --- |"
    for row in ROWS:
        yield f"| {row.types} | {row.values} | {row.options} | {row.found} | {row.reason} |"
