"""What is said of a payload that does not have its schema."""

from __future__ import annotations

import pytest

from kafka_formats.avro.decode_one import read_payload
from kafka_formats.errors import PayloadError
from tests.formats.avro.checks import check, plan_of
from tests.formats.avro.payloads import Json, varint, with_length

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 3}
ARRAY = {"type": "array", "items": "int"}
LINES = {
    "type": "record",
    "name": "Order",
    "fields": [
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "sku", "type": "string"}],
                },
            },
        }
    ],
}


@pytest.mark.parametrize(
    ("schema", "row", "reason"),
    [
        ("int", b"", "1 bytes are needed, and 0 are left"),
        ("int", varint(2**31), "2147483648 does not fit 32 bits"),
        ("int", b"\xff" * 5 + b"\x00", "a number has more than 5 bytes"),
        ("long", b"\xff" * 10 + b"\x00", "a number has more than 10 bytes"),
        ("double", bytes(7), "8 bytes are needed, and 7 are left"),
        ("boolean", b"\x02", "a boolean is 2"),
        ("bytes", varint(3) + b"ab", "3 bytes are needed, and 2 are left"),
        ("bytes", varint(-1), "the length of bytes is -1"),
        ("string", with_length(b"\xff"), "not UTF-8"),
        (MILLIS, varint(2**62), "the time 4611686018427387904, of 1,000 units .* not fit 64 bits"),
        (DECIMAL, with_length(b"\x03\xe8"), "a decimal of 2 bytes does not fit 3 digits"),
        (DECIMAL, with_length(b"\x01" + bytes(17)), "a decimal of 18 bytes"),
        (DECIMAL, varint(0), "a decimal of 0 bytes"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, varint(1), "has number 1"),
        (["null", "int"], varint(2), "a union of 2 types has number 2"),
        (["null", "int"], varint(-1), "a union of 2 types has number -1"),
        (ARRAY, varint(9) + b"\x00", "a block of 9 items has 1 bytes left"),
        (ARRAY, varint(-1) + varint(9), "a block of items has 9 bytes"),
        (ARRAY, varint(1) + varint(7), "1 bytes are needed"),
        (LINES, varint(1) + varint(9) + b"x", r"^lines\[\]\.sku: 9 bytes are needed"),
    ],
)
def test_fault_61_names_the_field_and_the_reason(schema: Json, row: bytes, reason: str) -> None:
    plan = plan_of(schema)
    with pytest.raises(PayloadError, match=reason):
        read_payload(plan, row)
    check(plan, [row, row])
