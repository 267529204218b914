"""`tests/integration/test_functions.py` has the texts read and written by Spark."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.json.column import check_type, from_texts, to_texts
from tests.formats.suite.kinds import KINDS
from tests.formats.suite.of_json import JSON_DDL
from tests.formats.suite.test_values import typed
from tests.formats.times import as_numbers

NOT_FINITE = {pa.float32(): st.floats(width=32), pa.float64(): st.floats()}


@st.composite
def types_and_values(draw: st.DrawFn) -> tuple[pa.DataType, list[Any]]:
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    kind = kind._replace(random=NOT_FINITE.get(kind.type, kind.random))
    data_type, values = draw(typed(JSON_DDL, kind))
    count = draw(st.sampled_from([1, 5, 40]))
    return data_type, draw(st.lists(st.none() | values, min_size=count, max_size=count))


@given(types_and_values())
def test_values_are_the_same_after_texts(case: tuple[pa.DataType, list[Any]]) -> None:
    data_type, rows = case
    values = pa.array(rows, data_type)
    check_type(data_type)
    texts = to_texts(values)
    assert texts.null_count == 0
    found = from_texts(texts, data_type)
    assert found.type == data_type
    # Texts, as NaN is not equal to itself.
    assert repr(as_numbers(found)) == repr(as_numbers(values))


def test_a_text_that_does_not_fit_is_an_error() -> None:
    texts = pa.array(['{"value":1}', '{"value":"x"}'])
    with pytest.raises(PayloadError, match="it is a string, not a whole number"):
        from_texts(texts, pa.int64())


def test_what_json_is_not_read_as_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"the field 'a' has the type duration\[us\]"):
        check_type(pa.struct([("a", pa.duration("us"))]))


def test_null_and_not_a_number_differ() -> None:
    found = from_texts(to_texts(pa.array([None, math.nan])), pa.float64())
    assert found.null_count == 1
    assert math.isnan(found[1].as_py())
