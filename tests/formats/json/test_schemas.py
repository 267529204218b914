"""Types of JSON Schemas and of DDLs, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import SchemaError
from kafka_formats.json.ddl import is_ddl, parse_ddl, to_ddl
from kafka_formats.json.derive import derive_schema
from kafka_formats.json.schema import check_written, type_of
from kafka_formats.payload.schema_text import SchemaText


def found(schema: Any, *dependencies: tuple[str, Any]) -> pa.DataType:
    texts = tuple((name, json.dumps(each)) for name, each in dependencies)
    return type_of(SchemaText(json.dumps(schema), texts))


def test_references_lead_to_other_schemas() -> None:
    other = {"$id": "http://x/other.json", "definitions": {"A": {"type": "boolean"}}}
    schema = {"properties": {"a": {"$ref": "other.json#/definitions/A"}}}
    assert found(schema, ("other.json", other)) == parse_ddl("a boolean")
    with pytest.raises(SchemaError, match=r"field 'a': there is no schema 'other.json#"):
        found(schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"properties": {"a": {"$ref": "#"}}}, "the field 'a': the type contains itself"),
        ({"properties": {"a": {"$dynamicRef": "#b"}}}, "'a': \\$dynamicRef is not supported"),
        ({"properties": {"a": {"$recursiveRef": "#"}}}, "'a': \\$recursiveRef is not supported"),
        (
            {"properties": {"a": {"type": "any"}}},
            "the field 'a': the type 'any' is not one of null",
        ),
        ({"properties": {"a": 5}}, "the field 'a': it has a part that is not a schema"),
        ({"properties": []}, "properties must be an object"),
        ({"allOf": {}}, "allOf must be a list"),
        ({"properties": {"a": {"$ref": 1}}}, "the field 'a': \\$ref must be a string"),
        ({"$id": "http://x/", "$ref": "http://[x/#a"}, "'http://\\[x/' is not a URI"),
        ({"$ref": "http://[x/#a"}, "there is no schema"),
        ({"$ref": "#/none"}, "there is nothing at '#/none'"),
        ({"allOf": [{}], "$ref": "#/allOf/1"}, "there is nothing at '#/allOf/1'"),
        ({"$ref": "#none"}, "there is nothing named '#none'"),
        ({"$ref": "#/definitions/A", "definitions": {"A": {"$ref": "#"}}}, "contains itself"),
        ([], "not a JSON Schema|not valid|not DDL"),
    ],
)
def test_fault_62_what_has_no_type_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        found(schema)


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "a int,", "a int b int", "a intt", "array<int", "map<int,int>", "a int, a int"),
        *("order.json", "/path/to/order.avsc", "decimal(39)", "a b c d"),
    ],
)
def test_what_is_no_ddl(text: str) -> None:
    assert not is_ddl(text)


def test_a_ddl_that_is_too_deep_is_not_taken_for_a_path() -> None:
    deep = "array<" * 200
    assert is_ddl(deep)
    with pytest.raises(SchemaError, match="it is deeper than 100 types"):
        parse_ddl(deep)


SIMPLE = st.sampled_from(
    [
        *(pa.bool_(), pa.int8(), pa.int64(), pa.float32(), pa.string(), pa.binary(), pa.date32()),
        *(pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.decimal128(5, 2)),
    ]
)
TYPES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        inner.map(lambda each: pa.list_(pa.field("element", each))),
        inner.map(lambda each: pa.map_(pa.string(), pa.field("value", each))),
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(
            lambda fields: pa.struct([*fields.items()])
        ),
    ),
    max_leaves=5,
)


@given(TYPES)
def test_the_ddl_of_a_type(data_type: pa.DataType) -> None:
    assert parse_ddl(to_ddl(data_type)) == data_type


@pytest.mark.parametrize(
    ("data_type", "message"),
    [
        (pa.struct([("a", pa.list_(pa.uint8()))]), r"the field 'a\[\]' has the type uint8"),
        (pa.map_(pa.int32(), pa.int32()), "the payload has the type map<int32, int32>"),
    ],
)
def test_a_type_that_json_has_not(data_type: pa.DataType, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        to_ddl(data_type)


def test_a_written_type_is_checked() -> None:
    schema = SchemaText("a bigint, b struct<c string, d double>")
    check_written(schema, parse_ddl("a int, b struct<c date, d decimal(5,2)>"))
    with pytest.raises(SchemaError, match="the field 'a' has the type int64 in the schema"):
        check_written(schema, parse_ddl("a string"))


@pytest.mark.parametrize(
    ("known", "fits", "refused"),
    [
        ("decimal(10,2)", "decimal(10,2) decimal(9,1) decimal(8,0) smallint", "decimal(10,3) int"),
        ("decimal(38,2)", "decimal(38,2) bigint", "decimal(38,1) decimal(38,3) double"),
        ("bigint", "tinyint bigint", "decimal(5,0) float"),
        ("float", "float int decimal(38,10)", "double"),
        ("double", "float double bigint decimal(38,10)", "string"),
    ],
)
def test_a_narrower_number_is_written_and_a_wider_one_is_not(
    known: str, fits: str, refused: str
) -> None:
    schema = SchemaText(f"a {known}")
    for each in fits.split():
        check_written(schema, parse_ddl(f"a {each}"))
    for each in refused.split():
        with pytest.raises(SchemaError, match=r"the field 'a' has the type .* in the schema"):
            check_written(schema, parse_ddl(f"a {each}"))


def test_a_derived_schema_fits_its_column() -> None:
    written = parse_ddl(
        "a tinyint, b decimal(9,2), c binary, d date, e timestamp, f map<string,array<float>>, "
        "g struct<h boolean>"
    )
    derived = SchemaText(derive_schema(written))
    check_written(derived, written)
    assert type_of(derived) == parse_ddl(
        "a tinyint, b decimal(38,2), c binary, d string, e string, f map<string,array<float>>, "
        "g struct<h boolean>"
    )
