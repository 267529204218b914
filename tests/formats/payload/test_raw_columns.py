"""Raw columns as text and as maps: the same bytes, and of headers with one name the last."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import MalformedRecordError
from kafka_formats.options.settings import Mode
from kafka_formats.payload.raw_columns import CHECKED_TEXT, HEADER_MAPS, raw_as
from kafka_formats.query.query_formats import decoder_of
from kafka_protocol.columnar.arrays.headers import encode_headers
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE

BYTES = st.none() | st.binary(max_size=5) | st.sampled_from([b"\xff", b"\xed\xa0\x80", b"\x00"])
HEADERS = st.none() | st.lists(
    st.fixed_dictionaries({"key": st.sampled_from(["a", "b", "", "é"]), "value": BYTES}), max_size=5
)


def parts(array: pa.Array) -> list[Any]:
    """The bytes of text or binary, which need not be UTF-8."""
    listed: list[Any] = array.view(pa.binary()).to_pylist()
    return listed


def named(headers: list[Any] | None) -> dict[str, bytes | None] | None:
    """Of several headers with one name, the last."""
    return None if headers is None else {each["key"]: each["value"] for each in headers}


@given(st.lists(BYTES), st.integers(0, 3))
def test_text_has_the_same_bytes(values: list[bytes | None], start: int) -> None:
    column = pa.array(values, pa.binary()).slice(start)
    text = raw_as(column, pa.string())
    assert text.type == pa.string()
    assert parts(text) == column.to_pylist()


@pytest.mark.parametrize("to", HEADER_MAPS, ids=str)
@given(headers=st.lists(HEADERS), start=st.integers(0, 3))
def test_headers_by_their_names(to: pa.MapType, headers: list[Any], start: int) -> None:
    column = pa.array(headers, HEADERS_TYPE).slice(start)
    found = raw_as(column, to)
    found.validate()
    assert found.type == to
    wanted = [named(each) for each in headers[start:]]
    shown = found.cast(HEADERS_TYPE).to_pylist()
    assert [named(each) for each in shown] == wanted
    sizes = [[None if each is None else len(each) for each in list_] for list_ in (shown, wanted)]
    assert sizes[0] == sizes[1]


@given(st.lists(HEADERS, min_size=1))
def test_a_map_is_written_as_its_headers(headers: list[Any]) -> None:
    column = pa.array(headers, HEADERS_TYPE)
    by_name = raw_as(column, HEADER_MAPS[0])
    assert encode_headers(by_name).equals(encode_headers(by_name.cast(HEADERS_TYPE)))


@given(st.lists(BYTES))
def test_checked_text_is_broken_where_python_cannot_decode_it(values: list[bytes | None]) -> None:
    decoder = CHECKED_TEXT.decoders.for_schema(None)
    found = decoder.decode(pa.array(values, pa.binary()), 0)
    for value, text, is_broken in zip(values, found.values, found.is_broken, strict=True):
        try:
            assert (None if value is None else value.decode()) == text.as_py()
            assert not is_broken
        except UnicodeDecodeError:
            assert is_broken
            assert str(decoder.explain(value or b"")).startswith("it is not UTF-8: ")


def test_the_key_is_named_before_the_value() -> None:
    names = ["value", "key"]
    wanted = pa.schema([(name, pa.string()) for name in names])
    decoder = decoder_of(wanted, None, checked_text=names, mode=Mode.FAILFAST)
    place = {"topic": ["t"], "partition": [0], "offset": [4]}
    payload = [b"\xff"]
    batch = pa.RecordBatch.from_pydict({"key": payload, "value": payload, **place})
    with pytest.raises(MalformedRecordError, match=r"t-0 at offset 4: the key: .*; the value: "):
        list(decoder.rows([batch]))


def test_only_the_wanted_columns_are_read() -> None:
    wanted = pa.schema([("value", pa.string())])
    decoder = decoder_of(wanted, None, checked_text=[], mode=Mode.FAILFAST)
    assert decoder.source_columns == ("value",)
    batch = pa.RecordBatch.from_pydict({"value": pa.array([b"\xff", None], pa.binary())})
    (found,) = decoder.rows([batch])
    assert found.schema == wanted
    assert parts(found.column("value")) == [b"\xff", None]
