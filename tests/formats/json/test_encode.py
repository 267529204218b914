"""Texts of values; `tests/integration/test_json_equality.py` holds them against `to_json`."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_formats.arrow.arrays import without_first
from kafka_formats.errors import SchemaError
from kafka_formats.json.ddl import parse_ddl
from kafka_formats.json.decoder import decoder_for
from kafka_formats.json.encode import encode

TYPE = parse_ddl("a int, s string, m map<string,double>, t timestamp, l array<struct<x int>>")


def test_nulls_are_left_out_of_structs_only() -> None:
    rows = [{}, {"a": 1, "m": [("k", None)], "l": [None, {}]}, {"s": 'q"\n', "t": 1_500_000}]
    assert encode(pa.array(rows, TYPE)).to_pylist() == [
        b"{}",
        b'{"a":1,"m":{"k":null},"l":[null,{}]}',
        b'{"s":"q\\"\\n","t":"1970-01-01T00:00:01.500Z"}',
    ]


def test_microseconds_are_kept() -> None:
    assert encode(pa.array([1], pa.timestamp("us"))).to_pylist() == [
        b'"1970-01-01T00:00:00.000001"'
    ]


def test_what_was_written_is_read_also_from_a_slice() -> None:
    rows = [{"a": i, "s": "x" * (i % 3), "l": [{"x": i}] * (i % 4)} for i in range(50)]
    values = pa.array(rows, TYPE).slice(7, 30)
    assert decoder_for(TYPE).decode(encode(values), 0).values.equals(values)


def test_keys_of_maps_must_be_strings() -> None:
    with pytest.raises(SchemaError, match="keys of the type int32"):
        encode(pa.array([], pa.map_(pa.int32(), pa.int32())))


def test_the_first_bytes_of_a_slice_go() -> None:
    given = pa.array([b"abc", b"de", b"fgh", b"ij"]).slice(1, 3)
    assert without_first(2, given).to_pylist() == [b"", b"h", b""]
