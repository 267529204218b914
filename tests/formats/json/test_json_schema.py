"""What parts of JSON Schemas are read as: nothing of a value is lost, whatever the schema."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import SchemaError
from kafka_formats.json.ddl import parse_ddl
from kafka_formats.json.decoder import decoder_for
from kafka_formats.json.derive import derive_schema
from kafka_formats.json.json_schema import title_of
from kafka_formats.json.schema import check_part, check_written, type_of
from kafka_formats.payload.schema_text import SchemaText

TEXT: dict[str, Any] = {"type": "string"}
WHOLE = {"type": "integer"}
NUMBER = {"type": "number"}
NULL = {"type": "null"}
PERSON: dict[str, Any] = {"type": "object", "properties": {"name": TEXT}}
IS_PERSON: dict[str, Any] = {"$ref": "#/definitions/Person"}


def text_of(schema: Any) -> SchemaText:
    return SchemaText(json.dumps(schema))


def read(schema: Any, value: Any) -> Any:
    """A payload, as its schema's type has it."""
    decoder = decoder_for(type_of(text_of(schema)))
    values, is_broken = decoder.decode(pa.array([json.dumps(value).encode()]), 0)
    assert not is_broken[0]
    return values[0].as_py()


# What no type of Spark's can hold but a text, in the kinds of ways that there are.
@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "object"},
        {"type": "object", "additionalProperties": True},
        {"type": "object", "additionalProperties": {}},
        {"type": "object", "additionalProperties": {"type": ["integer", "string"]}},
        {"type": "object", "properties": {}},
        {"type": "object", "required": ["a"], "minProperties": 1},
        {"patternProperties": {"^a": WHOLE, "^b": TEXT}},
        {"patternProperties": {"^a": {}}, "additionalProperties": False},
        {"type": "object", "patternProperties": {"^b": TEXT}, "additionalProperties": WHOLE},
        {"properties": {"a": WHOLE}, "additionalProperties": TEXT},
        {"properties": {"a": WHOLE}, "patternProperties": {"^b": TEXT}},
        {"properties": {"a": WHOLE}, "unevaluatedProperties": TEXT},
        {"anyOf": [PERSON, {"type": "object"}]},
        {"anyOf": [{"properties": {"a": WHOLE}}, {"type": "array", "items": WHOLE}]},
        {"const": {"a": 1, "b": "x"}},
        {"enum": [{"a": 1, "b": "x"}, 7]},
        {"type": ["object", "array", "string", "number", "boolean", "null"]},
        {"not": {"type": "array"}},
    ],
)
def test_an_object_without_types_is_read_as_its_text(schema: Any) -> None:
    value = {"a": 1, "b": "x", "c": None, "d": [{"e": 1.5}]}
    assert json.loads(read(schema, value)) == value
    assert json.loads(read({"properties": {"field": schema}}, {"field": value})["field"]) == value


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "array", "items": {}},
        {"type": "array", "items": True},
        {"items": {"type": ["string", "integer"]}},
        {"items": [WHOLE, TEXT], "additionalItems": False},
        {"prefixItems": [WHOLE, TEXT], "items": False},
        {"prefixItems": [WHOLE, WHOLE]},
        {"prefixItems": [WHOLE], "items": TEXT},
        {"items": [WHOLE], "additionalItems": TEXT},
        {"prefixItems": [WHOLE], "unevaluatedItems": TEXT},
        {"const": [1, "x"]},
        {"anyOf": [{"type": "array", "items": WHOLE}, {"type": "array"}]},
        {"anyOf": [{"type": "array", "items": WHOLE}, {"type": "array", "items": TEXT}]},
    ],
)
def test_an_array_without_one_type_is_read_as_its_text(schema: Any) -> None:
    assert json.loads(read(schema, [1, "x", None, {}])) == [1, "x", None, {}]


