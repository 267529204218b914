"""Keys and values of records are decoded, and broken ones are treated by mode."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.avro.decoder import AvroDecoderFactory
from kafka_formats.errors import MalformedRecordError, SchemaError
from kafka_formats.options.settings import Framing, Mode
from kafka_formats.payload.columns import ColumnFormat
from kafka_formats.payload.format import PayloadDecoder
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query import decoder as query_decoder
from kafka_formats.query.decoder import BrokenRecord, Decoder
from kafka_formats.schema_ids.frames import SchemaId
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE, RECORD_SCHEMA, TIMESTAMP_MS
from tests.formats.avro.payloads import varint, with_length

FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
SECOND = FIRST | {
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": ["null", "string"], "default": None},
    ]
}
OTHER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
WRITERS: dict[SchemaId, Any] = {1: FIRST, 2: SECOND, 3: OTHER}
TYPE = pa.struct([pa.field("id", pa.int64()), pa.field("customer", pa.string())])
COLUMNS = ("value", "topic", "partition", "offset")


def schema_by_id(schema_id: SchemaId) -> SchemaText:
    if schema_id not in WRITERS:
        raise SchemaError(f"there is no schema {schema_id}")
    return SchemaText(json.dumps(WRITERS[schema_id]))


VALUE = ColumnFormat(
    Framing.CONFLUENT, TYPE, AvroDecoderFactory(SchemaText(json.dumps(SECOND)), TYPE, schema_by_id)
)
TEXT = SchemaText('"string"')
KEY = ColumnFormat(Framing.NONE, pa.string(), AvroDecoderFactory(TEXT, pa.string(), None))


def frame(schema_id: int, payload: bytes) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + payload


OLD = frame(1, varint(5))
NEW = frame(2, varint(6) + varint(1) + with_length(b"ann"))
CUT = frame(2, varint(6) + varint(1) + varint(9) + b"ann")
NO_TEXT = frame(2, varint(6) + varint(1) + with_length(b"\xff"))


def records(values: list[bytes | None], keys: list[bytes | None] | None = None) -> pa.RecordBatch:
    rows: dict[str, Any] = {
        "key": keys or [None] * len(values),
        "value": values,
        "topic": ["orders"] * len(values),
        "partition": [3] * len(values),
        "offset": range(40, 40 + len(values)),
        "timestamp": [0] * len(values),
        "timestampType": [0] * len(values),
        "headers": [None] * len(values),
    }
    return pa.RecordBatch.from_pydict(rows, RECORD_SCHEMA)


def decoder(
    mode: Mode,
    columns: Mapping[str, pa.DataType] | None = None,
    formats: Mapping[str, ColumnFormat] | None = None,
) -> Decoder:
    schema = pa.schema({"value": TYPE, "offset": pa.int64()} | dict(columns or {}))
    return Decoder(schema, formats or {"value": VALUE}, mode)


def decoded(with_: Decoder, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    selected = [batch.select(with_.source_columns) for batch in batches]
    found = list(pickle.loads(pickle.dumps(with_)).rows(selected))
    for batch in found:
        assert batch.schema.equals(with_.schema)
        batch.validate(full=True)
    return [row for batch in found for row in batch.to_pylist()]


def test_payloads_of_several_schemas_are_read_as_one() -> None:
    rows = decoded(decoder(Mode.FAILFAST), records([NEW, OLD, None, NEW]))
    ann = {"id": 6, "customer": "ann"}
    assert [row["value"] for row in rows] == [ann, {"id": 5, "customer": None}, None, ann]
    assert [row["offset"] for row in rows] == [40, 41, 42, 43]


def test_only_wanted_columns_are_decoded_and_shipped() -> None:
    wanted = Decoder(pa.schema({"offset": pa.int64()}), {"value": VALUE}, Mode.FAILFAST)
    assert "value" not in wanted.source_columns
    assert decoded(wanted, records([CUT])) == [{"offset": 40}]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (CUT, r"the value \(schema id 2\): field customer: "),
        (NO_TEXT, r"the value \(schema id 2\): field customer: .*UTF-8"),
        (frame(9, b""), r"the value \(schema id 9\): there is no schema 9"),
        (frame(3, b"\x00"), r"the value \(schema id 3\): the field 'id': string was written, long"),
        (b"{}", "the value: it has no schema id: it begins with the bytes 7b 7d, and has 2 in all"),
        (b"", "the value: it has no schema id: it is empty"),
    ],
)
def test_fault_61_failfast_names_the_record_the_schema_the_field_and_the_reason(
    value: bytes, reason: str
) -> None:
    with pytest.raises(MalformedRecordError, match=f"orders-3 at offset 41: {reason}") as caught:
        decoded(decoder(Mode.FAILFAST), records([NEW, value, value]))
    assert "mode to PERMISSIVE" in str(caught.value)


BROKEN = [CUT, frame(9, b""), frame(3, b"\x00"), b"{}", b""]


def test_permissive_gives_null_the_reason_and_the_payload() -> None:
    added = {"_error": pa.string(), "_raw": pa.binary()}
    rows = decoded(decoder(Mode.PERMISSIVE, added), records([NEW, *BROKEN, None, OLD]))
    assert [row["value"] for row in rows[1:-1]] == [None] * (len(BROKEN) + 1)
    assert [row["_raw"] for row in rows] == [None, *BROKEN, None, None]
    assert [row["_error"] is None for row in rows] == [True, *[False] * len(BROKEN), True, True]
    assert rows[2]["_error"] == "the value (schema id 9): there is no schema 9"
    assert rows[0]["value"] == {"id": 6, "customer": "ann"}
    assert rows[-1]["value"] == {"id": 5, "customer": None}


def test_permissive_without_its_columns() -> None:
    assert decoded(decoder(Mode.PERMISSIVE), records([CUT])) == [{"value": None, "offset": 40}]


def test_faults_alone() -> None:
    wanted = Decoder(pa.schema({"_error": pa.string()}), {"value": VALUE}, Mode.PERMISSIVE)
    assert [row["_error"] is None for row in decoded(wanted, records([NEW, CUT]))] == [True, False]


def test_dropmalformed_leaves_records_out_and_counts_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        rows = decoded(
            decoder(Mode.DROPMALFORMED),
            records([NEW, *BROKEN, None]),
            records([CUT]),
            records([OLD]),
        )
    assert [row["offset"] for row in rows] == [40, 46, 40]
    assert "and others may follow: orders-3 at offset 41: the value" in caplog.text
    assert "could not be decoded: 6." in caplog.text
    assert caplog.text.count("A record is dropped") == 1


def test_keys_and_values_have_formats_of_their_own() -> None:
    added = {
        "key": pa.string(),
        "_error": pa.string(),
        "_raw": pa.binary(),
        "_raw_key": pa.binary(),
    }
    both = decoder(Mode.PERMISSIVE, added, {"key": KEY, "value": VALUE})
    rows = decoded(both, records([NEW, NEW, CUT], [with_length(b"k"), b"\x09", b"\x09"]))
    assert [row["key"] for row in rows] == ["k", None, None]
    assert [row["_raw_key"] for row in rows] == [None, b"\x09", b"\x09"]
    assert [row["_raw"] for row in rows] == [None, NEW, CUT]
    assert [(row["value"] or {}).get("id") for row in rows] == [6, 6, None]
    assert rows[1]["_error"].startswith("the key: ")
    assert "; the value (schema id 2): field customer" in rows[2]["_error"]


def test_a_schema_that_does_not_exist_is_asked_for_once_in_a_task() -> None:
    asked = []

    class Gone:
        def for_schema(self, schema_id: SchemaId) -> Any:
            asked.append(schema_id)
            raise SchemaError("gone")

    none = Decoder(
        pa.schema({"value": TYPE}),
        {"value": ColumnFormat(Framing.CONFLUENT, TYPE, Gone())},
        Mode.PERMISSIVE,
    )
    batches = [records([OLD, NEW]).select(none.source_columns)] * 3
    assert sum(batch.num_rows for batch in none.rows(batches)) == 6
    assert asked == [1, 2]


def test_each_schema_is_planned_once_in_a_task_and_not_all_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(query_decoder, "_MOST_DECODERS", 1)
    planned: list[SchemaId] = []

    class Planning:
        def for_schema(self, schema_id: SchemaId) -> PayloadDecoder:
            planned.append(schema_id)
            return VALUE.decoders.for_schema(schema_id)

    formats = {"value": ColumnFormat(Framing.CONFLUENT, TYPE, Planning())}
    given = Decoder(pa.schema({"value": TYPE}), formats, Mode.FAILFAST)
    batches = [records([each, each]).select([*given.source_columns]) for each in (OLD, OLD, NEW)]
    found = [row["id"] for batch in given.rows(batches) for row in batch["value"].to_pylist()]
    assert (found, planned) == ([5, 5, 5, 5, 6, 6], [1, 2])
    assert len([*given.rows([batches[0], batches[2], batches[0]])]) == 3
    assert planned == [1, 2, 1, 2, 1]


def test_headers_can_name_the_schema() -> None:
    batch = records([OLD[5:], OLD])
    header = [[{"key": "__value_schema_id", "value": frame(1, b"")}], None]
    headers = pa.array(header, HEADERS_TYPE)
    batch = batch.set_column(batch.schema.get_field_index("headers"), "headers", headers)
    rows = decoded(decoder(Mode.FAILFAST), batch)
    assert [row["value"]["id"] for row in rows] == [5, 5]


def test_records_without_payloads() -> None:
    assert decoded(decoder(Mode.FAILFAST), records([None, None])) == [
        {"value": None, "offset": 40},
        {"value": None, "offset": 41},
    ]


def test_broken_records_are_put_aside_as_they_came_before_the_rows_beside_them() -> None:
    formats = {"key": KEY, "value": VALUE}
    schema = pa.schema({"value": TYPE, "key": pa.string()})
    aside: list[tuple[list[dict[str, Any]], list[BrokenRecord]]] = []

    def put_aside(records: pa.RecordBatch, broken: Iterator[BrokenRecord]) -> None:
        aside.append((records.to_pylist(), [*broken]))

    with_ = Decoder(schema, formats, Mode.DROPMALFORMED, put_aside)
    batch = records([NEW, CUT, b"{}"], [with_length(b"a"), b"\x09", with_length(b"c")])
    batch = batch.append_column(TIMESTAMP_MS, pa.array([7, 8, 9], pa.int64()))
    rows = with_.rows([batch.select(with_.source_columns)])
    assert next(rows).column("key").to_pylist() == ["a"]
    ((came, broken),) = aside
    assert [(each["key"], each["value"], each[TIMESTAMP_MS.name]) for each in came] == [
        (b"\x09", CUT, 8),
        (with_length(b"c"), b"{}", 9),
    ]
    both, one = broken
    assert [name for name, _ in both.faults] == ["key", "value"]
    assert str(both).startswith("orders-3 at offset 41: the key: ")
    assert "; the value (schema id 2): field customer: " in str(both)
    assert (one.topic, one.partition, one.offset) == ("orders", 3, 42)
    assert one.reason.startswith("the value: it has no schema id")
    assert list(rows) == []
