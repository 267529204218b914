"""Many payloads have the values and verdicts that each has by itself."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.json.ddl import parse_ddl
from kafka_formats.json.decoder import decoder_for

TYPE = parse_ddl("id bigint, s string, d double, t timestamp, l array<struct<x int>>")
READER = decoder_for(TYPE)
GOOD = st.fixed_dictionaries(
    {},
    optional={
        "id": st.integers(-(2**63), 2**63 - 1),
        "s": st.text(max_size=5),
        "d": st.floats(allow_nan=False) | st.integers(-5, 5),
        "t": st.sampled_from(["2026-11-23T01:02:03.5Z", "2026-11-23 01:02:03-03:30"]),
        "l": st.lists(st.none() | st.fixed_dictionaries({"x": st.none() | st.integers(-9, 9)})),
        "more": st.none() | st.lists(st.booleans()),
    },
).map(lambda value: json.dumps(value).encode())
ODD = st.sampled_from(
    [
        *(b"", b"{", b"null", b'{"id":1.0}', b'{"id":1} x', b'{"id":1}}{"a":{', b'{"d":-0}'),
        *(
            b"\xff",
            b'{"t":1}',
            b'{"id":1,"id":2}',
            b'{\n"s":"\\ud800"}',
            b'{"s":{}}',
            b'{"id":1},"v":{"id":2',
        ),
    ]
)


@given(st.lists(GOOD | ODD | st.binary(max_size=4), max_size=70), st.integers(0, 3))
def test_values_and_verdicts_are_those_of_each_by_itself(given: list[bytes], skipped: int) -> None:
    payloads = pa.array([b"\0" * skipped + each for each in given], pa.binary())
    found = READER.decode(payloads, skipped)
    assert found.values.type == TYPE
    for row, payload in enumerate(given):
        alone = READER.decode(pa.array([payload]), 0)
        assert found.is_broken[row] == alone.is_broken[0]
        if alone.is_broken[0]:
            assert READER.explain(payload).reason
        else:
            assert repr(found.values[row].as_py()) == repr(alone.values[0].as_py())


@given(
    bits=st.integers(1, 0x7F7FFFFE),
    is_middle=st.booleans(),
    ends=st.sampled_from(["", "0" * 30 + "1"]),
    sign=st.sampled_from(["", "-"]),
)
def test_a_float_is_the_nearest_one_however_many_are_read(
    bits: int, is_middle: bool, ends: str, sign: str
) -> None:
    low, high = (Fraction(float(each)) for each in np.array([bits, bits + 1], "u4").view("f4"))
    at = (low + high) / 2 if is_middle else low
    # All digits of it, and perhaps more: a little more than the middle.
    places = (at.denominator - 1).bit_length()
    digits = str(at.numerator * 5**places) + ends
    text = f"{sign}{digits}e-{places + len(ends)}"
    exact = abs(Fraction(text))
    if exact - low == high - exact:
        wanted = low if bits % 2 == 0 else high
    else:
        wanted = low if exact - low < high - exact else high
    payload = b'{"f":%s}' % text.encode()
    reader = decoder_for(parse_ddl("f float"))
    for count in (1, 20):
        found = reader.decode(pa.array([payload] * count), 0).values.field("f").to_pylist()
        assert [abs(Fraction(each)) for each in found] == [wanted] * count


@pytest.mark.parametrize(
    ("text", "value"),
    # As `Float.parseFloat`: through a double they are other floats.
    [
        ("7.038531e-26", 7.038530691851209e-26),
        ("1.00000017881393432617187499", 1.0000001192092896),
        (str(2**60 + 2**36 + 1), float(2**60 + 2**37)),
        (str(2**60 + 2**36), float(2**60)),
        ("1e-400", 0.0),
        ("3.4028235677973367e38", float("inf")),
        ("3.4028235677973366e38", 3.4028234663852886e38),
    ],
)
def test_a_float_is_rounded_once(text: str, value: float) -> None:
    within = f'{{"f":{text},"m":{{"k":{text}}}}}'.encode()
    reader = decoder_for(parse_ddl("f float, m map<string,float>"))
    (row,) = reader.decode(pa.array([within]), 0).values.to_pylist()
    assert row == {"f": value, "m": [("k", value)]}


def test_fault_61_one_broken_payload_spoils_no_other() -> None:
    payloads = [b'{"id":%d}' % number for number in range(5_000)]
    payloads[77] = b'{"id":"x"}'
    found = READER.decode(pa.array(payloads), 0)
    assert np.flatnonzero(found.is_broken).tolist() == [77]
    assert found.values.field("id").to_pylist()[4_999] == 4_999


@pytest.mark.parametrize(
    ("payload", "field", "reason"),
    [
        (b'{"l":[{"x":1.5}]}', "l[].x", "it is a number with a fraction or an exponent, not"),
        (b'{"id":9223372036854775808}', "id", "the number does not fit 64 bits"),
        (b'{"t":"2026-11-23T01:02:03"}', "t", "has no time zone"),
        (b'{"d":"1"}', "d", "it is a string, not a number"),
        (b"[1]", "", "it is an array, not an object"),
        (b"{", "", "it is not JSON"),
        (b"null", "", "it is null"),
        (b"\xff", "", "it is not UTF-8"),
        (b"[" * 1_000, "", "it is not JSON: Expecting value at character 1000"),
        (b"[" * 100_000, "", "it is nested more than 1,000 levels deep"),
        (b'{"id":' + b"1" * 5_000 + b"}", "id", "the number does not fit 64 bits"),
        (b'{"l":' + b"1" * 5_000 + b"}", "l", "it is a whole number, not an array"),
    ],
)
def test_what_is_wrong_is_said(payload: bytes, field: str, reason: str) -> None:
    error = READER.explain(payload)
    assert error.field == field
    assert reason in error.reason