@pytest.mark.parametrize(
    ("schema", "ddl"),
    [
        ({"patternProperties": {"^x": WHOLE}, "additionalProperties": False}, "map<string,bigint>"),
        ({"patternProperties": {"^x": WHOLE, "^y": NUMBER}}, "map<string,double>"),
        ({"unevaluatedProperties": TEXT, "type": "object"}, "map<string,string>"),
        ({"additionalProperties": {"type": "object"}}, "map<string,string>"),
        ({"properties": {"en": TEXT}, "additionalProperties": TEXT}, "map<string,string>"),
        ({"additionalProperties": PERSON}, "map<string,struct<name string>>"),
        ({"properties": {"a": WHOLE}, "additionalProperties": True}, "struct<a bigint>"),
        ({"properties": {"a": WHOLE}, "additionalProperties": False}, "struct<a bigint>"),
        ({"items": [NUMBER, WHOLE], "additionalItems": False}, "array<double>"),
        ({"prefixItems": [NUMBER, NUMBER], "maxItems": 2}, "array<double>"),
        ({"prefixItems": [TEXT], "items": TEXT}, "array<string>"),
        ({"type": "array", "items": NULL}, "array<string>"),
        ({"type": ["integer", "number", "null"]}, "double"),
        ({"enum": [1, 2.5, None]}, "double"),
        ({"enum": ["a", None]}, "string"),
        ({"const": True}, "boolean"),
        (NULL, "string"),
        (False, "string"),
        ({"allOf": [WHOLE, TEXT]}, "string"),
        ({"type": "string", "anyOf": [{"pattern": "a"}, {"format": "date"}]}, "string"),
        ({"type": "integer", "oneOf": [{"minimum": 3}, {"const": 1}]}, "bigint"),
        ({"type": "number", "oneOf": [{"const": 1}, {"const": 2}]}, "double"),
        ({"oneOf": [{"type": "integer", "connect.type": "int8"}, NULL]}, "tinyint"),
        ({"oneOf": [{"type": "integer", "connect.type": "int8"}, WHOLE]}, "bigint"),
        ({"type": "integer", "connect.type": ["int8"]}, "bigint"),
        ({"anyOf": [WHOLE, {"minimum": 2}]}, "string"),
        ({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": WHOLE}}, "bigint"),
        ({"properties": {"a": {"type": ["null", "integer"]}}}, "a bigint"),
        ({"properties": {"a": {"oneOf": [NULL, TEXT]}}}, "a string"),
        ({"properties": {"a": {"type": "integer", "connect.type": "int8"}}}, "a tinyint"),
        ({"properties": {"a": {"enum": ["x", "y"]}, "b": {"const": 1}}}, "a string, b bigint"),
        ({"properties": {"a": {"items": TEXT}}}, "a array<string>"),
        ({"type": "object", "additionalProperties": NUMBER}, "map<string,double>"),
        ({"type": "object"}, "string"),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"type": "boolean"}}}}},
            "a boolean",
        ),
    ],
)
def test_what_has_one_type_has_it(schema: Any, ddl: str) -> None:
    assert type_of(text_of(schema)) == parse_ddl(ddl)


def test_branches_that_only_constrain_leave_a_struct_as_it_is() -> None:
    branches = [{"required": ["name"]}, {"properties": {"name": {"pattern": "^a"}}}]
    assert type_of(text_of(PERSON | {"anyOf": branches})) == parse_ddl("name string")
    assert type_of(text_of({"properties": {"name": TEXT}, "oneOf": branches})) == parse_ddl(
        "name string"
    )


def test_a_struct_has_the_fields_of_all_branches() -> None:
    created = {"properties": {"kind": {"const": "created"}, "at": WHOLE}}
    deleted = {"properties": {"kind": {"const": "deleted"}, "by": TEXT, "at": NUMBER}}
    wanted = parse_ddl("kind string, at double, by string")
    assert type_of(text_of({"type": "object", "oneOf": [created, deleted]})) == wanted
    conditional = {"properties": {"kind": TEXT}, "if": {"required": ["at"]}}
    assert type_of(text_of(conditional | {"then": created, "else": deleted})) == wanted
    dependent = {"properties": {"kind": TEXT, "at": NUMBER}, "dependentSchemas": {"at": deleted}}
    assert type_of(text_of(dependent)) == wanted


