"""The query of changes: the schemas that it asks for, and what it gives to its caller."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import MalformedRecordError, SchemaEvolvedError
from kafka_formats.query.decoder import BrokenRecord
from kafka_formats.query.stage import through
from tests.config_error import config_error
from tests.fakes.registry import subjects
from tests.formats.debezium.converters import (
    AVRO_ROW,
    EXPECTED,
    FULL,
    KEY_AVRO,
    avro,
    avro_events,
    avro_options,
    avro_registry,
    avro_schema,
)
from tests.formats.debezium.events import (
    DDL,
    INSERT,
    JSON,
    KEY_1,
    TOMBSTONE,
    Record,
    dumped,
    event,
    query_with,
    read,
    records,
    rows_of,
    short,
    stages_with,
)


def test_types_that_json_does_not_have() -> None:
    error = config_error(stages_with, JSON, {"x": pa.duration("us")}, ["x"])
    assert "The values cannot be read: the field 'before.x' has the type duration[us]" in error


def test_keys_are_structs() -> None:
    error = config_error(query_with({**DDL, "key.schema": "bigint"}).schema)
    assert error == "The keys are int64, and no struct as Debezium's: set key.format to raw."


def test_a_column_has_one_type_in_rows_and_keys() -> None:
    types = {"key": pa.struct([("id", pa.int32())])}
    error = config_error(stages_with, DDL, types, ["id", "key"])
    assert "Column 'id' is wanted as int64, and in keys as int32: name one type for both." in error


def test_avro_of_a_registry() -> None:
    (key,) = avro(KEY_AVRO, 90, {"id": 1})
    with avro_registry(FULL) as fake:
        options = avro_options(fake.url)
        schema = query_with(options).schema()
        assert schema.field("key").type == pa.struct([("id", pa.int64())])
        assert schema.field("price").type == pa.decimal128(10, 2)
        assert schema.field("ms").type == pa.timestamp("us")
        assert schema.field("wide").type == pa.string()
        decoder = pickle.loads(pickle.dumps(stages_with(options)))
        given: list[Record] = [(key, each) for each in avro_events(FULL, 1, AVRO_ROW)]
        rows = rows_of(decoder, [*given, (key, None)])
        assert short(rows, "op", "source", "key") == [(op, {"lsn": 7}, {"id": 1}) for op in "cdd"]
        for row in rows[:2]:
            assert {name: row[name] for name in EXPECTED} == EXPECTED
        assert {name: rows[2][name] for name in EXPECTED} == {**dict.fromkeys(EXPECTED), "id": 1}
        types = {"wide": pa.decimal128(20, 2), "at": pa.int64()}
        with pytest.raises(MalformedRecordError, match=r"field after\.wide"):
            read(options, given, types=types, columns=["wide"])
        assert read(options, given[:1], types=types, columns=["at"]) == [{"at": 1_500_001}]


def test_a_subject_that_is_no_envelope() -> None:
    heartbeat = {
        "type": "record",
        "name": "Heartbeat",
        "namespace": "io.debezium.connector.common",
        "fields": [{"name": "ts_ms", "type": "long"}],
    }
    with avro_registry(heartbeat) as fake:
        error = config_error(query_with(avro_options(fake.url)).schema)
    assert "The values have no field 'after' with the columns of a table" in error
    assert "leave them out" in error


def test_the_schema_of_keys_may_be_missing() -> None:
    options = {"value.format": "avro", "value.schema": json.dumps(FULL)}
    assert config_error(query_with, options) == (
        "Option 'envelope' is debezium, which reads keys, too: set key.schema to their schema, or "
        "key.format to raw."
    )
    rows = read(
        {**options, "key.format": "raw"},
        [(b"k", each[5:]) for each in avro_events(FULL, 1, AVRO_ROW)[:1]],
    )
    assert short(rows, "id", "key") == [(1, b"k")]


def test_protobuf() -> None:
    proto = """
        syntax = "proto3";
        message Envelope {
          message Value { optional int64 id = 1; optional int64 at = 2; optional int32 day = 3; }
          Value before = 1; Value after = 2; Source source = 3; string op = 4; int64 ts_ms = 5;
          message Source { int64 lsn = 1; }
        }"""
    options = {
        "value.format": "protobuf",
        "value.schema": proto,
        "key.format": "raw",
        "debezium.time.precision.mode": "microseconds",
    }
    row = bytes([0x08, 1, 0x10, 5, 0x18, 1])
    payload = bytes([0x12, len(row), *row, 0x1A, 2, 0x08, 7, 0x22, 1]) + b"c" + bytes([0x28, 9])
    assert short(read(options, [(None, payload)]), "id", "at", "day", "source", "op", "ts_ms") == [
        (1, 5, 1, {"lsn": 7}, "c", 9)
    ]
    types = {"at": pa.timestamp("us"), "day": pa.date32()}
    assert short(read(options, [(None, payload)], types=types), "at", "day") == [
        (datetime(1970, 1, 1, 0, 0, 0, 5), date(1970, 1, 2))
    ]


def test_records_that_are_left_out_are_given_to_the_caller() -> None:
    query = query_with({**DDL, "mode": "DROPMALFORMED"})
    aside: list[tuple[list[Any], list[str]]] = []

    def put_aside(left_out: pa.RecordBatch, faults: Iterator[BrokenRecord]) -> None:
        aside.append((left_out.column("value").to_pylist(), [str(each) for each in faults]))

    stages = query.stages(query.wanted(["id"], {}), put_aside)
    columns = [*stages[0].source_columns]
    assert {"key", "value", "headers"} <= {*columns}
    given = [INSERT, (None, dumped(event("d"))), TOMBSTONE, (KEY_1, b"{}")]
    batch = records(given)
    times = batch.column("timestamp").cast(pa.int64())
    with_times = pa.RecordBatch.from_arrays(
        [*batch.columns, times], names=[*batch.schema.names, "timestampMs"]
    )
    rows = through(stages, [with_times.select(columns)])
    assert [row for each in rows for row in each.to_pylist()] == [{"id": 1}]
    ((values, faults),) = aside
    assert values == [given[1][1], b"{}"]
    assert "at offset 1: the value: the delete has neither before nor a decoded key" in faults[0]
    assert "at offset 3: the value: it is not a change event of Debezium" in faults[1]


def test_a_stream_may_stop_at_a_column_that_is_added() -> None:
    first, second = avro_schema(id="long"), avro_schema(id="long", name="string")
    with avro_registry(first) as fake:
        options = {**avro_options(fake.url), "value.schema.evolution": "restart"}
        decoder = stages_with(options)
        both = [
            (None, payload)
            for number, schema in enumerate((first, second), start=1)
            for payload in avro_events(schema, number, {"id": number, "name": "x"})[:1]
        ]
        assert short(rows_of(decoder, both[:1]), "id") == [(1,)]
        listed = [{"id": 1, "schema": json.dumps(first)}, {"id": 2, "schema": json.dumps(second)}]
        fake.respond = subjects(**{"shop.public.items__value": listed})
        with pytest.raises(SchemaEvolvedError) as raised:
            rows_of(decoder, both)
    assert "the query's columns lack: value.before.name string, value.after.name string" in str(
        raised.value
    )
