"""The matrix of PostgreSQL's values: its types, what is written of each, and how connectors write.

`record_matrix.py` writes it with a real Debezium, `tests/formats/debezium/test_matrix.py`
reads what was written. Settings of numbers, times and bytes change different types, so each value
of each option is met with every type that it changes, but not with every value of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

CONVERTERS: Final = ("told", "plain", "avro")
"""JSON with schemas, JSON without, Avro by Apicurio's converter."""
MODES: Final[Mapping[str, Mapping[str, str]]] = {
    "adaptive": {},
    "micros_of_day": {
        "time.precision.mode": "adaptive_time_microseconds",
        "decimal.handling.mode": "double",
        "binary.handling.mode": "base64",
    },
    "connect": {
        "time.precision.mode": "connect",
        "decimal.handling.mode": "string",
        "binary.handling.mode": "base64-url-safe",
    },
    "isostring": {
        "time.precision.mode": "isostring",
        "binary.handling.mode": "hex",
        "interval.handling.mode": "string",
        "hstore.handling.mode": "map",
    },
    "microseconds": {"time.precision.mode": "microseconds"},
    "nanoseconds": {"time.precision.mode": "nanoseconds"},
}
"""The options of a connector, by a name that is part of its topics' names."""


class Kind(NamedTuple):
    """A type, and its values as they are written in SQL.

    Attributes:
        sql: Its name in SQL.
        values: Those that each converter can write.
        edges: Those that may not arrive: each is in a row of its own, which follows snapshots.
        large: One that is stored out of line (TOAST); empty for a type without.
    """

    sql: str
    values: tuple[str, ...]
    edges: tuple[str, ...] = ()
    large: str = ""


