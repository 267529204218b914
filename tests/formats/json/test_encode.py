"""Texts of values; `tests/integration/test_json_equality.py` holds them against `to_json`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.arrow.arrays import without_first
from kafka_formats.errors import SchemaError
from kafka_formats.json.ddl import parse_ddl
from kafka_formats.json.encode import encode

TYPE = parse_ddl("a int, s string, m map<string,double>, t timestamp, l array<struct<x int>>")
TIME = pa.timestamp("us", "UTC")
YEAR_0 = -62_167_219_200_000_000
YEAR_10000 = 253_402_300_800_000_000


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


@pytest.mark.parametrize(
    ("data_type", "number", "text"),
    [
        # Of Spark's `to_json`, but for microseconds.
        (TIME, 2**63 - 1, "+294247-01-10T04:00:54.775807Z"),
        (TIME, -(2**63), "-290308-12-21T19:59:05.224192Z"),
        (TIME, YEAR_10000 - 1, "9999-12-31T23:59:59.999999Z"),
        (TIME, YEAR_10000, "+10000-01-01T00:00:00.000Z"),
        (TIME, YEAR_0, "0000-01-01T00:00:00.000Z"),
        (TIME, YEAR_0 - 1, "-0001-12-31T23:59:59.999999Z"),
        (pa.timestamp("us"), YEAR_10000 + 500_000, "+10000-01-01T00:00:00.500"),
        (pa.date32(), 2**31 - 1, "+5881580-07-11"),
        (pa.date32(), -(2**31), "-5877641-06-23"),
        (pa.date32(), 2_932_896, "9999-12-31"),
        (pa.date32(), 2_932_897, "+10000-01-01"),
        (pa.date32(), -719_529, "-0001-12-31"),
    ],
)
def test_a_year_may_have_more_than_four_digits(
    data_type: pa.DataType, number: int, text: str
) -> None:
    values = pa.array([0, number, None]).cast(
        pa.int32() if data_type == pa.date32() else pa.int64()
    )
    texts = encode(values.cast(data_type)).to_pylist()
    assert texts[1:] == [f'"{text}"'.encode(), None]
    assert texts[0].startswith(b'"1970-01-01')


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_text_has_its_moment(micros: int) -> None:
    """A year is moved by cycles of the calendar to one that Python has."""
    (text,) = encode(pa.array([micros], TIME)).to_pylist()
    date, time = text.decode().strip('"Z').split("T")
    found = re.fullmatch(r"([+-]?)(\d{4,})-(\d\d)-(\d\d)", date)
    assert found is not None
    sign, year, month, day = found.groups()
    cycles, within = divmod(int(sign + year), 400)
    moment = datetime.fromisoformat(f"{2000 + within}-{month}-{day}T{time:0<15}")
    cycle = timedelta(days=146_097) // timedelta(microseconds=1)
    passed = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert passed + (cycles - 5) * cycle == micros
    assert bool(sign == "+") == (int(year) > 9999 and sign != "-")


def test_keys_of_maps_must_be_strings() -> None:
    with pytest.raises(SchemaError, match="keys of the type int32"):
        encode(pa.array([], pa.map_(pa.int32(), pa.int32())))


def test_the_first_bytes_of_a_slice_go() -> None:
    given = pa.array([b"abc", b"de", b"fgh", b"ij"]).slice(1, 3)
    assert without_first(2, given).to_pylist() == [b"", b"h", b""]
