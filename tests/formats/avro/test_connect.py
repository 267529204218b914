"""The semantic types of Connect in Avro schemas, by path."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_formats.avro.connect import semantics_of
from kafka_formats.connect.semantics import Path, Semantic, shown
from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import SchemaText

AT = {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"}
MICROS = Semantic("io.debezium.time.MicroTimestamp", {})


def found(schema: Any, *references: Any) -> dict[Path, Semantic | None]:
    texts = tuple((f"r{place}", json.dumps(each)) for place, each in enumerate(references))
    return dict(semantics_of(SchemaText(json.dumps(schema), texts)))


def record(name: str, *fields: tuple[str, Any], **more: Any) -> dict[str, Any]:
    listed = [{"name": field, "type": kind} for field, kind in fields]
    return {"type": "record", "name": name, "fields": listed, **more}


def test_names_parameters_and_plain_parts() -> None:
    price = {
        "type": "bytes",
        "connect.name": "org.apache.kafka.connect.data.Decimal",
        "connect.parameters": {"scale": "2", "connect.decimal.precision": 10},
    }
    assert found(record("R", ("id", "long"), ("at", ["null", AT]), ("price", price))) == {
        (): None,
        ("id",): None,
        ("at",): MICROS,
        ("price",): Semantic(
            "org.apache.kafka.connect.data.Decimal",
            {"scale": "2", "connect.decimal.precision": "10"},
        ),
    }


def test_a_record_that_is_named_again_has_the_same_parts() -> None:
    value = record("Value", ("at", AT), **{"connect.name": "s.Value"})
    envelope = record(
        "Envelope", ("before", ["null", value]), ("after", ["null", "Value"]), namespace="s"
    )
    semantics = found(envelope)
    for name in ("before", "after"):
        assert semantics[name,] == Semantic("s.Value", {})
        assert semantics[name, "at"] == MICROS


def test_items_values_and_nested_types() -> None:
    schema = record(
        "R",
        ("list", {"type": "array", "items": ["null", AT]}),
        ("map", {"type": "map", "values": {"type": AT}}),
        ("two", [AT, "string"]),
        ("color", {"type": "enum", "name": "E", "symbols": ["A"], "connect.name": "c"}),
        ("again", "E"),
        ("named", {"type": "E"}),
    )
    semantics = found(schema)
    assert semantics["list", "[]"] == semantics["map", "{}"] == MICROS
    assert ("two",) not in semantics
    assert semantics["color",] == semantics["again",] == semantics["named",] == Semantic("c", {})


def test_references_and_a_record_within_itself() -> None:
    tree = record("a.Tree", ("at", AT), ("next", ["null", "Tree"]))
    assert found(record("R", ("tree", "a.Tree")), tree) == {
        (): None,
        ("tree",): None,
        ("tree", "at"): MICROS,
    }


def test_an_invalid_schema() -> None:
    with pytest.raises(SchemaError):
        found({"type": "nothing"})


def test_paths_as_errors_name_them() -> None:
    assert shown(("after", "lines", "[]", "at")) == "after.lines[].at"
