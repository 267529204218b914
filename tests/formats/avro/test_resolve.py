"""Resolution of a writer's schema to a reader's: as fastavro, and as the specification says."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from kafka_formats.avro.decode import decode
from kafka_formats.avro.decode_one import read_payload
from kafka_formats.avro.encode import encode
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import parse_schema
from kafka_formats.errors import PayloadError, SchemaError
from tests.formats.avro.checks import check, plan_of
from tests.formats.avro.payloads import Json, varint, with_length


def record(**fields: Json) -> Json:
    return {
        "type": "record",
        "name": "R",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }


def with_field(schema: Json, name: str, kind: Json, **more: Json) -> Json:
    return schema | {"fields": [*schema["fields"], {"name": name, "type": kind, **more}]}


def enum(*symbols: str, **more: Json) -> Json:
    return {"type": "enum", "name": "E", "symbols": [*symbols], **more}


ABC = record(a="int", b="string", c="double")
ABC_ROW = varint(-3) + with_length(b"text") + struct.pack("<d", 0.5)

# Writer, reader, payload.
CASES: dict[str, tuple[Json, Json, bytes]] = {
    "int as long": ("int", "long", varint(-7)),
    "int as float": ("int", "float", varint(-7)),
    "int as double": ("int", "double", varint(-7)),
    "long as float": ("long", "float", varint(2**40)),
    "long as double": ("long", "double", varint(2**40)),
    "float as double": ("float", "double", struct.pack("<f", 0.5)),
    "string as bytes": ("string", "bytes", with_length(b"abc")),
    "bytes as string": ("bytes", "string", with_length(b"abc")),
    "other order": (ABC, record(c="double", a="long"), ABC_ROW),
    "a field in the middle": (ABC, record(b="string"), ABC_ROW),
    "no field": (ABC, record(), ABC_ROW),
    "added": (ABC, with_field(ABC, "d", "long", default=9), ABC_ROW),
    "added, null": (ABC, with_field(ABC, "d", ["null", "int"], default=None), ABC_ROW),
    "added, nested": (
        ABC,
        with_field(ABC, "d", {"type": "array", "items": "int"}, default=[1, 2]),
        ABC_ROW,
    ),
    "renamed": (ABC, with_field(record(b="string"), "x", "int", aliases=["a"]), ABC_ROW),
    "an item promoted": (
        {"type": "array", "items": "int"},
        {"type": "array", "items": "double"},
        varint(2) + varint(1) + varint(2) + b"\x00",
    ),
    "known symbols": (enum("A", "B", "C"), enum("C", "A"), varint(2)),
    "a default for others": (enum("A", "B"), enum("A", "X", default="X"), varint(1)),
    "into a union": ("int", ["null", "long"], varint(5)),
    "out of a union": (["null", "int"], "int", varint(1) + varint(5)),
    "a union in another order": (["int", "null"], ["null", "int"], varint(0) + varint(5)),
    "null of a union": (["int", "null"], ["null", "int"], varint(1)),
}


@pytest.mark.parametrize("case", CASES)
def test_equals_fastavro(case: str) -> None:
    writer, reader, row = CASES[case]
    plan = plan_of(writer, reader)
    wanted = fastavro.schemaless_reader(
        io.BytesIO(row), fastavro.parse_schema(writer), fastavro.parse_schema(reader)
    )
    assert decode(pa.array([row], pa.binary()), plan).values.equals(pa.array([wanted], plan.type))
    check(plan, [row] * 3)


@pytest.mark.parametrize(
    ("default", "kind"),
    [
        ("ÿ\x00", {"type": "bytes"}),
        ("ÿ\x00", {"type": "fixed", "name": "F", "size": 2}),
        ("\x01\x00", {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}),
        (True, "boolean"),
        (5, "double"),
        (7, {"type": "long", "logicalType": "timestamp-millis"}),
        ("A", enum("A")),
        ({"k": 1}, {"type": "map", "values": "int"}),
        ({"a": 1}, with_field(record(a="int"), "b", "string", default="x") | {"name": "Q"}),
        ("text", ["int", "string"]),
    ],
)
def test_defaults_have_the_type_of_their_field(default: Any, kind: Json) -> None:
    plan = plan_of(record(), with_field(record(), "d", kind, default=default))
    check(plan, [b"", b""])


def test_values_of_some_defaults() -> None:
    reader = with_field(record(), "d", ["int", "string"], default="text")
    reader = with_field(reader, "t", {"type": "long", "logicalType": "timestamp-millis"}, default=7)
    (row,) = decode(pa.array([b""], pa.binary()), plan_of(record(), reader)).values
    assert row["d"].as_py() == {"member0": None, "member1": "text"}
    assert row["t"].value == 7_000


DATE = {"type": "int", "logicalType": "date"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}


# Spark's `AvroDeserializer` looks at the types of such a union only.
@pytest.mark.parametrize(
    ("writer", "reader", "row"),
    [
        ([DATE, MILLIS], [DATE, MILLIS], varint(1) + varint(5)),
        ([DATE, "long"], ["long", "null", DATE], varint(0) + varint(5)),
        (MILLIS, ["null", DATE, MILLIS], varint(5)),
        ("long", ["int", MILLIS], varint(5)),
        (DATE, ["int", "long"], varint(5)),
        (DATE, [MILLIS, "int"], varint(5)),
    ],
)
def test_a_union_of_int_and_long_has_the_written_number(
    writer: Json, reader: Json, row: bytes
) -> None:
    (value,) = decode(pa.array([row], pa.binary()), plan_of(writer, reader)).values
    assert value == pa.scalar(5, pa.int64())
    again = encode(parse_schema(json.dumps(reader)), pa.array([5], pa.int64()))
    assert decode(again, plan_of(reader, reader)).values.to_pylist() == [5]


@pytest.mark.parametrize("writer", [MILLIS, [MILLIS, "null"]])
def test_a_union_of_numbers_takes_none_of_another_meaning(writer: Json) -> None:
    with pytest.raises(SchemaError, match=" was written, union is expected"):
        plan_of(writer, ["int", MICROS])


def test_the_default_of_a_union_of_numbers_is_one() -> None:
    reader = with_field(record(), "d", [DATE, "long"], default=7)
    (row,) = decode(pa.array([b""], pa.binary()), plan_of(record(), reader)).values
    assert row["d"].as_py() == 7


@pytest.mark.parametrize(
    ("writer", "reader", "reason"),
    [
        ("long", "int", "long was written, int is expected"),
        ("string", "int", "string was written"),
        (ABC, record(a="string"), "the field 'a': int was written, string is expected"),
        (ABC, record(z="int"), "the field 'z' was not written and has no default"),
        (record(), with_field(record(), "d", "int", default="x"), "the default of the field 'd'"),
        (record(), with_field(record(), "d", "int", default=2**31), "the default of the field 'd'"),
        (record(), with_field(record(), "d", "bytes", default="€"), "the default of the field 'd'"),
        (record(), record() | {"name": "Q"}, "R was written, Q is expected"),
        (["int", "null"], "string", "union was written, string is expected"),
        (
            {"type": "array", "items": ABC},
            {"type": "array", "items": record(a="null")},
            r"'\[\].a'",
        ),
    ],
)
def test_schemas_that_do_not_fit(writer: Json, reader: Json, reason: str) -> None:
    nodes = [parse_schema(json.dumps(each)) for each in (writer, reader)]
    with pytest.raises(SchemaError, match=reason):
        resolve(*nodes)


@pytest.mark.parametrize(
    ("writer", "reader", "row", "reason"),
    [
        (enum("A", "B"), enum("A"), varint(1), "the symbol B is unknown to the reader"),
        (["int", "string"], "int", varint(1) + with_length(b"x"), "the type string is unknown"),
    ],
)
def test_a_payload_that_does_not_fit_the_reader(
    writer: Json, reader: Json, row: bytes, reason: str
) -> None:
    plan = plan_of(writer, reader)
    with pytest.raises(PayloadError, match=reason):
        read_payload(plan, row)
    check(plan, [varint(0) + varint(0), row])
