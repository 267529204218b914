"""Keys and values of rows are encoded and framed."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from kafka_formats.avro.encoder import AvroEncoder
from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.payload.column_encoder import ColumnEncoder
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.record_encoder import RecordEncoder
from kafka_formats.schema_ids.confluent import id_frame
from tests.formats.avro.payloads import varint, with_length

ORDER = SchemaText(
    '{"type": "record", "name": "Order", "fields": ['
    '{"name": "id", "type": "long"}, {"name": "who", "type": "string"}]}'
)
TYPE = pa.struct({"who": pa.string(), "id": pa.int64()})
VALUE = ColumnEncoder(id_frame(258), AvroEncoder(ORDER))
KEY = ColumnEncoder(b"", AvroEncoder(SchemaText('"string"')))


def encoded(rows: pa.RecordBatch, *encoders: tuple[int, ColumnEncoder]) -> pa.RecordBatch:
    found = pickle.loads(pickle.dumps(RecordEncoder(dict(encoders)))).encode(rows)
    found.validate(full=True)
    assert isinstance(found, pa.RecordBatch)
    return found


def rows_of(values: list[dict[str, object] | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"value": pa.array(values, TYPE), "key": pa.array(["k"] * len(values), pa.string())}
    )


def test_columns_become_framed_payloads_and_nulls_stay() -> None:
    rows = rows_of([None, {"id": 5, "who": "ann"}, None, {"id": 6, "who": "bob"}])
    found = encoded(rows, (0, VALUE), (1, KEY))
    frame = b"\x00\x00\x00\x01\x02"
    assert found.schema == pa.schema({"value": pa.binary(), "key": pa.binary()})
    assert found["value"].to_pylist() == [
        None,
        frame + varint(5) + with_length(b"ann"),
        None,
        frame + varint(6) + with_length(b"bob"),
    ]
    assert found["key"].to_pylist() == [with_length(b"k")] * 4


def test_other_columns_stay_as_they_are() -> None:
    rows = rows_of([{"id": 5, "who": "ann"}])
    assert encoded(rows, (0, VALUE))["key"].to_pylist() == ["k"]


def test_only_nulls_and_no_rows() -> None:
    assert encoded(rows_of([None, None]), (0, VALUE))["value"].to_pylist() == [None, None]
    assert encoded(rows_of([]), (0, VALUE))["value"].to_pylist() == []


def test_errors_name_the_column_and_the_field() -> None:
    with pytest.raises(PayloadError, match=r"^value\.who: a null cannot be written as string$"):
        encoded(rows_of([{"id": 5, "who": None}]), (0, VALUE))
    rows = pa.RecordBatch.from_pydict({"value": pa.array([{"id": "x"}])})
    with pytest.raises(SchemaError, match=r"^column 'value': the column has no field 'who'$"):
        encoded(rows, (0, VALUE))


def test_types_are_checked_without_values() -> None:
    AvroEncoder(ORDER).check(TYPE)
    with pytest.raises(SchemaError, match="the field 'id': string cannot be written as long"):
        AvroEncoder(ORDER).check(pa.struct({"who": pa.string(), "id": pa.string()}))