def test_all_of_adds_fields_in_order_and_is_not_a_circle() -> None:
    """A type that extends another may have fields of it, and may extend it twice."""
    employee = {
        "type": "object",
        "properties": {"manager": IS_PERSON, "office": TEXT},
        "allOf": [IS_PERSON, {"properties": {"age": WHOLE}}],
        "definitions": {"Person": PERSON},
    }
    assert type_of(text_of(employee)) == parse_ddl(
        "name string, age bigint, manager struct<name string>, office string"
    )
    mixin = {"allOf": [IS_PERSON], "properties": {"team": TEXT}}
    diamond = {
        "allOf": [IS_PERSON, {"$ref": "#/definitions/Mixin"}],
        "definitions": {"Person": PERSON, "Mixin": mixin},
    }
    assert type_of(text_of(diamond)) == parse_ddl("name string, team string")


def test_the_index_of_connect_orders_fields() -> None:
    first, second = {"connect.index": 0}, {"connect.index": 1} | IS_PERSON
    fields = {"a": second, "b": first, "c": {"connect.index": "x"}}
    schema = {"properties": fields, "definitions": {"Person": PERSON}}
    assert [field.name for field in type_of(text_of(schema))] == ["b", "c", "a"]


NODE: dict[str, Any] = {
    "type": "object",
    "properties": {"value": WHOLE, "next": {"anyOf": [NULL, {"$ref": "#"}]}},
}


IS_NODE: dict[str, Any] = {"$ref": "#/$defs/N"}


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (NODE, "the field 'next': "),
        ({"properties": {"list": IS_NODE}, "$defs": {"N": {"items": IS_NODE}}}, "'list\\[]': "),
        (IS_NODE | {"$defs": {"N": {"additionalProperties": IS_NODE}}}, "the field '{}': "),
        ({"properties": {"a": {"allOf": [{"$ref": "#"}]}}}, "the field 'a': "),
        ({"properties": {"a": IS_NODE}, "$defs": {"N": {"anyOf": [TEXT, IS_NODE]}}}, "'a': "),
        (IS_NODE | {"$defs": {"N": {"allOf": [IS_NODE]}}}, ""),
    ],
)
def test_a_type_that_contains_itself_is_refused_where_it_does(schema: Any, place: str) -> None:
    with pytest.raises(SchemaError, match=f"{place}the type contains itself") as refused:
        type_of(text_of(schema))
    assert len(str(refused.value)) < 200


def test_a_read_need_not_have_the_part_that_is_not_supported() -> None:
    schema = text_of(NODE | {"allOf": [{"properties": {"odd": {"$dynamicRef": "#x"}}}]})
    check_part(schema, parse_ddl("value bigint"))
    check_part(schema, parse_ddl("value bigint, next string, odd string"))
    check_part(schema, parse_ddl("next struct<value bigint, next struct<value bigint>>"))
    with pytest.raises(SchemaError, match="the field 'value' has the type int64, not string"):
        check_part(schema, parse_ddl("value string"))
    with pytest.raises(SchemaError, match="the field 'odd': \\$dynamicRef is not supported"):
        check_part(schema, parse_ddl("odd bigint"))
    with pytest.raises(SchemaError, match=r"there is no field 'next.other'"):
        check_part(schema, parse_ddl("next struct<other bigint>"))


def test_the_part_that_contains_itself_is_read_as_its_text() -> None:
    tree = {"properties": {"id": WHOLE, "next": {"anyOf": [{"$ref": "#"}]}}}
    part = parse_ddl("id bigint, next string")
    check_part(text_of(tree), part)
    payload = b'{"id":1,"next":{"id":2,"next":{"id":3}}}'
    values, is_broken = decoder_for(part).decode(pa.array([payload]), 0)
    assert not is_broken[0]
    assert values[0].as_py() == {"id": 1, "next": '{"id":2,"next":{"id":3}}'}


def test_what_the_schema_leaves_open_is_read_as_any_type_that_fits() -> None:
    fields = {"any": {}, "some": {"type": "object"}, "list": {"type": "array"}}
    schema = text_of({"properties": fields})
    check_part(schema, parse_ddl("any int, some map<string,double>, list array<array<date>>"))
    check_part(schema, parse_ddl("any array<int>, some struct<a int>, list string"))
    with pytest.raises(SchemaError, match="'some' has values of the kinds object, and not int32"):
        check_part(schema, parse_ddl("some int"))
    with pytest.raises(SchemaError, match=r"the field 'some.a' has the type duration"):
        check_part(schema, pa.struct([("some", pa.struct([("a", pa.duration("us"))]))]))
    not_null = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    with pytest.raises(SchemaError, match="the field 'some' can be null"):
        check_part(schema, pa.struct([("some", not_null)]))
    named = {"properties": {"a": WHOLE}, "additionalProperties": TEXT}
    check_part(text_of(named), parse_ddl("a bigint"))


