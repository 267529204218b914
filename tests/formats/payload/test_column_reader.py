"""Columns of payloads by themselves."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from kafka_formats.avro.decoder import AvroDecoderFactory
from kafka_formats.errors import MalformedRecordError
from kafka_formats.options.settings import Framing, Mode
from kafka_formats.payload.column_reader import ColumnReader
from kafka_formats.payload.columns import ColumnFormat
from kafka_formats.payload.schema_text import SchemaText

ORDER = SchemaText(
    '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
)
TYPE = pa.struct([pa.field("id", pa.int64())])
FORMAT = ColumnFormat(Framing.NONE, TYPE, AvroDecoderFactory(ORDER, TYPE, None))


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_payloads_become_values_with_the_type(kind: pa.DataType) -> None:
    decode = pickle.loads(pickle.dumps(ColumnReader(FORMAT, Mode.FAILFAST)))
    found = decode(pa.array([b"\x0a", None], kind))
    assert found.type.equals(TYPE)
    assert found.to_pylist() == [{"id": 5}, None]


def test_fault_61_a_broken_payload_is_an_error_or_null() -> None:
    payloads = pa.array([b"\x0a", b"\x80"], pa.binary())
    with pytest.raises(MalformedRecordError, match="A payload: field id: "):
        ColumnReader(FORMAT, Mode.FAILFAST)(payloads)
    assert ColumnReader(FORMAT, Mode.PERMISSIVE)(payloads).to_pylist() == [{"id": 5}, None]
