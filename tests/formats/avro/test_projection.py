"""The part of a schema that a query wants."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.arrow.types import as_nullable
from kafka_formats.avro.decode import decode
from kafka_formats.avro.projection import project
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import Schema, parse_schema
from kafka_formats.avro.types import arrow_type
from kafka_formats.errors import SchemaError
from tests.formats.avro.checks import check
from tests.formats.avro.payloads import Json, payload, schemas, varint, with_length

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "sku", "type": "string"}, {"name": "price", "type": "double"}],
}
ORDER = parse_schema(
    json.dumps(
        {
            "type": "record",
            "name": "Order",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "customer", "type": ["null", "string"], "default": None},
                {"name": "lines", "type": {"type": "array", "items": LINE}},
                {"name": "by_name", "type": {"type": "map", "values": ["Line", "null"]}},
                {"name": "wide", "type": ["int", "string"]},
            ],
        }
    )
)
PRICE = pa.struct([pa.field("price", pa.float64())])


def field_types(schema: Schema) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in arrow_type(schema)}


def test_parts_of_lists_and_maps_are_chosen_too() -> None:
    wanted = pa.struct(
        [
            pa.field("lines", pa.list_(pa.field("element", PRICE))),
            pa.field("by_name", pa.map_(pa.string(), pa.field("value", PRICE))),
        ]
    )
    found = field_types(project(ORDER, wanted))
    assert [field.name for field in found["lines"].value_type] == ["price"]
    assert [field.name for field in found["by_name"].item_type] == ["price"]


TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "next", "type": ["null", "Tree"]},
        {"name": "children", "type": {"type": "array", "items": "Tree"}},
        {"name": "by_name", "type": {"type": "map", "values": ["Tree", "null"]}},
        {"name": "id", "type": "long"},
    ],
}


def tree(number: int, *, following: bytes = b"\x00", children: bytes = b"\x00") -> bytes:
    """A payload: the next one after its branch, and blocks of children."""
    return following + children + b"\x00" + varint(number)


def read_part(wanted: pa.DataType, rows: list[bytes]) -> list[Any]:
    whole = parse_schema(json.dumps(TREE))
    plan = resolve(whole, project(whole, wanted))
    check(plan, rows)
    found = decode(pa.array(rows, pa.binary()), plan)
    return [
        None if is_broken else value
        for value, is_broken in zip(found.values.to_pylist(), found.is_broken, strict=True)
    ]


def test_a_record_within_itself_need_not_be_wanted() -> None:
    deep = tree(1)
    for number in range(2, 3_001):
        deep = tree(number, following=b"\x02" + deep)
    wide = tree(7, children=varint(1_000) + tree(1) * 1_000 + b"\x00")
    both = tree(8, following=b"\x02" + wide, children=varint(-1) + varint(len(deep)) + deep + b"\0")
    rows = [tree(5), deep, wide, both, deep[:-1], b"\x04", b""]
    found = read_part(pa.struct({"id": pa.int64()}), rows)
    assert found == [{"id": 5}, {"id": 3_000}, {"id": 7}, {"id": 8}, None, None, None]


def test_a_record_within_itself_is_read_as_deep_as_it_is_wanted() -> None:
    leaf = pa.struct({"id": pa.int64()})
    children = pa.list_(pa.field("element", pa.struct({"id": pa.int64(), "next": leaf})))
    wanted = pa.struct({"id": pa.int64(), "children": children})
    child = tree(2, following=b"\x02" + tree(3, following=b"\x02" + tree(4)))
    (found,) = read_part(wanted, [tree(1, children=varint(1) + child + b"\x00")])
    assert found == {"id": 1, "children": [{"id": 2, "next": {"id": 3}}]}


def test_a_record_within_itself_that_is_wanted_has_no_type() -> None:
    whole = parse_schema(json.dumps(TREE))
    with pytest.raises(SchemaError, match=r"'Tree' contains itself.*\.schema"):
        arrow_type(whole)
    with pytest.raises(SchemaError, match="'Tree' contains itself"):
        project(whole, pa.struct({"children": pa.list_(pa.int64())}))


def test_a_record_that_is_always_within_itself_has_no_payload() -> None:
    endless = {"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}, ID]}
    whole = parse_schema(json.dumps(endless))
    with pytest.raises(SchemaError, match="the field 'r': the record 'R' is always within itself"):
        resolve(whole, project(whole, pa.struct({"id": pa.int64()})))


ID = {"name": "id", "type": "long"}
WIDE_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}


@pytest.mark.parametrize(
    ("wanted", "values"),
    [
        (pa.string(), ["12.34", "1" + "0" * 60 + ".00"]),
        (pa.decimal128(38, 2), [Decimal("12.34"), None]),
        (pa.decimal128(6, 3), [Decimal("12.340"), None]),
        (pa.decimal128(38, 1), [None, None]),
        (pa.binary(), [b"\x04\xd2", (10**62).to_bytes(26, "big")]),
    ],
)
@pytest.mark.parametrize("size", [None, 30])
def test_a_decimal_wider_than_sparks_is_a_string_or_as_it_is_wanted(
    wanted: pa.DataType, values: list[Any], size: int | None
) -> None:
    kind = WIDE_DECIMAL if size is None else WIDE_DECIMAL | FIXED | {"size": size}
    whole = parse_schema(json.dumps(kind))
    plan = resolve(whole, project(whole, wanted))
    numbers = [
        number.to_bytes(size or length, "big") for number, length in ((1234, 2), (10**62, 26))
    ]
    rows = numbers if size else [*map(with_length, numbers)]
    check(plan, rows)
    found = decode(pa.array(rows, pa.binary()), plan)
    is_binary = size is not None and wanted == pa.binary()
    assert found.is_broken.tolist() == [value is None for value in values]
    for value, known, raw in zip(found.values.to_pylist(), values, numbers, strict=True):
        assert known is None or value == (raw if is_binary else known)


FIXED = {"type": "fixed", "name": "F"}


def test_no_field_may_be_wanted() -> None:
    assert arrow_type(project(ORDER, pa.struct([]))) == pa.struct([])


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"wide": pa.struct({"member0": pa.int32()})}, "the field 'wide' has the type struct"),
        ({"customer": pa.field("customer", pa.string(), nullable=False)}, "can be null"),
    ],
)
def test_what_the_schema_does_not_have_is_refused(
    wanted: dict[str, pa.DataType | pa.Field], message: str
) -> None:
    fields = [
        each if isinstance(each, pa.Field) else pa.field(name, each)
        for name, each in wanted.items()
    ]
    with pytest.raises(SchemaError, match=message):
        project(ORDER, pa.struct(fields))


def test_a_payload_that_is_no_record() -> None:
    text = parse_schema('"string"')
    assert project(text, pa.string()) == text
    with pytest.raises(SchemaError, match="the payload has the type string, not binary"):
        project(text, pa.binary())


@given(schemas())
def test_the_whole_type_is_the_whole_schema_nullable_or_not(schema: Json) -> None:
    whole = parse_schema(json.dumps(schema))
    for wanted in (arrow_type(whole), as_nullable(arrow_type(whole))):
        assert arrow_type(project(whole, wanted)) == arrow_type(whole)


@given(schema=schemas(), data=st.data())
def test_a_part_has_the_values_of_the_whole(schema: Json, data: st.DataObject) -> None:
    fields = [{"name": "a", "type": schema}, {"name": "b", "type": "long"}]
    record = {"type": "record", "name": "Top", "fields": fields}
    whole = parse_schema(json.dumps(record))
    kept = data.draw(st.permutations(list(arrow_type(whole))))[: data.draw(st.integers(0, 2))]
    rows = pa.array([payload(data.draw, record) for _ in range(3)], pa.binary())
    plan = resolve(whole, project(whole, pa.struct(kept)))
    found = decode(rows, plan).values
    values = decode(rows, resolve(whole, whole)).values
    for field in kept:
        assert str(found.field(field.name).to_pylist()) == str(values.field(field.name).to_pylist())
