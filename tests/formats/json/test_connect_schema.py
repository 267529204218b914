"""Schemas of Connect in JSON -> types and semantic types."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.connect.semantics import Semantic
from kafka_formats.errors import SchemaError
from kafka_formats.json.connect_schema import connect_type, is_connect_schema

AT = {"type": "int64", "name": "io.debezium.time.MicroTimestamp", "version": 1}
MICROS = Semantic("io.debezium.time.MicroTimestamp", {})


def struct(**fields: Any) -> dict[str, Any]:
    listed = [{**each, "field": name, "optional": True} for name, each in fields.items()]
    return {"type": "struct", "fields": listed}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("boolean", pa.bool_()),
        ("int8", pa.int8()),
        ("int16", pa.int16()),
        ("int32", pa.int32()),
        ("int64", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("string", pa.string()),
        ("bytes", pa.binary()),
    ],
)
def test_plain_types(kind: str, expected: pa.DataType) -> None:
    assert connect_type(json.dumps({"type": kind})) == (expected, {(): None})


def test_parts() -> None:
    strings = {"type": "string"}
    schema = struct(
        at=AT,
        list={"type": "array", "items": AT},
        map={"type": "map", "keys": strings, "values": AT},
        pairs={"type": "map", "keys": AT, "values": strings},
        row=struct(at={**AT, "parameters": {"a": 1}}),
    )
    found = connect_type(json.dumps(schema))
    assert found.type == pa.struct(
        [
            ("at", pa.int64()),
            ("list", pa.list_(pa.field("element", pa.int64()))),
            ("map", pa.map_(pa.string(), pa.int64())),
            # Pairs of keys and values have no type: their text.
            ("pairs", pa.string()),
            ("row", pa.struct([("at", pa.int64())])),
        ]
    )
    assert found.semantics["at",] == found.semantics["list", "[]"] == MICROS
    assert found.semantics["map", "{}"] == MICROS
    assert found.semantics["row", "at"] == MICROS._replace(parameters={"a": "1"})
    assert found.semantics["row",] is None


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{", "a schema of Connect is not valid JSON"),
        ("[]", "the schema of Connect has the type None"),
        ('{"type": "record"}', "the schema of Connect has the type 'record'"),
        ('{"type": ["int8"]}', "the schema of Connect has the type"),
        ('{"type": "struct"}', "the schema of Connect has no list of named fields"),
        ('{"type": "struct", "fields": [{"type": "int8"}]}', "has no list of named fields"),
        ('{"type": "array"}', r"the field '\[\]' has the type None"),
        (json.dumps(struct(a={"type": "x"})), "the field 'a' has the type 'x'"),
        (json.dumps({"type": "struct", "fields": [{**AT, "field": "a"}] * 2}), "has a field twice"),
        ("[" * 100_000, "a schema of Connect is not valid JSON"),
    ],
)
def test_what_is_no_schema_of_connect(schema: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        connect_type(schema)


def test_depth() -> None:
    schema: dict[str, Any] = {"type": "int8"}
    for _ in range(61):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match="nested more than 60 times"):
        connect_type(json.dumps(schema))


def test_schemas_of_connect_and_of_json() -> None:
    assert is_connect_schema(json.dumps(struct(at=AT)))
    for other in ('{"type": "object", "properties": {}}', "id bigint", "{", "true", "[" * 100_000):
        assert not is_connect_schema(other)
