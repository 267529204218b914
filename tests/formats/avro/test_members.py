"""The types of unions' members, by their paths."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_formats.avro.members import types_of_members
from kafka_formats.avro.schema import parsed
from kafka_formats.payload.schema_text import SchemaText


def record(name: str, **fields: Any) -> dict[str, Any]:
    listed = [{"name": each, "type": type_} for each, type_ in fields.items()]
    return {"type": "record", "name": name, "fields": listed}


AB = ["A", "string"]
UNION = ["null", record("A", x="int"), record("B", y=["int", "string"])]


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("int", {}),
        (record("R", a="int", b=["null", "int"], c=["int", "long"]), {}),
        (record("R", u=UNION), {"u": ["A", "B"], "u.member1.y": ["int", "string"]}),
        (UNION, {"": ["A", "B"], "member1.y": ["int", "string"]}),
        (
            record("R", a=record("A"), b={"type": "array", "items": {"type": "map", "values": AB}}),
            {"b": ["A", "string"]},
        ),
        (record("R", a=["null", record("N", u=["string", "bytes"])]), {"a.u": ["string", "bytes"]}),
    ],
)
def test_each_union_of_several_types_is_listed(schema: Any, paths: dict[str, list[str]]) -> None:
    assert dict(types_of_members(parsed(SchemaText(json.dumps(schema))))) == paths


def test_the_order_is_that_of_the_schema() -> None:
    turned = ["null", *reversed(UNION[1:])]
    paths = dict(types_of_members(parsed(SchemaText(json.dumps(record("R", u=turned))))))
    assert paths["u"] == ["B", "A"]
