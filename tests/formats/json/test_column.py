"""`tests/integration/test_functions.py` has the texts read and written by Spark."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.json.column import check_type, from_texts, to_texts
from kafka_formats.json.ddl import parse_ddl
from tests.formats.times import as_numbers

_DAY = 86_400
_FIRST = int(datetime(1, 1, 1, tzinfo=timezone.utc).timestamp())
_LAST = int(datetime(9999, 12, 31, tzinfo=timezone.utc).timestamp())
_MICROS = st.integers(_FIRST * 1_000_000, _LAST * 1_000_000 + 999_999)
_LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-(2**7), 2**7 - 1),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "string": st.text(max_size=5),
    "binary": st.binary(max_size=5),
    "date": st.integers(_FIRST // _DAY, _LAST // _DAY),
    "timestamp": _MICROS,
    "timestamp_ntz": _MICROS,
    "decimal(38,10)": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-10")),
}


@st.composite
def types_and_values(draw: st.DrawFn) -> tuple[pa.DataType, list[Any]]:
    name, values = draw(_typed(depth=2))
    count = draw(st.sampled_from([1, 5, 40]))
    rows = draw(st.lists(st.none() | values, min_size=count, max_size=count))
    return parse_ddl(name), rows


@st.composite
def _typed(draw: st.DrawFn, depth: int) -> tuple[str, st.SearchStrategy[Any]]:
    kind = draw(st.sampled_from(["leaf", "array", "map", "struct"])) if depth else "leaf"
    if kind == "leaf":
        leaf = draw(st.sampled_from(sorted(_LEAVES)))
        return leaf, _LEAVES[leaf]
    name, values = draw(_typed(depth - 1))
    values = st.none() | values
    if kind == "array":
        return f"array<{name}>", st.lists(values, max_size=3)
    if kind == "map":
        keys = st.text(max_size=3)
        return f"map<string,{name}>", st.dictionaries(keys, values, max_size=3).map(
            lambda found: list(found.items())
        )
    other, others = draw(_typed(depth - 1))
    fields = {"a": values, "x y": st.none() | others}
    return f"struct<a:{name},`x y`:{other}>", st.fixed_dictionaries(fields)


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
