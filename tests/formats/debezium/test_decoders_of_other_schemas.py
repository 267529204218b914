"""Payloads of Avro and Protobuf whose schema is not that of the query."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import MalformedRecordError
from tests.config_error import config_error
from tests.fakes.registry import registry, subjects
from tests.formats.avro.payloads import varint
from tests.formats.debezium.converters import (
    AT,
    avro,
    avro_envelope,
    avro_events,
    avro_options,
    avro_registry,
    avro_schema,
    semantic,
)
from tests.formats.debezium.events import (
    CONNECT,
    TIME,
    Record,
    query_with,
    read,
    short,
    stages_with,
)


def test_units_are_those_of_the_schema_that_a_payload_was_written_with() -> None:
    """An ALTER TABLE from timestamp(3) to timestamp(6) changes the unit, not the type in Avro."""
    versions = [
        avro_schema(id="long", at=semantic("long", f"{TIME}Timestamp")),
        avro_schema(
            id="long", at=semantic("long", f"{CONNECT}Timestamp", logicalType="timestamp-millis")
        ),
        avro_schema(id="long"),
        avro_schema(id="long", at="long"),
        avro_schema(id="long", at=AT, more="string"),
    ]
    moment = datetime(1970, 1, 1, 0, 0, 1, 500_000)
    rows: list[dict[str, Any]] = [
        {"id": 1, "at": 1_500},
        {"id": 1, "at": moment.replace(tzinfo=timezone.utc)},
        {"id": 1},
        {"id": 1, "at": 1_500_000},
        {"id": 1, "at": 1_500_000, "more": "x"},
    ]
    payloads = [
        avro_events(schema, number, row)[0]
        for number, (schema, row) in enumerate(zip(versions, rows, strict=True), start=1)
    ]
    with avro_registry(*versions) as fake:
        options = avro_options(fake.url)
        for number, expected in ((1, moment), (2, moment), (3, None), (5, moment)):
            given = [(None, payloads[number - 1])]
            assert short(read(options, given), "at", "id") == [(expected, 1)]
        with pytest.raises(MalformedRecordError) as raised:
            read(options, [(None, payloads[3])])
        assert (
            "(schema id 4): the field 'after.at' is without a semantic type in the schema of the "
            "payload, and io.debezium.time.MicroTimestamp in that of the query"
        ) in str(raised.value)


def test_avro_without_names_and_without_before() -> None:
    schema = avro_schema(at="long")
    del schema["fields"][0]
    schema["fields"][0]["type"][1] = {
        "type": "record",
        "name": "Value",
        "fields": [{"name": "at", "type": "long"}],
    }
    options = {"value.format": "avro", "value.schema": json.dumps(schema), "key.format": "raw"}
    types = {"at": pa.timestamp("us")}
    error = config_error(stages_with, options, types, ["at"])
    assert "the field 'after.at': it is wanted as timestamp_ntz, and no schema names" in error
    micros = {**options, "debezium.time.precision.mode": "microseconds"}
    row = {"after": {"at": 5}, "source": {"lsn": 1}, "op": "c", "ts_ms": 1}
    given: list[Record] = [(None, each[5:]) for each in avro(schema, 1, row)]
    assert read(micros, given, types, ["at"]) == [{"at": datetime(1970, 1, 1, 0, 0, 0, 5)}]


# Avro takes no logical type whose scale is above its precision: the payload is plain bytes.
SMALL = {
    "type": "bytes",
    "connect.name": f"{CONNECT}Decimal",
    "connect.parameters": {"scale": "5", "connect.decimal.precision": "3"},
    "logicalType": "decimal",
    "precision": 3,
    "scale": 5,
}
LARGE = {
    **SMALL,
    "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
    "precision": 10,
    "scale": 2,
}


@pytest.mark.parametrize(
    ("writer", "reader", "here", "there"),
    [
        (SMALL, LARGE, "binary", "decimal128(10, 2)"),
        ("bytes", "string", "binary", "string"),
        ("string", "bytes", "string", "binary"),
    ],
)
def test_avro_gives_bytes_no_other_meaning(writer: Any, reader: Any, here: str, there: str) -> None:
    with pytest.raises(MalformedRecordError) as raised:
        avro_read(writer, reader, b"\2\x7b")
    assert (
        f"the field 'after.at' is {here} in the schema of the payload, and {there} in that of the "
        "query"
    ) in str(raised.value)


def avro_read(writer: Any, reader: Any, value: bytes, mode: str = "FAILFAST") -> list[Any]:
    """Read an event that has a value of a writer's type, in bytes, in its column."""
    versions = [
        {"id": number, "schema": json.dumps(avro_envelope(each))}
        for number, each in enumerate((writer, reader), start=1)
    ]
    is_there = b"" if isinstance(writer, list) else b"\2"
    # before is null, after and its field are not, and op is c.
    payload = b"\0" + (1).to_bytes(4, "big") + b"\0\2" + is_there + value + b"\2c"
    with registry(subjects(**{"shop.public.items-value": versions})) as fake:
        options = {"value.format": "avro", "schema.registry.url": fake.url, "key.format": "raw"}
        rows = read({**options, "mode": mode}, [(None, payload)], None, ["at", "op"])
    return [row["at"] for row in rows]


