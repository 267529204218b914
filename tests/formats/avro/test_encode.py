"""Arrow columns to payloads of Avro, read by ourselves and by fastavro."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.avro.decode import decode
from kafka_formats.avro.encode import encode
from kafka_formats.avro.encoder import AvroEncoder
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import Schema, parse_schema
from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.payload.schema_text import SchemaText
from tests.formats.avro.checks import as_fastavro_reads, as_pairs, plan_of
from tests.formats.avro.payloads import Json, payload, schemas, varint, with_length


def schema_of(schema: Json) -> Schema:
    return parse_schema(json.dumps(schema))


@given(schema=schemas(), data=st.data())
def test_what_is_written_is_read(schema: Json, data: st.DataObject) -> None:
    plan = plan_of(schema)
    rows = [payload(data.draw, schema) for _ in range(3)]
    values = decode(pa.array(rows, pa.binary()), plan).values
    written = encode(schema_of(schema), values)
    found = decode(written, plan)
    assert not found.is_broken.any()
    assert str(found.values.to_pylist()) == str(values.to_pylist())


@given(schema=schemas(with_unions=False), data=st.data())
def test_fastavro_reads_what_is_written(schema: Json, data: st.DataObject) -> None:
    plan = plan_of(schema)
    rows = [payload(data.draw, schema) for _ in range(3)]
    values = decode(pa.array(rows, pa.binary()), plan).values
    written = encode(schema_of(schema), values)
    read = [as_pairs(schema, as_fastavro_reads(schema, row.as_py())) for row in written]
    assert pa.array(read, plan.type).equals(values)


@given(schema=schemas())
def test_a_type_is_checked_without_values(schema: Json) -> None:
    AvroEncoder(SchemaText(json.dumps(schema))).check(plan_of(schema).type)


@pytest.mark.parametrize(
    ("value", "size"), [(0, 1), (127, 1), (128, 2), (-128, 1), (-129, 2), (10**37, 16)]
)
def test_decimals_are_as_short_as_they_can_be(value: int, size: int) -> None:
    schema = schema_of({"type": "bytes", "logicalType": "decimal", "precision": 38})
    written = encode(schema, pa.array([Decimal(value)], pa.decimal128(38)))
    assert written.to_pylist() == [with_length(value.to_bytes(size, "big", signed=True))]


@pytest.mark.parametrize("size", [None, 30])
def test_a_decimal_wider_than_arrows_is_written_from_its_text(size: int | None) -> None:
    wide = {"logicalType": "decimal", "precision": 64, "scale": 2}
    kind = {"type": "bytes"} if size is None else {"type": "fixed", "name": "F", "size": size}
    schema = schema_of(kind | wide)
    texts = ["12.34", "-0.01", "1" + "0" * 61, "0.00", "-128.00", "1.5E2"]
    written = encode(schema, pa.array(texts))
    found = decode(written, resolve(schema, schema)).values
    assert [Decimal(each) for each in found.to_pylist()] == [*map(Decimal, texts)]
    plain = texts[:2]
    numbers = [*map(Decimal, plain)]
    assert encode(schema, pa.array(numbers, pa.decimal128(38, 2))).equals(
        encode(schema, pa.array(plain))
    )
    if size is None:
        assert encode(schema, pa.array([b"\x01"])).to_pylist() == [with_length(b"\x01")]
        assert [len(each) for each in written.to_pylist()] == [3, 2, 28, 2, 3, 3]


def test_bytes_that_are_no_decimal_are_not_written_as_one() -> None:
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}
    for raw in (b"", b"\x01" * 5_000):
        with pytest.raises(PayloadError, match="a value is not a decimal of up to 10000 digits"):
            encode(schema_of(wide), pa.array([b"\x01", raw]))


def test_a_union_of_null_alone() -> None:
    record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null"]}]}
    schema = schema_of(record)
    values = pa.array([{"a": None}, {"a": None}], pa.struct({"a": pa.null()}))
    written = encode(schema, values)
    assert written.to_pylist() == [b"\x00", b"\x00"]
    assert decode(written, resolve(schema, schema)).values.equals(values)


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["x", "NaN", "Infinity", "1E999999999"], "a value is not a decimal of up to 10000 digits"),
        (["0.001", "1" + "0" * 62], "a decimal does not fit 64 digits, 2 of them after the point"),
    ],
)
def test_a_text_that_is_no_such_decimal(texts: list[str], reason: str) -> None:
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}
    for text in texts:
        with pytest.raises(PayloadError, match=f"^{reason}$"):
            encode(schema_of(wide), pa.array([text]))


def test_a_record_within_itself_is_written_as_deep_as_the_column() -> None:
    children = {"type": "array", "items": "T"}
    fields = [{"name": "id", "type": "long"}, {"name": "children", "type": children}]
    schema = schema_of({"type": "record", "name": "T", "fields": fields})
    leaf = pa.struct({"id": pa.int64()})
    one = pa.struct({"id": pa.int64(), "children": pa.list_(leaf)})
    with pytest.raises(SchemaError, match=r"no field 'children' in 'children\[\]'"):
        encode(schema, pa.array([{"id": 1, "children": []}], one))


def test_items_outside_of_a_slice_do_not_matter() -> None:
    values = pa.array([[("k", None)], [("k", 1)]], pa.map_(pa.string(), pa.int64())).slice(1)
    schema = schema_of({"type": "map", "values": "long"})
    (row,) = encode(schema, values).to_pylist()
    assert row == varint(1) + with_length(b"k") + varint(1) + b"\x00"


RECORD = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
ENUM = {"type": "enum", "name": "E", "symbols": ["A"]}
FIXED = {"type": "fixed", "name": "F", "size": 2}
WIDE = ["int", "string"]
MEMBERS = pa.struct({"member0": pa.int32(), "member1": pa.string()})


@pytest.mark.parametrize(
    ("schema", "values", "reason"),
    [
        ("int", pa.array([1], pa.int64()), "int64 cannot be written as int"),
        ("float", pa.array([1.0], pa.float64()), "double cannot be written as float"),
        ("string", pa.array([b"x"]), "binary cannot be written as string"),
        (RECORD, pa.array([{"a": "x"}]), "the field 'a': string cannot be written as int"),
        (RECORD, pa.array([{"b": 1}]), "the schema has no field 'b'"),
        (RECORD, pa.array([{}], pa.struct([])), "the column has no field 'a'"),
        (WIDE, pa.array([1], pa.int32()), "int32 cannot be written as union"),
        (["null"], pa.array([None], pa.int32()), "int32 cannot be written as null"),
        ({"type": "int", "logicalType": "date"}, pa.array([1], pa.int32()), "int32 cannot"),
    ],
)
def test_types_that_do_not_fit(schema: Json, values: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        encode(schema_of(schema), values)


def test_members_of_a_union_are_found_by_name() -> None:
    union = [{**RECORD, "name": "A"}, {**RECORD, "name": "B"}]
    member = pa.struct({"a": pa.int32()})
    columns = [pa.array([{"a": 7}], member), pa.nulls(1, member)]
    for names, number in ((["member0", "member1"], 0), (["member1", "member0"], 1)):
        values = pa.StructArray.from_arrays(columns, names)
        (written,) = encode(schema_of(union), values).to_pylist()
        assert written == varint(number) + varint(7)
    for names in (["a", "b"], ["member0", "member2"], ["member0", "member0"]):
        values = pa.StructArray.from_arrays(columns, names)
        with pytest.raises(SchemaError, match="a union has the members member0, member1, not "):
            encode(schema_of(union), values)


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 2}


@pytest.mark.parametrize(
    ("schema", "values", "reason"),
    [
        ("int", pa.array([None], pa.int32()), "a null cannot be written as int"),
        (
            RECORD,
            pa.array([{"a": None}], pa.struct({"a": pa.int32()})),
            "^a: a null cannot be written",
        ),
        (ENUM, pa.array(["B"]), "not a symbol of E"),
        (FIXED, pa.array([b"x"]), "does not have 2 bytes"),
        (DECIMAL, pa.array([Decimal(100)], pa.decimal128(5)), "does not fit 2 digits"),
        (WIDE, pa.array([None], MEMBERS), "without null"),
        (WIDE, pa.array([{"member0": None, "member1": None}], MEMBERS), "no value"),
        (WIDE, pa.array([{"member0": 1, "member1": "x"}], MEMBERS), "several values"),
    ],
)
def test_values_that_do_not_fit(schema: Json, values: Any, reason: str) -> None:
    with pytest.raises(PayloadError, match=reason):
        encode(schema_of(schema), values)
