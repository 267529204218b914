"""References lead to the schemas that they name, wherever those are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_formats.errors import SchemaError
from kafka_formats.json.schema_documents import SchemaDocuments
from kafka_formats.payload.schema_text import SchemaText

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
FOUND = {"type": "boolean"}


def target(schema: dict[str, Any], reference: str, *dependencies: tuple[str, Any]) -> Any:
    texts = tuple((name, json.dumps(each)) for name, each in dependencies)
    documents = SchemaDocuments(SchemaText(json.dumps(schema), texts))
    return documents.target(reference, documents.root.base).node


@pytest.mark.parametrize(
    ("schema", "reference"),
    [
        ({"definitions": {"A": FOUND}}, "#/definitions/A"),
        ({"$defs": {"a/b": FOUND}}, "#/$defs/a~1b"),
        ({"$defs": {"a~b c": FOUND}}, "#/$defs/a~0b%20c"),
        ({"allOf": [{}, {"items": [FOUND]}]}, "#/allOf/1/items/0"),
        ({"unknown": {"A": FOUND}}, "#/unknown/A"),
        ({"$defs": {"A": FOUND | {"$anchor": "here"}}}, "#here"),
        ({"$defs": {"A": FOUND | {"$dynamicAnchor": "here"}}}, "#here"),
        ({"properties": {"a": {"anyOf": [FOUND | {"$anchor": "here"}]}}}, "#here"),
        ({"definitions": {"A": FOUND | {"$id": "#here"}}}, "#here"),
        ({"definitions": {"A": FOUND | {"id": "#here"}}, "$schema": DRAFT_4}, "#here"),
        ({"definitions": {"A": FOUND | {"$id": "other.json"}}}, "other.json"),
        ({"$id": "http://x/y/a.json", "$defs": {"A": FOUND | {"$id": "b.json"}}}, "b.json"),
        ({"$id": "http://x/y/a.json", "$defs": {"A": FOUND | {"$id": "/b"}}}, "http://x/b"),
        ({"$id": "urn:a:b", "$defs": {"A": FOUND}}, "urn:a:b#/$defs/A"),
        ({"$id": "urn:a:b", "$defs": {"A": FOUND}}, "#/$defs/A"),
    ],
)
def test_a_reference_leads_into_the_schema(schema: dict[str, Any], reference: str) -> None:
    found = target(schema, reference)
    assert found["type"] == "boolean"


def test_a_reference_leads_to_another_schema_by_its_name_or_its_id() -> None:
    other = FOUND | {"$id": "http://x/y.json", "$anchor": "here"}
    for reference in ("my name", "http://x/y.json", "my name#here", "http://x/y.json#here"):
        assert target({}, reference, ("my name", other)) == other


def test_an_id_in_a_value_names_nothing() -> None:
    for word in ("const", "default", "enum", "unknown"):
        with pytest.raises(SchemaError, match="there is no schema"):
            target({word: [{"$id": "http://x/y.json"}]}, "http://x/y.json")


def test_an_id_beside_a_reference_counts_in_newer_drafts_only() -> None:
    schema = {"$defs": {"A": {"$id": "a.json", "$ref": "#/$defs/B"}, "B": FOUND}}
    assert target(schema, "a.json")["$ref"] == "#/$defs/B"
    with pytest.raises(SchemaError, match=r"there is no schema 'a\.json'"):
        target(schema | {"$schema": DRAFT_7}, "a.json")


def test_id_without_a_dollar_is_a_word_of_old_drafts() -> None:
    schema = {"definitions": {"A": FOUND | {"id": "a.json"}}}
    assert target(schema, "a.json") == FOUND | {"id": "a.json"}
    with pytest.raises(SchemaError, match=r"there is no schema 'a\.json'"):
        target(schema | {"$schema": DRAFT_7}, "a.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "the schema is not a JSON Schema"),
        ("{", "the schema is not JSON"),
        ('{"a":' * 100_000, "the schema is nested too deeply"),
    ],
)
def test_what_is_no_schema_is_refused(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        SchemaDocuments(SchemaText(text))
    with pytest.raises(SchemaError, match=message.replace("the schema", "the reference 'a'")):
        SchemaDocuments(SchemaText("{}", (("a", text),)))
