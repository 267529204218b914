"""The placeholder for values that are not available, in each form that Debezium writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_formats.debezium.placeholder import Placeholder, names_of, without

MARK = "__debezium_unavailable_value"
# `UUID.nameUUIDFromBytes` of Java.
UUID_OF_MARK = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"


def list_of(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind))


@pytest.mark.parametrize(
    ("kind", "mark", "other"),
    [
        (pa.string(), MARK, MARK[1:]),
        (pa.string(), "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", ""),
        (pa.string(), f'{{"{MARK}":"{MARK}"}}', "{}"),
        (pa.binary(), MARK.encode(), b""),
        (list_of(pa.string()), [MARK], [MARK, MARK]),
        (list_of(pa.string()), [MARK], [None]),
        (list_of(pa.binary()), [MARK.encode()], []),
        (list_of(pa.int32()), [*MARK.encode()], [*MARK.encode()][1:]),
        (list_of(pa.int64()), [*MARK.encode()], [*range(len(MARK))]),
        (pa.map_(pa.string(), pa.string()), [(MARK, MARK)], [(MARK, "x")]),
        (pa.map_(pa.string(), pa.string()), [(MARK, MARK)], []),
    ],
)
def test_forms_of_the_placeholder(kind: pa.DataType, mark: Any, other: Any) -> None:
    column = pa.array([other, mark, None, other, mark], kind)
    found = Placeholder(MARK.encode()).is_in(column)
    assert found.tolist() == [False, True, False, False, True]
    assert Placeholder(MARK.encode()).is_in(column.slice(1, 2)).tolist() == [True, False]
    assert not Placeholder(b"other").is_in(column).any()


def test_other_types_have_no_placeholder() -> None:
    for kind in (
        pa.int64(),
        pa.date32(),
        list_of(list_of(pa.string())),
        pa.struct([("a", pa.int8())]),
    ):
        assert not Placeholder(MARK.encode()).is_in(pa.nulls(2, kind)).any()


def test_arrays_of_uuids_and_bytes_beyond_127() -> None:
    column = pa.array([[UUID_OF_MARK], ["x"]], list_of(pa.string()))
    assert Placeholder(MARK.encode()).is_in(column).tolist() == [True, False]
    assert Placeholder(b"\xff\x01").is_in(pa.array([[-1, 1], [255, 1]])).tolist() == [True, False]


def test_names_and_nulls() -> None:
    columns = [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
    masks = [np.array([False, True, True]), np.array([False, False, True])]
    assert [each.to_pylist() for each in without(columns, masks)] == [
        [1, None, None],
        ["a", "b", None],
    ]
    names = names_of(["x", "y"], masks, 3)
    names.validate(full=True)
    assert names.to_pylist() == [[], ["x"], ["x", "y"]]
    assert names_of([], [], 2).to_pylist() == [[], []]
    assert names_of(["x"], [np.array([False])], 1).to_pylist() == [[]]
