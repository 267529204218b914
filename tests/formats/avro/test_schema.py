"""Avro schemas in JSON: what is read, and what is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_formats.avro.logical import Logical
from kafka_formats.avro.schema import Fixed, Primitive, RecordSchema, parse_schema
from kafka_formats.errors import SchemaError


def parsed(value: Any) -> Any:
    return parse_schema(json.dumps(value))


def record(*fields: Any, **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [*fields], **more}


def test_names_are_resolved_in_their_namespace() -> None:
    inner = {"type": "fixed", "name": "F", "size": 2}
    found = parsed(
        record(
            {"name": "a", "type": inner},
            {"name": "b", "type": "F"},
            {"name": "c", "type": "shop.F"},
            namespace="shop",
        )
    )
    assert isinstance(found, RecordSchema)
    assert found.name == "shop.R"
    assert [field.schema for field in found.fields] == [Fixed("shop.F", 2)] * 3


@pytest.mark.parametrize("name", ["größe", "日本.x", "Outer$.Inner"])
def test_names_of_other_alphabets_and_of_javas_inner_classes(name: str) -> None:
    found = parsed(record({"name": "ä1", "type": "int"}, name=name))
    assert isinstance(found, RecordSchema)
    assert found.name == name


def test_the_same_definition_may_be_repeated() -> None:
    inner = record({"name": "x", "type": "int"}, name="I")
    fields = ({"name": "a", "type": inner}, {"name": "b", "type": inner})
    assert parsed(record(*fields)) == parsed(record(fields[0], {"name": "b", "type": "I"}))


def test_references_define_names() -> None:
    address = record({"name": "city", "type": "string"}, name="shop.Address")
    order = record({"name": "to", "type": "shop.Address"})
    found = parse_schema(json.dumps(order), [json.dumps(address)])
    assert isinstance(found, RecordSchema)
    assert found.fields[0].schema == parsed(address)


@pytest.mark.parametrize(
    ("annotated", "logical"),
    [
        ({"type": "int", "logicalType": "date"}, Logical("date")),
        ({"type": "long", "logicalType": "date"}, None),
        ({"type": "long", "logicalType": "unknown"}, None),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, Logical("decimal", 4)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, None),
        ({"type": "bytes", "logicalType": "decimal", "precision": 64}, Logical("decimal", 64)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 10_001}, None),
        ({"type": "bytes", "logicalType": "decimal"}, None),
    ],
)
def test_logical_types_that_are_invalid_are_ignored(annotated: Any, logical: Logical) -> None:
    assert parsed(annotated) == Primitive(annotated["type"], logical)


def test_a_decimal_must_fit_its_fixed_type() -> None:
    fixed = {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal"}
    assert parsed(fixed | {"precision": 4}).logical == Logical("decimal", 4)
    assert parsed(fixed | {"precision": 5}).logical is None


A = {"name": "a", "type": "int"}
INNER = {"name": "i", "type": {"type": "record", "name": "I", "fields": [A]}}
ENUM = {"type": "enum", "name": "E", "symbols": ["A"]}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("missing", "'missing' is not defined"),
        (7, "7 is not an Avro type"),
        ({"name": "x"}, "not an Avro type"),
        ([], "no types"),
        (["int", ["null"]], "within another"),
        (["int", "int"], "'int' twice"),
        ([{"type": "array", "items": "int"}, {"type": "array", "items": "long"}], "'array' twice"),
        (record(A, A), "'a' twice"),
        (record({"name": "a b", "type": "int"}), "not an Avro name"),
        (record({"type": "int"}), "has no 'name'"),
        (record("a"), "not a field of the record 'R'"),
        (record(A, fields=7), "not a list"),
        (record({"name": "a", "type": record()}), "'R' is defined twice"),
        (record(INNER, {"name": "b", "type": record(name="I")}), "'I' is defined twice"),
        (record(A, name=7), "not a name"),
        (record(A, name="int"), "'int' is defined twice"),
        (record(A, aliases=[7]), "'aliases'"),
        ({"type": "array"}, "has no 'items'"),
        ({"type": "map"}, "has no 'values'"),
        ({"type": "fixed", "name": "F"}, "has the size null"),
        ({"type": "fixed", "name": "F", "size": -1}, "has the size -1"),
        ({"type": "fixed", "name": "F", "size": True}, "has the size true"),
        (ENUM | {"symbols": []}, "no symbols"),
        (ENUM | {"symbols": ["A", "A"]}, "no symbols"),
        (ENUM | {"default": "B"}, 'default "B"'),
    ],
)
def test_fault_62_invalid_schemas_are_refused(value: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        parsed(value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"type": ' * 200 + '"int"' + "}" * 200])
def test_fault_62_no_schema_at_all(text: str) -> None:
    with pytest.raises(SchemaError):
        parse_schema(text)


def test_a_schema_of_a_thousand_fields() -> None:
    fields = [{"name": f"f{number}", "type": ["null", "string"]} for number in range(1_000)]
    assert len(parsed(record(*fields)).fields) == 1_000
