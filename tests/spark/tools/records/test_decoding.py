"""Payloads as texts of JSON: each format alone decodes as its own tests say."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from kafka_formats.errors import FormatError
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.tools.records.decoding import _texts_of, decode_for
from kafka_spark_source.tools.records.peek import NO_TEXTS, as_they_came


def batch(keys: list[bytes | None], values: list[bytes | None]) -> pa.RecordBatch:
    """Records with the columns that a decoder may need."""
    return pa.record_batch(
        {
            "topic": pa.array(["t"] * len(keys)),
            "partition": pa.array([0] * len(keys), pa.int32()),
            "offset": pa.array(range(len(keys)), pa.int64()),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "headers": pa.nulls(len(keys), HEADERS_TYPE),
        }
    )


def test_without_formats_records_are_as_they_came() -> None:
    assert decode_for("t", {}) is as_they_came
    assert as_they_came(batch([b"k"], [b"v"])) == [NO_TEXTS]


def test_a_broken_value_hides_neither_its_key_nor_other_records() -> None:
    decode = decode_for(
        "t", {"key.format": "json", "value.format": "json", "VALUE.SCHEMA": "id BIGINT, d DATE"}
    )
    values = [b'{"id": 1}', b'{"id": "x"}', None, b'{"d":"2026-01-02","other":1}']
    first, second, third, fourth = decode(batch([b'{"k" : 1.10}', b"\n7\t", None, b"{"], values))
    assert (first.texts, first.reason) == ({"key": '{"k" : 1.10}', "value": '{"id":1}'}, None)
    assert second.texts == {"key": " 7 "}
    assert second.reason is not None
    assert second.reason.startswith("the value: field id: ")
    assert (third.texts, third.reason) == ({}, None)
    assert fourth.texts == {"value": '{"d":"2026-01-02"}'}
    assert str(fourth.reason).startswith("the key: it is not JSON: ")
    assert first.formats == {"key", "value"}


def test_a_document_that_is_null_is_no_record_without_a_payload() -> None:
    """A copy of it would be a tombstone, which deletes the key in a compacted topic."""
    decode = decode_for("t", {"key.format": "json", "value.format": "json"})
    document, tombstone, text = decode(
        batch([b" null", None, b'"null"'], [b"null\n", None, b'"null"'])
    )
    assert document.texts == {}
    assert document.reason == (
        "the key: its document is null, and the payload is not; "
        "the value: its document is null, and the payload is not"
    )
    assert (tombstone.texts, tombstone.reason) == ({}, None)
    assert text.texts == {"key": '"null"', "value": '"null"'}


def test_json_without_a_type_is_any_document() -> None:
    decode = decode_for("t", {"value.format": "json"})
    found = decode(batch([b"k"] * 3, [b"[1,\n 2]", b"\xff", b"NaN"]))
    assert [each.texts for each in found] == [{"value": "[1,  2]"}, {}, {}]
    reasons = [None, "the value: it is not UTF-8: invalid start byte at byte 0", "the value: it"]
    assert [str(each.reason)[: len(str(r))] for each, r in zip(found, reasons, strict=True)] == [
        *map(str, reasons)
    ]


def test_the_mode_of_the_job_does_not_count() -> None:
    options = {"value.format": "json", "value.schema": "id INT", "mode": "FAILFAST"}
    (found,) = decode_for("t", options)(batch([None], [b"{"]))
    assert found.reason is not None


def test_maps_that_json_does_not_have() -> None:
    kind = pa.map_(pa.int32(), pa.struct([("b", pa.binary()), ("d", pa.decimal128(5, 2))]))
    values = pa.array([[(1, {"b": b"\xff", "d": Decimal("1.50")})], None], kind)
    assert _texts_of(values) == ['[[1, {"b": "/w==", "d": "1.50"}]]', None]


def test_wrong_options() -> None:
    with pytest.raises(KafkaConfigError, match=r"did you mean 'value\.format'"):
        decode_for("t", {"value.formt": "json"})
    with pytest.raises(KafkaConfigError, match="needs a schema"):
        decode_for("t", {"value.format": "avro"})
    with pytest.raises((KafkaConfigError, FormatError)):
        decode_for("t", {"value.format": "avro", "value.schema": '{"type": "none"}'})