def test_what_the_schema_leaves_open_is_written_as_any_type_that_fits() -> None:
    fields = {"any": {}, "some": {"type": "object"}, "list": {"type": "array"}}
    schema = text_of({"properties": fields})
    check_written(schema, parse_ddl("any int, some map<string,double>, list array<array<date>>"))
    check_written(schema, pa.struct([("any", pa.null()), ("some", pa.null())]))
    with pytest.raises(SchemaError, match="'some' has values of the kinds object, and not string"):
        check_written(schema, parse_ddl("some string"))


@pytest.mark.parametrize(
    ("kinds", "fits", "refused"),
    [
        (["boolean", "integer"], "boolean bigint decimal(5,0)", "double decimal(5,1) string"),
        (["boolean", "number"], "boolean bigint double decimal(5,1)", "string date"),
        (["string", "integer"], "string date binary int", "float array<int> boolean"),
    ],
)
def test_what_is_written_has_only_kinds_of_the_schema(
    kinds: list[str], fits: str, refused: str
) -> None:
    schema = text_of({"properties": {"a": {"type": kinds}}})
    for each in fits.split():
        check_written(schema, parse_ddl(f"a {each}"))
    for each in refused.split():
        with pytest.raises(SchemaError, match="'a' has values of the kinds"):
            check_written(schema, parse_ddl(f"a {each}"))
    # A read finds out for each payload.
    check_part(schema, parse_ddl("a bigint"))
    check_part(schema, parse_ddl("a string"))
    if "integer" in kinds:
        check_part(schema, parse_ddl("a double"))


def test_columns_of_nulls_are_read_as_they_were_written() -> None:
    written = pa.struct([("n", pa.null()), ("l", pa.list_(pa.null())), ("s", pa.struct([]))])
    schema = SchemaText(derive_schema(written))
    check_written(schema, written)
    assert type_of(schema) == parse_ddl("n string, l array<string>, s string")


def test_schemas_of_any_depth_are_read_or_refused() -> None:
    deep: Any = TEXT
    for _ in range(90):
        deep = {"properties": {"a": deep}}
    assert pa.types.is_struct(type_of(text_of(deep)))
    for _ in range(20):
        deep = {"properties": {"a": deep}}
    with pytest.raises(SchemaError, match="it is deeper than 100 types"):
        type_of(text_of(deep))
    for word in ("allOf", "anyOf"):
        deep = TEXT
        for _ in range(150):
            deep = {word: [deep]}
        with pytest.raises(SchemaError, match="more than 64 schemas"):
            type_of(text_of(deep))
    for text in ('{"not":' * 100_000, '{"items":' * 900 + "{}" + "}" * 900, '{"a":[' * 100_000):
        with pytest.raises(SchemaError, match="deep"):
            type_of(SchemaText(text))


def test_a_chain_of_diamonds_is_read_at_once() -> None:
    links = {
        f"A{n}": {"allOf": [{"$ref": f"#/$defs/A{n + 1}"}, {"$ref": f"#/$defs/A{n + 1}"}]}
        for n in range(20)
    }
    chain = {"$ref": "#/$defs/A0", "$defs": {**links, "A20": PERSON}}
    assert type_of(text_of(chain)) == parse_ddl("name string")
    fields = {
        f"B{n}": {"properties": {name: {"$ref": f"#/$defs/B{n + 1}"} for name in "ab"}}
        for n in range(12)
    }
    wide = {"$ref": "#/$defs/B0", "$defs": {**fields, "B12": PERSON}}
    assert type_of(text_of(wide)).num_fields == 2


def test_the_title() -> None:
    assert title_of(SchemaText('{"title": "Order"}')) == "Order"
    assert title_of(SchemaText("true")) == ""
