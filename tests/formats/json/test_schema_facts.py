"""Random schemas, with branches and references: nothing that they say something of is lost.

`jsonschema` tells which instances are valid. What is skipped must be something that the schema
says nothing of: the instance is still valid with any other value there.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from kafka_formats.errors import SchemaError
from kafka_formats.json.schema import type_of
from kafka_formats.payload.schema_text import SchemaText
from tests.formats.json.make_official_suite import DIALECTS
from tests.formats.json.test_official_suite import Case, outcomes

Schemas = st.SearchStrategy[Any]
NAMES = st.sampled_from("abc")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, "", "a", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
SIMPLE = st.one_of(
    st.booleans(),
    st.just({}),
    TYPES.map(lambda each: {"type": each}),
    st.lists(TYPES, min_size=1, max_size=3, unique=True).map(lambda each: {"type": each}),
    VALUES.map(lambda each: {"const": each}),
    st.lists(VALUES, min_size=1, max_size=3).map(lambda each: {"enum": each}),
    st.sampled_from(
        [
            *({"minimum": 0}, {"required": ["a"]}, {"maxItems": 1}, {"minLength": 1}),
            *({"type": "object"}, {"type": "array"}, {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}),
        ]
    ),
)


def words(inner: Schemas) -> Schemas:
    """Schemas with some words that have others in them."""
    several = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(NAMES, inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", ["object", "null"], ["array", "string"]]),
            "properties": by_name,
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, max_size=2),
            "items": inner,
            "prefixItems": several,
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "if": inner,
            "then": inner,
            "else": inner,
            "not": inner,
            "dependentSchemas": by_name,
            "unevaluatedProperties": inner,
            "unevaluatedItems": inner,
        },
    )


SCHEMAS = st.recursive(SIMPLE, lambda inner: words(inner) | inner, max_leaves=8)
OTHERS: tuple[Any, ...] = (None, True, 7, 0.25, "q", [], [7, "q"], {}, {"q": "q"}, {"a": [1.5]})


def skipped(instance: Any, data_type: pa.DataType) -> Iterator[list[Any]]:
    """The paths of what a type skips."""
    if isinstance(instance, dict) and pa.types.is_struct(data_type):
        fields = {field.name: field.type for field in data_type}
        for name, value in instance.items():
            inner = skipped(value, fields[name]) if name in fields else [[]]
            yield from ([name, *path] for path in inner)
    elif isinstance(instance, dict) and pa.types.is_map(data_type):
        for name, value in instance.items():
            yield from ([name, *path] for path in skipped(value, data_type.item_type))
    elif isinstance(instance, list) and pa.types.is_list(data_type):
        for number, value in enumerate(instance):
            yield from ([number, *path] for path in skipped(value, data_type.value_type))


def with_other(instance: Any, path: list[Any], other: Any) -> Any:
    changed = copy.deepcopy(instance)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = other
    return changed


@pytest.mark.no_cover
@pytest.mark.parametrize("draft", ["draft7", "draft2020-12"])
@given(SCHEMAS, SCHEMAS, SCHEMAS, st.lists(VALUES, min_size=5, max_size=15))
def test_nothing_that_a_schema_tells_of_is_lost(
    draft: str, schema: Any, first: Any, second: Any, instances: list[Any]
) -> None:
    whole = {"$schema": DIALECTS[draft], "allOf": [schema], "$defs": {"a": first, "b": second}}
    try:
        data_type = type_of(SchemaText(json.dumps(whole)))
    except SchemaError as error:
        assert "contains itself" in str(error)
        assume(False)
    validator = (Draft7Validator if draft == "draft7" else Draft202012Validator)(whole)
    try:
        valid = [each for each in instances if validator.is_valid(each)]
    except RecursionError:
        # A circle in a word that says nothing of types.
        assume(False)
    for instance, outcome in outcomes(Case("", draft, whole, valid)):
        assert outcome != "lost", (whole, instance, data_type)
        if outcome.startswith("read"):
            for path in skipped(instance, data_type):
                for other in OTHERS:
                    changed = with_other(instance, path, other)
                    assert validator.is_valid(changed), (whole, instance, data_type, path)
