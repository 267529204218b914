"""The part of a schema that a query wants."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.arrow.types import as_nullable
from kafka_formats.avro.decode import decode
from kafka_formats.avro.plan import resolve
from kafka_formats.avro.projection import project
from kafka_formats.avro.schema import Schema, parse_schema
from kafka_formats.avro.types import arrow_type
from kafka_formats.errors import SchemaError
from tests.formats.avro.payloads import Json, payload, schemas

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


def test_fields_are_those_that_are_wanted_in_their_order() -> None:
    wanted = pa.struct([pa.field("customer", pa.string()), pa.field("id", pa.int64())])
    assert field_types(project(ORDER, wanted)) == {"customer": pa.string(), "id": pa.int64()}


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


def test_no_field_may_be_wanted() -> None:
    assert arrow_type(project(ORDER, pa.struct([]))) == pa.struct([])


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"idd": pa.int64()}, "there is no field 'idd'; there are id, customer, lines"),
        ({"id": pa.int32()}, "the field 'id' has the type int64, not int32"),
        ({"lines": pa.list_(pa.struct({"no": pa.int32()}))}, r"there is no field 'lines\[\].no'"),
        ({"lines": PRICE}, "the field 'lines' has the type list"),
        ({"by_name": pa.map_(pa.binary(), PRICE)}, "the field 'by_name' has the type map"),
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