def connect(kind: str, name: str, **others: str) -> dict[str, str]:
    return {"type": kind, "connect.name": name, **others}


AVRO_MICROS = connect("long", f"{TIME}MicroTimestamp")
AVRO_MOMENT = connect("long", f"{CONNECT}Timestamp", logicalType="timestamp-millis")
AVRO_DATE = connect("int", f"{CONNECT}Date", logicalType="date")
PLACEHOLDER = b"__debezium_unavailable_value"


def array_of(kind: Any) -> dict[str, Any]:
    return {"type": "array", "items": kind}


@pytest.mark.parametrize(
    ("writer", "reader", "value"),
    [
        (AVRO_MICROS, AVRO_MOMENT, varint(1_500_000)),
        (connect("long", f"{TIME}Timestamp"), AVRO_MOMENT, varint(1_500)),
        ("long", {"type": "long", "logicalType": "timestamp-millis"}, varint(1_500)),
        ({"type": "long", "logicalType": "timestamp-millis"}, "long", varint(1_500)),
        ("long", "double", varint(2**53 + 1)),
        ("int", "float", varint(16_777_217)),
        (
            array_of(connect("int", f"{TIME}Date")),
            array_of(AVRO_DATE),
            varint(len(PLACEHOLDER)) + b"".join(map(varint, PLACEHOLDER)) + b"\0",
        ),
        (connect("string", f"{TIME}IsoTimestamp"), AVRO_MICROS, b"\x281970-01-01T00:00:01Z"),
        (connect("string", f"{TIME}IsoDate"), connect("int", f"{TIME}Date"), b"\x142024-10-04"),
        (["int", "long"], AVRO_MICROS, b"\2" + varint(1_500)),
    ],
)
def test_avro_does_not_promote_a_column(writer: Any, reader: Any, value: bytes) -> None:
    assert avro_read(writer, reader, value, "PERMISSIVE") == [None]
    with pytest.raises(MalformedRecordError, match=r"the field 'after\.at(\[\])?' is "):
        avro_read(writer, reader, value)


def test_avro_keeps_numbers_that_are_wider_and_moments_that_are_converted() -> None:
    assert avro_read("int", "long", varint(5)) == [5]
    assert avro_read("float", "double", b"\0\0\xc0\x3f") == [1.5]
    millis = connect("long", f"{TIME}Timestamp")
    (first,) = avro_read(millis, AVRO_MICROS, varint(1_500))
    (second,) = avro_read(AVRO_MOMENT, AVRO_MICROS, varint(1_500))
    assert first == second
    assert first.isoformat() == "1970-01-01T00:00:01.500000"


def test_an_alias_is_refused() -> None:
    schema = avro_envelope(AVRO_MICROS)
    schema["fields"][0]["type"][1]["fields"][0]["aliases"] = ["then"]
    options = {"value.format": "avro", "value.schema": json.dumps(schema), "key.format": "raw"}
    assert "the field 'before.at' has aliases" in config_error(query_with(options).schema)


