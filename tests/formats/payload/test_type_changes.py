"""Fields and types that one type has and another has not."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import ITEMS, VALUES, path_of
from kafka_formats.payload.type_changes import changed_types, new_fields

LEAVES = st.sampled_from([pa.int64(), pa.string(), pa.float64()])
TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda each: pa.map_(pa.string(), each)),
        st.dictionaries(st.sampled_from("abc"), inner).map(
            lambda named: pa.struct([*named.items()])
        ),
    ),
    max_leaves=8,
)


@given(TYPES)
def test_a_type_has_nothing_new_for_itself(type_: pa.DataType) -> None:
    assert not [*new_fields(type_, type_)]
    assert not [*changed_types(type_, type_)]


def with_one_more(type_: pa.DataType, path: str = "") -> Iterator[tuple[str, pa.DataType]]:
    """The type with one field more, in each of its structs: the path of the field, and the type."""
    if pa.types.is_list(type_):
        for inner, each in with_one_more(type_.value_type, path_of(path, ITEMS)):
            yield inner, pa.list_(each)
    elif pa.types.is_map(type_):
        for inner, each in with_one_more(type_.item_type, path_of(path, VALUES)):
            yield inner, pa.map_(pa.string(), each)
    elif pa.types.is_struct(type_):
        fields = [*type_]
        yield path_of(path, "more"), pa.struct([*fields, pa.field("more", pa.int8())])
        for number, field in enumerate(fields):
            for inner, each in with_one_more(field.type, path_of(path, field.name)):
                changed = field.with_type(each)
                yield inner, pa.struct([*fields[:number], changed, *fields[number + 1 :]])


@given(TYPES)
def test_each_new_field_is_found(type_: pa.DataType) -> None:
    for path, written in with_one_more(type_):
        assert [*new_fields(written, type_)] == [(path, pa.int8())]
        assert not [*new_fields(type_, written)]
        assert not [*changed_types(type_, written)]
