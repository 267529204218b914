"""The values of responses: those of Confluent and Apicurio are read, and nonsense is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.registry.responses import (
    ErrorBody,
    Parse,
    SchemaBody,
    VersionBody,
    parse_json,
    read_compatibility,
    read_error,
    read_id,
    read_schema,
    read_version,
    read_versions,
)
from kafka_formats.registry.schemas import Reference

SCHEMA = {"schema": '"long"'}
VERSION = SCHEMA | {"subject": "s", "version": 1, "id": 7}
REFERENCE = {"name": "n", "subject": "s", "version": 2}
READERS: list[Parse[Any]] = [read_schema, read_version, read_id, read_versions, read_compatibility]


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (SCHEMA, SchemaBody("AVRO", '"long"', ())),
        (SCHEMA | {"schemaType": None, "references": None}, SchemaBody("AVRO", '"long"', ())),
        (SCHEMA | {"schemaType": "PROTOBUF"}, SchemaBody("PROTOBUF", '"long"', ())),
        (SCHEMA | {"schemaType": "json", "maxId": 9}, SchemaBody("JSON", '"long"', ())),
        (SCHEMA | {"schemaType": "xml\n"}, SchemaBody("XML?", '"long"', ())),
        (
            SCHEMA | {"references": [REFERENCE]},
            SchemaBody("AVRO", '"long"', (Reference("n", "s", 2),)),
        ),
    ],
    ids=["Avro", "nulls", "Protobuf", "lower case", "another", "references"],
)
def test_schemas(value: Any, schema: SchemaBody) -> None:
    assert read_schema(value) == schema
    version = value | {"subject": "s", "version": 1, "id": 7}
    assert read_version(version) == VersionBody("s", 1, 7, schema)


@pytest.mark.parametrize(
    ("read", "value", "reason"),
    [
        (read_schema, {}, "'schema' is not a text"),
        (read_schema, {"schema": {}}, "'schema' is not a text"),
        (read_schema, {"schema": "\ud800"}, "'schema' has a character that UTF-8 cannot encode"),
        (read_schema, SCHEMA | {"schemaType": 1}, "'schemaType' is not a text"),
        (read_schema, SCHEMA | {"references": {"a": 1}}, "'references' is not a list"),
        (read_schema, SCHEMA | {"references": [REFERENCE] * 1001}, "has more than 1000 items"),
        (read_schema, SCHEMA | {"references": ["n"]}, "not a JSON object"),
        (
            read_schema,
            SCHEMA | {"references": [REFERENCE | {"version": 0}]},
            "'version' is not a number",
        ),
        (
            read_schema,
            SCHEMA | {"references": [REFERENCE | {"name": None}]},
            "'name' is not a text",
        ),
        (read_schema, None, "not a JSON object"),
        (read_version, SCHEMA, "'subject' is not a text"),
        (read_version, VERSION | {"version": True}, "'version' is not a number"),
        (read_version, VERSION | {"version": 1.0}, "'version' is not a number"),
        (read_version, VERSION | {"id": -1}, "'id' is not a number from 0 to 2147483647"),
        (read_id, {"id": 2**31}, "'id' is not a number"),
        (read_id, {"id": "7"}, "'id' is not a number"),
        (read_id, [7], "not a JSON object"),
        (read_versions, {}, "not a list"),
        (read_versions, [1, "2"], "'version' is not a number"),
        (read_compatibility, {}, "'is_compatible' is not true or false"),
        (read_compatibility, {"is_compatible": "true"}, "'is_compatible' is not true or false"),
    ],
)
def test_nonsense_is_refused(read: Parse[Any], value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read(value)


def test_ids_and_versions() -> None:
    assert read_id({"id": 0, "guid": "x"}) == 0
    assert read_versions([1, 3]) == [1, 3]
    assert read_versions([]) == []


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ({"is_compatible": True, "messages": ["ignored"]}, []),
        ({"is_compatible": False, "messages": ["a", 1, "b"]}, ["a", "b"]),
        ({"is_compatible": False}, ["the registry says that it is incompatible, without a reason"]),
        (
            {"is_compatible": False, "messages": "a"},
            ["the registry says that it is incompatible, without a reason"],
        ),
    ],
)
def test_compatibility(value: Any, messages: list[str]) -> None:
    assert read_compatibility(value) == messages


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"{", b"\xff", b"[" * 100_000],
    ids=["empty", "HTML", "cut", "not UTF-8", "nested"],
)
def test_bodies_that_are_not_json(body: bytes) -> None:
    with pytest.raises(ValueError, match="it is not JSON"):
        parse_json(body)
    assert read_error(body) == ErrorBody(0, "")


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"error_code": 40401, "message": "no"}, ErrorBody(40401, "no")),
        ({"error_code": "40401", "message": ["no"]}, ErrorBody(0, "")),
        ({"error_code": True}, ErrorBody(0, "")),
        ({"error_code": -1, "message": "no"}, ErrorBody(0, "no")),
        ([], ErrorBody(0, "")),
    ],
)
def test_errors(value: Any, error: ErrorBody) -> None:
    assert read_error(json.dumps(value).encode()) == error


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*VERSION, *REFERENCE, "schemaType", "references"]), inner, max_size=6
        )
    ),
    max_leaves=10,
)


@given(JSON_VALUES, st.sampled_from(READERS))
def test_any_json_is_read_or_refused(value: Any, read: Parse[Any]) -> None:
    try:
        read(value)
    except ValueError as error:
        assert "it" in str(error) or "'" in str(error)


@given(st.binary(max_size=50))
def test_any_bytes_are_an_error_without_a_code_or_with_one(body: bytes) -> None:
    assert read_error(body).code >= 0
