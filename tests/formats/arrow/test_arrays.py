"""Arrays with other nulls, and of another type with the same layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.arrow.arrays import null_where, with_fields, with_type


@given(st.lists(st.tuples(st.one_of(st.none(), st.text()), st.booleans())))
def test_rows_become_null(rows: list[tuple[str | None, bool]]) -> None:
    values = pa.array([value for value, _ in rows], pa.string())
    is_null = np.array([each for _, each in rows], dtype=np.bool_)
    found = null_where(is_null, values)
    assert found.type == pa.string()
    assert found.to_pylist() == [None if each else value for value, each in rows]


def test_an_array_takes_the_names_and_nulls_of_another_type() -> None:
    strict = pa.struct(
        [pa.field("list", pa.list_(pa.field("x", pa.int32(), nullable=False)), nullable=False)]
    )
    loose = pa.struct([pa.field("list", pa.list_(pa.field("element", pa.int32())))])
    rows: list[Any] = [{"list": [1, 2]}, None, {"list": []}]
    found = with_type(pa.array(rows, strict), loose)
    assert found.type.equals(loose)
    found.validate(full=True)
    assert found.to_pylist() == rows
    assert with_type(found, loose) is found


def test_some_fields_of_structs() -> None:
    rows: list[Any] = [{"a": 1, "b": "x", "c": None}, None, {"a": None, "b": None, "c": 2.5}]
    structs = pa.array(rows, pa.struct({"a": pa.int8(), "b": pa.string(), "c": pa.float32()}))
    to = pa.struct({"c": pa.float32(), "a": pa.int8()})
    found = with_fields(structs.slice(1), to)
    assert found.type == to
    found.validate(full=True)
    assert found.to_pylist() == [None, {"c": 2.5, "a": None}]
