"""Defaults of fields at the extremes of their types, as Java's library reads them."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.avro.decode import decode
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import parse_schema
from kafka_formats.errors import SchemaError
from tests.formats.avro.checks import check, plan_of
from tests.formats.avro.payloads import Json
from tests.formats.times import as_numbers

EMPTY: Json = {"type": "record", "name": "R", "fields": []}
FIXED = {"type": "fixed", "name": "F", "size": 2}
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
INNER = {
    "type": "record",
    "name": "I",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": "x"}],
}


def with_default(kind: Json, default: Json) -> Json:
    return EMPTY | {"fields": [{"name": "d", "type": kind, "default": default}]}


def decimal(precision: int, scale: int) -> Json:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def as_json(number: int, size: int) -> str:
    return number.to_bytes(size, "big", signed=True).decode("latin-1")


def value_of(kind: Json, default: Json) -> Any:
    plan = plan_of(EMPTY, with_default(kind, default))
    check(plan, [b"", b""])
    (row,) = as_numbers(decode(pa.array([b""], pa.binary()), plan).values)
    return row["d"]


@pytest.mark.parametrize(
    ("kind", "default", "value"),
    [
        ("int", -(2**31), -(2**31)),
        ("long", 2**63 - 1, 2**63 - 1),
        ("float", 0.1, 0.10000000149011612),
        ("float", 1e39, math.inf),
        ("double", 5e-324, 5e-324),
        ("double", 2**53 + 1, 2.0**53),
        ("double", -(10**400), -math.inf),
        ("double", -0.0, -0.0),
        ("bytes", "\x00ÿ\x80", b"\x00\xff\x80"),
        (FIXED, "ÿ\x00", b"\xff\x00"),
        ("string", "\x00\ufffd🎈", "\x00\ufffd🎈"),
        (ENUM, "B", "B"),
        ("null", None, None),
        (MILLIS, 9_223_372_036_854_775, 9_223_372_036_854_775_000),
        ({"type": "int", "logicalType": "date"}, -(2**31), -(2**31)),
        ({"type": "long", "logicalType": "timestamp-nanos"}, -(2**63), -(2**63)),
        (decimal(38, 0), as_json(10**38 - 1, 16), Decimal(10**38 - 1)),
        (decimal(38, 38), as_json(1 - 10**38, 16), Decimal(f"-0.{'9' * 38}")),
        (decimal(29, 2), as_json(10**29 - 1, 13), Decimal(f"{'9' * 27}.99")),
        (decimal(64, 2), as_json(10**64 - 1, 27), f"{'9' * 62}.99"),
        (
            {"type": "array", "items": decimal(38, 1)},
            [as_json(10**37, 17)],
            [Decimal(f"1{'0' * 36}.0")],
        ),
        ({"type": "map", "values": ["null", "int"]}, {"": None, "ÿ": 1}, [("", None), ("ÿ", 1)]),
        (INNER, {"a": 1}, {"a": 1, "b": "x"}),
        (["null", "string"], None, None),
        (["null", "string"], "x", "x"),
        (["int", "double"], 1.5, {"member0": None, "member1": 1.5}),
        (["bytes", "string"], "€", {"member0": None, "member1": "€"}),
        ([ENUM, "string"], "C", {"member0": None, "member1": "C"}),
    ],
)
def test_a_default_has_all_of_its_digits(kind: Json, default: Json, value: Any) -> None:
    assert repr(value_of(kind, default)) == repr(value)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("int", 2**31),
        ("int", 1.0),
        ("int", True),
        ("long", -(2**63) - 1),
        ("float", "NaN"),
        ("bytes", "€"),
        (FIXED, "ÿ"),
        ("string", "\ud800"),
        ({"type": "map", "values": "int"}, {"\udfff": 1}),
        (ENUM, "C"),
        (ENUM, None),
        ("null", 0),
        (MILLIS, 2**62),
        (decimal(38, 0), as_json(10**38, 17)),
        (decimal(4, 2), ""),
        (decimal(64, 2), as_json(10**64, 27)),
        (INNER, {"b": "y"}),
        (INNER, {"a": None}),
        ({"type": "array", "items": "int"}, [1, "x"]),
        (["null", "int"], "x"),
    ],
)
def test_a_default_of_another_type_is_refused(kind: Json, default: Json) -> None:
    nodes = [parse_schema(json.dumps(each)) for each in (EMPTY, with_default(kind, default))]
    with pytest.raises(SchemaError, match="the default of"):
        resolve(*nodes)


def test_a_symbol_without_an_encoding_is_refused() -> None:
    with pytest.raises(SchemaError, match="symbol"):
        parse_schema(json.dumps(ENUM | {"symbols": ["A\ud800"]}))
