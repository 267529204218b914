"""Readers of payloads by the schema of their writer."""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pytest

from kafka_formats.avro.decoder import AvroDecoderFactory, decoder_for
from kafka_formats.avro.schema import parsed
from kafka_formats.avro.types import arrow_type
from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import SchemaText
from tests.formats.avro.payloads import varint, with_length

LINE = '{"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]}'
ORDER = SchemaText(
    json.dumps(
        {
            "type": "record",
            "name": "Order",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "line", "type": "Line"},
                {"name": "note", "type": "string"},
            ],
        }
    ),
    (("Line", LINE),),
)
WHOLE = arrow_type(parsed(ORDER))
PAYLOAD = varint(5) + with_length(b"abc") + with_length(b"note")
ID = pa.struct([pa.field("id", pa.int64())])


def test_a_schema_may_refer_to_others() -> None:
    found = decoder_for(ORDER, ORDER, WHOLE).decode(pa.array([PAYLOAD], pa.binary()), 0)
    assert found.values.to_pylist() == [{"id": 5, "line": {"sku": "abc"}, "note": "note"}]
    with pytest.raises(SchemaError, match="Line"):
        parsed(SchemaText(ORDER.text))


def test_readers_are_made_once() -> None:
    again = pickle.loads(pickle.dumps(AvroDecoderFactory(ORDER, WHOLE, None)))
    assert again.for_schema(None) is decoder_for(ORDER, ORDER, WHOLE)


def test_nothing_is_read_after_the_last_wanted_field() -> None:
    rows = pa.array([PAYLOAD, varint(5), varint(5) + b"\xff", b""], pa.binary())
    found = decoder_for(ORDER, ORDER, ID).decode(rows, 0)
    assert found.is_broken.tolist() == [False, False, False, True]
    assert found.values.slice(0, 3).to_pylist() == [{"id": 5}] * 3
    note = pa.struct([pa.field("note", pa.string())])
    assert decoder_for(ORDER, ORDER, note).decode(rows, 0).is_broken.tolist()[1:] == [True] * 3
    none = decoder_for(ORDER, ORDER, pa.struct([])).decode(rows, 0)
    assert none.values.to_pylist() == [{}] * 4
