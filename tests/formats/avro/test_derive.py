"""Schemas for columns that are written without one."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.avro.decode import decode
from kafka_formats.avro.derive import derive_schema
from kafka_formats.avro.encode import encode
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import parse_schema
from kafka_formats.avro.types import arrow_type
from kafka_formats.errors import SchemaError
from tests.formats.avro.payloads import Json, payload, schemas

ORDER = pa.struct(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("customer", pa.struct([pa.field("name", pa.string())])),
        pa.field("amount", pa.decimal128(9, 2)),
        pa.field("days", pa.list_(pa.field("element", pa.date32(), nullable=False))),
        pa.field("counts", pa.map_(pa.string(), pa.int8()), nullable=False),
        pa.field("at", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("local", pa.timestamp("us"), nullable=False),
    ]
)


def test_the_schema_of_a_struct() -> None:
    found = json.loads(derive_schema(ORDER))
    assert (found["name"], found["type"]) == ("topLevelRecord", "record")
    types = {field["name"]: field["type"] for field in found["fields"]}
    name = {"name": "name", "type": ["null", "string"], "default": None}
    customer = {"type": "record", "name": "customer", "namespace": "topLevelRecord"}
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    assert types == {
        "id": "long",
        "customer": ["null", {**customer, "fields": [name]}],
        "amount": ["null", decimal],
        "days": ["null", {"type": "array", "items": {"type": "int", "logicalType": "date"}}],
        "counts": {"type": "map", "values": ["null", "int"]},
        "at": {"type": "long", "logicalType": "timestamp-micros"},
        "local": {"type": "long", "logicalType": "local-timestamp-micros"},
    }
    defaults = {field["name"]: "default" in field for field in found["fields"]}
    assert [name for name, has_one in defaults.items() if has_one] == ["customer", "amount", "days"]


def test_records_of_the_same_name_are_told_apart() -> None:
    inner = pa.struct([pa.field("a", pa.int64())])
    other = pa.struct([pa.field("a", pa.string())])
    twice = pa.struct(
        [pa.field("x", pa.struct([pa.field("part", inner)])), pa.field("part", other)]
    )
    assert arrow_type(parse_schema(derive_schema(twice))) == twice


@given(schemas(with_unions=False))
def test_the_schema_has_the_type_that_it_is_from(schema: Json) -> None:
    wanted = arrow_type(parse_schema(json.dumps(schema)))
    assert arrow_type(parse_schema(derive_schema(wanted))).equals(wanted)


@given(schema=schemas(), data=st.data())
def test_values_are_written_with_it_and_read_again(schema: Json, data: st.DataObject) -> None:
    tree = parse_schema(json.dumps(schema))
    rows = pa.array([payload(data.draw, schema) for _ in range(3)], pa.binary())
    values = decode(rows, resolve(tree, tree)).values.drop_null()
    derived = parse_schema(derive_schema(values.type))
    again = decode(encode(derived, values), resolve(derived, derived))
    assert not again.is_broken.any()
    assert str(again.values.to_pylist()) == str(values.to_pylist())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"a b": pa.int64()}, "the field 'a b' has no name that Avro allows"),
        ({"a": pa.map_(pa.int64(), pa.int64())}, "the field 'a': keys of maps must be strings"),
        ({"a": pa.duration("us")}, "the field 'a': Avro has no type duration"),
    ],
)
def test_what_avro_does_not_have_is_refused(fields: dict[str, pa.DataType], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        derive_schema(pa.struct([pa.field(name, each) for name, each in fields.items()]))