_DAYS: Final = ("'1970-01-01'", "'2024-10-04'", "'0001-01-01'", "'1582-10-10'", "'9999-12-31'")
_FAR_DAYS: Final = ("'4713-01-01 BC'", "'0001-12-31 BC'", "'infinity'", "'-infinity'")
_MOMENTS: Final = (
    "'1970-01-01'",
    "'2026-01-02 03:04:05.678901'",
    "'1969-12-31 23:59:59.999999'",
    "'0001-01-01'",
    "'1582-10-10 01:02:03'",
    "'9999-12-31 23:59:59.999999'",
)
_FAR_MOMENTS: Final = (*_FAR_DAYS, "'294276-12-31 23:59:59.999999'", "'2262-04-12'")
_FLOATS: Final = ("0", "0.1", "-1.5", "'NaN'", "'Infinity'", "'-Infinity'", "'-0'")
_TEXTS: Final = ("''", "'some'", r"E'\u00e9\U0001f600\"\\\n'")
_LARGE_TEXT: Final = "repeat('x', 100)"
KINDS: Final[Mapping[str, Kind]] = {
    "bool": Kind("boolean", ("false", "true")),
    "int2": Kind("smallint", ("0", "-32768", "32767")),
    "int4": Kind("integer", ("0", "-2147483648", "2147483647")),
    "int8": Kind("bigint", ("0", "-9223372036854775808", "9223372036854775807")),
    "oid": Kind("oid", ("0", "4294967295")),
    "float4": Kind("real", (*_FLOATS, "'3.4028235e38'", "'1e-45'")),
    "float8": Kind(
        "double precision", (*_FLOATS, "'1.7976931348623157e308'", "'4.940656458412465e-324'")
    ),
    "num10_2": Kind("numeric(10,2)", ("0", "1.25", "-99999999.99", "99999999.99"), ("'NaN'",)),
    "num38_10": Kind("numeric(38,10)", ("0", "-" + "9" * 28 + "." + "9" * 10, "0.0000000001")),
    "num50_2": Kind("numeric(50,2)", ("0", "-" + "9" * 48 + ".99", "1.25")),
    "num5_m2": Kind("numeric(5,-2)", ("0", "12300", "-9999900")),
    "num3_5": Kind("numeric(3,5)", ("0", "0.00123", "-0.00999")),
    "num": Kind(
        "numeric",
        ("0", "0.00", "12.345", "-1e100", "1e-100", "1e30"),
        ("'NaN'", "'Infinity'", "'-Infinity'"),
        "(repeat('1', 200))::numeric",
    ),
    "money": Kind(
        "money", ("0::money", "7.5::numeric::money"), ("'-92233720368547758.08'::money",)
    ),
    "char": Kind("char(5)", ("''", "'ab'", r"E'a\u00e9\U0001f600'")),
    "varchar": Kind("varchar(200)", _TEXTS, large=_LARGE_TEXT),
    "text": Kind("text", _TEXTS, large=_LARGE_TEXT),
    "citext": Kind("citext", _TEXTS, large=_LARGE_TEXT),
    "bytea": Kind(
        "bytea", ("''", r"'\x0001fffe'", r"'\xfbefbe'"), large="decode(repeat('00ff', 50), 'hex')"
    ),
    "bit1": Kind("bit(1)", ("B'0'", "B'1'")),
    "bit10": Kind("bit(10)", ("B'0000000000'", "B'1010000001'")),
    "varbit": Kind(
        "bit varying(900)", ("B'101'", "B'000'", "B''"), large="repeat('10', 400)::varbit"
    ),
    "date": Kind("date", _DAYS, (*_FAR_DAYS, "'5874897-12-31'")),
    "time": Kind("time", ("'00:00'", "'23:59:59.999999'", "'01:02:03.000004'"), ("'24:00'",)),
    "time3": Kind("time(3)", ("'00:00'", "'23:59:59.999'"), ("'24:00'",)),
    "timetz": Kind(
        "timetz",
        ("'00:00+00'", "'10:00:00.000001+02'", "'23:59:59.999999-15:59'"),
        ("'24:00+00'",),
    ),
    "ts": Kind("timestamp", _MOMENTS, _FAR_MOMENTS),
    "ts3": Kind(
        "timestamp(3)", (*_MOMENTS[:1], "'2026-01-02 03:04:05.678'", "'1582-10-10'"), _FAR_MOMENTS
    ),
    "ts0": Kind("timestamp(0)", ("'1970-01-01'", "'2026-01-02 03:04:05'")),
    "tstz": Kind("timestamptz", _MOMENTS, _FAR_MOMENTS),
    "interval": Kind(
        "interval",
        ("'0'", "'1 year 2 days'", "'-1 mon'", "'1 hour 0.000001 s'"),
        ("'178000000 years'",),
    ),
    "json": Kind(
        "json",
        ("'{}'", """'{"a":  1.10, "a": "\\u00e9"}'""", "'null'"),
        large="to_json(repeat('x', 100))",
    ),
    "jsonb": Kind(
        "jsonb", ("'{}'", """'{"a":  1.10}'""", "'null'"), large="to_jsonb(repeat('x', 100))"
    ),
    "uuid": Kind(
        "uuid", ("'00000000-0000-0000-0000-000000000000'", "'30ef7d54-0d88-353b-ae90-3e22c1b6c5a2'")
    ),
    "inet": Kind("inet", ("'0.0.0.0'", "'10.1.2.3/8'", "'::1'")),
    "cidr": Kind("cidr", ("'0.0.0.0/0'", "'10.0.0.0/8'")),
    "macaddr": Kind("macaddr", ("'00:00:00:00:00:00'", "'08:00:2b:01:02:03'")),
    "macaddr8": Kind("macaddr8", ("'08:00:2b:01:02:03:04:05'",)),
    "point": Kind("point", ("'(0,0)'", "'(1.5,-2.5)'")),
    "int4range": Kind("int4range", ("'empty'", "'[1,5)'", "'(,)'")),
    "numrange": Kind("numrange", ("'empty'", "'[1.50,5)'")),
    "tstzrange": Kind("tstzrange", ("'empty'", "'[2026-01-02 03:04:05+00,infinity)'")),
    "tsvector": Kind(
        "tsvector",
        ("''", "'a:1 b:2'"),
        large="to_tsvector('simple', repeat('word ', 50) || repeat('y', 100))",
    ),
    "ltree": Kind("ltree", ("''", "'a.b'")),
    "hstore": Kind(
        "hstore",
        ("''", """'a=>1, b=>NULL, "c d"=>""'"""),
        large="('a=>' || repeat('x', 100))::hstore",
    ),
    "color": Kind("color", ("'red'", "'green'")),
    "domain": Kind("amount", ("0", "1.25", "-9999.99")),
    "vector": Kind("vector(3)", ("'[0,0,0]'", "'[0.1,-1.5,2]'")),
    "pair": Kind("pair", ("'(1,x)'",)),
    "circle": Kind("circle", ("'<(0,0),1>'",)),
    "box": Kind("box", ("'(1,1),(0,0)'",)),
    "lsn": Kind("pg_lsn", ("'0/0'",)),
    "query": Kind("tsquery", ("'a & b'",)),
    "multirange": Kind("int4multirange", ("'{[1,5)}'",)),
}
TYPES: Final = """
CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE EXTENSION vector;
CREATE TYPE color AS ENUM ('red', 'green');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN amount AS numeric(6,2);
"""
ALTERED: Final[Mapping[str, tuple[str, str]]] = {
    f"{first}_to_{second}": (first, second)
    for first, second in (
        *(("text", "tstz"), ("tstz", "text"), ("text", "uuid"), ("text", "bytea")),
        *(("bytea", "text"), ("ts3", "ts"), ("ts", "ts3"), ("ts", "tstz"), ("date", "ts")),
        *(("time3", "time"), ("time", "time3"), ("int8", "ts"), ("ts", "int8"), ("int4", "date")),
        *(("int2", "int8"), ("int8", "int2"), ("int4", "text"), ("int4", "num10_2")),
        *(("num10_2", "num38_10"), ("num38_10", "num10_2"), ("num3_5", "num10_2")),
        *(("num", "num10_2"), ("num10_2", "num"), ("num10_2", "float8"), ("float4", "float8")),
        *(("bool", "int4"), ("interval", "int8")),
    )
}
"""Columns whose type changes while the connector runs: the type before it, and the one after."""
ARRAY: Final = "_array"
LARGE: Final = ("kept", "large_required", "large")
"""The tables with large values: with REPLICA IDENTITY FULL, with NOT NULL, and plain."""
REQUIRED_LARGE: Final = (
    *("varchar", "text", "citext", "json", "jsonb", "hstore", "tsvector"),
    *(f"{each}_array" for each in ("int4", "int8", "char", "varchar", "text", "json", "uuid")),
)
"""The NOT NULL columns with large values. Events with others fail, as Debezium has null for a value
that is not available."""
_IN_LARGE: Final = 20
NULLS, FIRST_EDGE, CHANGED, LAST = 1, 1_000, 5_000, 9_999
"""The numbers of rows: the one with nulls only, the first of `edges`, that with large values, and
that which is written last."""
STREAMED: Final = 100
"""What is added to the number of a row that follows the snapshot."""
ALTERED_ROWS: Final = 3
"""How many rows have the types before a change, and how many those after it."""