PROTO = "syntax = 'proto3'; import 'google/protobuf/wrappers.proto'; {0}"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("float at = 2;", "the field 'after.at' has the type float, not double"),
        ("int64 at = 2;", "the field 'after.at' has the type int64, not double"),
        ("double gone = 2; double at = 3;", "the field 'after.at' has the number 3, not 2"),
        ("double gone = 2;", "the field 'after.at' has the name gone"),
        ("google.protobuf.DoubleValue at = 2;", "the field 'after.at' "),
    ],
)
def test_protobuf_reads_no_column_in_the_place_of_another(written: str, expected: str) -> None:
    versions = [
        {"id": number, "schema": proto_envelope(columns), "schemaType": "PROTOBUF"}
        for number, columns in enumerate((written, "double at = 2;"), start=1)
    ]
    # The message, after with id 5, and op.
    payload = b"\0\0\0\0\1\0" + b"\x12\x02\x08\x05" + b"\x1a\1c"
    with registry(subjects(**{"shop.public.items-value": versions})) as fake:
        options = {"value.format": "protobuf", "schema.registry.url": fake.url}
        with pytest.raises(MalformedRecordError) as raised:
            read({**options, "key.format": "raw"}, [(None, payload)], None, ["at", "op"])
        assert expected in str(raised.value)
        # What is not wanted does no harm.
        found = read({**options, "key.format": "raw"}, [(None, payload)], None, ["id", "op"])
    assert found == [{"id": 5, "op": "c"}]


def proto_envelope(columns: str) -> str:
    row = f"message Value {{ int64 id = 1; {columns} }}"
    parts = "Value before = 1; Value after = 2; string op = 3; int64 ts_ms = 4;"
    return PROTO.format(f"message Envelope {{ {row} {parts} }}")


def read_proto(
    written: str, read_as: str, column: bytes, types: dict[str, pa.DataType] | None = None
) -> list[dict[str, Any]]:
    versions = [
        {"id": number, "schema": each, "schemaType": "PROTOBUF"}
        for number, each in enumerate((written, read_as), start=1)
    ]
    after = b"\x08\x05" + column
    payload = b"\0\0\0\0\1\0\x12" + bytes([len(after)]) + after + b"\x1a\1c"
    with registry(subjects(**{"shop.public.items-value": versions})) as fake:
        options = {
            "value.format": "protobuf",
            "schema.registry.url": fake.url,
            "key.format": "raw",
            "debezium.time.precision.mode": "microseconds",
        }
        names = ["at", "op", *(["_unavailable"] if "Wrapped" in written else [])]
        return read(options, [(None, payload)], types, names)


def test_protobuf_tells_the_reason_of_a_value_that_does_not_convert() -> None:
    schema = proto_envelope("string at = 2;")
    types = {"at": pa.timestamp("us", tz="UTC")}
    with pytest.raises(MalformedRecordError) as raised:
        read_proto(schema, schema, b"\x12\x03not", types)
    assert "field at: the value of io.debezium.time.ZonedTimestamp does not fit" in str(
        raised.value
    )


def test_protobuf_gives_a_smaller_number_no_unit() -> None:
    written, read_as = proto_envelope("int32 at = 2;"), proto_envelope("int64 at = 2;")
    assert read_proto(written, read_as, b"\x10\x05") == [{"at": 5, "op": "c"}]
    with pytest.raises(MalformedRecordError, match=r"'after\.at' is int32 in the schema of the"):
        read_proto(written, read_as, b"\x10\x05", {"at": pa.timestamp("us")})


def test_a_placeholder_in_a_wrapper() -> None:
    wrapped_text = "message Wrapped { string value = 1; }"
    schema = proto_envelope(f"{wrapped_text} Wrapped at = 2;")
    inner = b"\x0a" + bytes([len(PLACEHOLDER)]) + PLACEHOLDER
    found = read_proto(schema, schema, b"\x12" + bytes([len(inner)]) + inner)
    assert found == [{"at": None, "op": "c", "_unavailable": ["at"]}]


@pytest.mark.parametrize("symbols", ["A = 0; X = 1; B = 2;", "B = 0; A = 1;"])
def test_protobuf_gives_no_symbol_the_number_of_another(symbols: str) -> None:
    written = "enum Letter { A = 0; B = 1; } Letter at = 2;"
    read_as = f"enum Letter {{ {symbols} }} Letter at = 2;"
    with pytest.raises(MalformedRecordError, match=r"the field 'after\.at' has the new symbol"):
        read_proto(proto_envelope(written), proto_envelope(read_as), b"\x10\x01")
