"""One document: what does not fit its type is named, with the path of its field.

The values are compared with Spark's in tests/integration/test_json_equality.py.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from kafka_formats.json.decoder import decoder_for

TIMESTAMP, NTZ = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
LINES = pa.list_(pa.struct([("price", pa.int32())]))


@pytest.mark.parametrize(
    ("text", "kind", "field", "reason"),
    [
        ('{"a": true}', pa.int32(), "a", "it is a boolean, not a whole number"),
        ('{"a": 2147483648}', pa.int32(), "a", "the number does not fit 32 bits"),
        ('{"a": 1}', pa.bool_(), "a", "it is a whole number, not true or false"),
        ('{"a": "x"}', pa.float64(), "a", "it is a string, not a number"),
        ('{"a": "x"}', pa.decimal128(5, 2), "a", "it is not a number"),
        ('{"a": 12345}', pa.decimal128(5, 2), "a", "the number does not fit decimal128(5, 2)"),
        ('{"a": 1}', pa.binary(), "a", "it is a whole number, not a string of base64"),
        ('{"a": "!"}', pa.binary(), "a", "it is not base64"),
        ('{"a": {}}', pa.date32(), "a", "it is an object, not a string"),
        ('{"a": 1e999}', pa.timestamp("us"), "a", "it is a number with a fraction"),
        ('{"a": 9999999999999}', pa.timestamp("us", tz="UTC"), "a", "the time is out of range"),
        ('{"a": [1]}', LINES, "a[]", "it is a whole number, not an object"),
        ('{"a": [null, {"price": 1}, {"price": []}]}', LINES, "a[].price", "it is an array, not"),
        ('{"a": 1}', LINES, "a", "it is a whole number, not an array"),
        ('{"a": {"k": null, "l": "x"}}', pa.map_(pa.string(), pa.int64()), "a{}", "it is a string"),
        ('{"a": []}', pa.map_(pa.string(), pa.int64()), "a", "it is an array, not an object"),
        ('{"a": {"k": [{"price": 1.5}]}}', pa.map_(pa.string(), LINES), "a{}[].price", "it is a"),
        ("[]", pa.int32(), "", "it is an array, not an object"),
    ],
)
def test_what_does_not_fit_is_named_with_its_path(
    text: str, kind: pa.DataType, field: str, reason: str
) -> None:
    decoder = decoder_for(pa.struct([("a", kind)]))
    payload = text.encode()
    assert decoder.decode(pa.array([payload], pa.binary()), 0).is_broken.tolist() == [True]
    error = decoder.explain(payload)
    assert (error.field, error.reason[: len(reason)]) == (field, reason)


DAY = 18_263
MOMENT = 1_577_934_245_000_000
HOUR = 3_600_000_000


# All of these as from_json reads them.
@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("+2020-01-02", pa.date32(), DAY),
        ("02020-01-02", pa.date32(), DAY),
        ("\x7f2020-01-02\x1f", pa.date32(), DAY),
        ("\u20032020-01-02", pa.date32(), None),
        ("\u00852020-01-02", pa.date32(), None),
        ("\uff12\uff10\uff12\uff10-01-02", pa.date32(), None),
        ("+02020-01-02T03:04:05", NTZ, MOMENT),
        ("2020-01-02T\u06603:04:05", NTZ, None),
        ("2020-01-02T03:04:05Z\u2003", TIMESTAMP, None),
        ("2020-01-02T03:04:05UT", TIMESTAMP, MOMENT),
        ("2020-01-02T03:04:05UT+1", TIMESTAMP, MOMENT - HOUR),
        ("2020-01-02T03:04:05UTC+2", TIMESTAMP, MOMENT - 2 * HOUR),
        ("2020-01-02T03:04:05GMT-02:30", TIMESTAMP, MOMENT + 5 * HOUR // 2),
        ("2020-01-02T03:04:05+2:0", TIMESTAMP, MOMENT - 2 * HOUR),
        ("2020-01-02T03:04:05+\uff12:00", TIMESTAMP, None),
        ("2020-01-02T03:04:05UTC+", TIMESTAMP, None),
    ],
)
def test_texts_of_times(text: str, kind: pa.DataType, value: int | None) -> None:
    payloads = pa.array([json.dumps({"a": text}).encode()])
    values, is_broken = decoder_for(pa.struct([("a", kind)])).decode(payloads, 0)
    assert is_broken[0] == (value is None)
    number = pa.int32() if kind == pa.date32() else pa.int64()
    assert is_broken[0] or values.field("a").cast(number).to_pylist() == [value]