class Row(NamedTuple):
    """A row: its number, and a literal for each column that is not null."""

    number: int
    values: Mapping[str, str]


def columns() -> dict[str, str]:
    """The type of each column of the table `cells`."""
    scalars = {name: kind.sql for name, kind in KINDS.items()}
    return scalars | {name + ARRAY: f"{sql}[]" for name, sql in scalars.items()}


def cells() -> list[Row]:
    """The rows of the table `cells` that each connector can write."""
    most = max(len(kind.values) for kind in KINDS.values())
    rows = [Row(NULLS, {})]
    for place in range(most):
        values = {
            name: kind.values[place] for name, kind in KINDS.items() if place < len(kind.values)
        }
        rows.append(Row(place + 10, values | _arrays(place)))
    return rows


def _arrays(place: int) -> dict[str, str]:
    """Empty arrays, arrays with null, and with all values."""
    texts = {
        name: (
            "'{}'",
            f"ARRAY[NULL]::{kind.sql}[]",
            f"ARRAY[{', '.join([*kind.values, 'NULL'])}]::{kind.sql}[]",
        )
        for name, kind in KINDS.items()
    }
    return {name + ARRAY: each[place] for name, each in texts.items() if place < len(each)}


def edges() -> Iterator[Row]:
    """The rows with one value each."""
    number = FIRST_EDGE
    for name, kind in KINDS.items():
        for value in kind.edges:
            yield Row(number, {name: value})
            yield Row(number + 1, {name + ARRAY: f"ARRAY[{value}]::{kind.sql}[]"})
            number += 2


