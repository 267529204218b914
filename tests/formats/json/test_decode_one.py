"""One document: what does not fit its type is named, with the path of its field.

The values are compared with Spark's in tests/integration/test_json_equality.py.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_formats.json.decoder import decoder_for

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
        ('{"a": 9999999999999}', pa.timestamp("us", tz="UTC"), "a", "there is no such moment"),
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