def required() -> list[Row]:
    """The rows of a table whose columns are NOT NULL: its columns are those of one value each."""
    return [
        Row(
            place + 1,
            {name: kind.values[min(place, len(kind.values) - 1)] for name, kind in KINDS.items()},
        )
        for place in range(2)
    ]


def large(table: str = LARGE[0]) -> Row:
    """The row of a table whose values are all out of line."""
    values = {name: kind.large for name, kind in KINDS.items() if kind.large}
    arrays = {
        name + ARRAY: f"array_fill({kind.values[0]}::{kind.sql}, ARRAY[{_IN_LARGE}])"
        for name, kind in KINDS.items()
    }
    row = values | arrays
    names = REQUIRED_LARGE if table == "large_required" else row
    return Row(CHANGED, {name: row[name] for name in names})


def altered(place: int) -> list[Row]:
    """The rows whose columns have the first types (0) or the second ones (1) of ALTERED."""
    values = {name: KINDS[kinds[place]].values for name, kinds in ALTERED.items()}
    return [
        Row(
            number + place * ALTERED_ROWS,
            {name: each[min(number, len(each)) - 1] for name, each in values.items()},
        )
        for number in range(1, ALTERED_ROWS + 1)
    ]


def alter() -> str:
    """The statement that changes the types of ALTERED. The values that are there are lost."""
    changes = (
        f"ALTER {name} TYPE {KINDS[kind].sql} USING NULL" for name, (_, kind) in ALTERED.items()
    )
    return f"ALTER TABLE altered {', '.join(changes)}"


def insert(table: str, row: Row, shift: int = 0) -> str:
    """The statement that writes a row, whose number is shifted."""
    names = ", ".join(["id", *row.values])
    values = ", ".join([str(row.number + shift), *row.values.values()])
    return f"INSERT INTO {table} ({names}) VALUES ({values})"


def create() -> str:
    """The statements that make the tables."""
    cell_types = columns()
    kept = {
        "id": "int PRIMARY KEY",
        "changed": "int",
        **{name: cell_types[name] for name in large().values},
    }
    stored = [
        f"ALTER TABLE {table} {change}"
        for table in LARGE
        for change in (
            *(f"ALTER {name} SET STORAGE EXTERNAL" for name in large(table).values),
            "SET (toast_tuple_target = 128)",
        )
    ]
    tables = {
        "cells": {"id": "int PRIMARY KEY", **cell_types},
        "required": {
            "id": "int PRIMARY KEY",
            **{name: f"{kind.sql} NOT NULL" for name, kind in KINDS.items()},
        },
        "large": kept,
        "kept": kept,
        "large_required": {
            "id": "int PRIMARY KEY",
            "changed": "int",
            **{name: f"{kept[name]} NOT NULL" for name in REQUIRED_LARGE},
        },
        "altered": {
            "id": "int PRIMARY KEY",
            **{name: KINDS[kind].sql for name, (kind, _) in ALTERED.items()},
        },
    }
    made = [
        f"CREATE TABLE {table} ({', '.join(f'{name} {sql}' for name, sql in each.items())})"
        for table, each in tables.items()
    ]
    return "; ".join([TYPES, *made, *stored, "ALTER TABLE kept REPLICA IDENTITY FULL"])
