"""Documents with schemas of Connect: types, units and other schemas than the query's."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import MalformedRecordError
from tests.formats.debezium.converters import ENVELOPE, KEY_SCHEMA, ROW, TOLD, told_records
from tests.formats.debezium.events import (
    CONNECT,
    DDL,
    JSON,
    TIME,
    Record,
    connect_envelope,
    connect_struct,
    dumped,
    event,
    named,
    query_with,
    read,
    short,
    wrapped,
)


def test_columns_are_those_of_a_schema_of_connect() -> None:
    options = {**JSON, "value.schema": json.dumps(ENVELOPE), "key.schema": json.dumps(KEY_SCHEMA)}
    schema = query_with(options).schema()
    assert {name: schema.field(name).type for name in TOLD} == {
        name: each[2] for name, each in TOLD.items()
    }
    assert schema.field("key").type == pa.struct([("tiny", pa.int8())])
    assert schema.names[len(TOLD) :] == [
        *("op", "ts_ms", "source", "key", "topic", "partition", "offset"),
        *("timestamp", "timestampType", "_unavailable"),
    ]
    rows = read(options, told_records())
    assert short(rows, "op", "key") == [(each, {"tiny": -5}) for each in "cud"]
    nothing = dict.fromkeys(TOLD)
    for row, expected in zip(rows, (ROW, nothing, ROW), strict=True):
        assert {name: row[name] for name in TOLD} == expected


def test_schemas_in_payloads_tell_units_where_the_query_has_types_only() -> None:
    types = {name: each[2] for name, each in TOLD.items()}
    rows = read(JSON, told_records(), types=types)
    assert {name: rows[0][name] for name in TOLD} == ROW
    # And another unit in another record.
    other = connect_envelope({"us": {"type": "int64", "name": f"{TIME}Timestamp"}})
    given = [*told_records(), (b'{"tiny":1}', wrapped(other, event("c", after={"us": 5})))]
    rows = read(JSON, given, types={"us": pa.timestamp("us")}, columns=["us"])
    assert short(rows, "us")[::3] == [(ROW["us"],), (datetime(1970, 1, 1, 0, 0, 0, 5_000),)]


def test_the_type_of_the_payload_may_be_wanted() -> None:
    raw = {
        "us": (pa.int64(), 1_500_001),
        "zoned": (pa.string(), "2026-01-02T03:04:05.6Z"),
        "day": (pa.int32(), 20_000),
        "price": (pa.binary(), b"\x7d"),
        "free": (pa.struct([("scale", pa.int32()), ("value", pa.binary())]), None),
        "wide": (pa.decimal128(5, 3), Decimal("12.500")),
    }
    types = {name: each for name, (each, _) in raw.items()}
    row = read(JSON, told_records(), types=types, columns=[*types])[0]
    assert row.pop("free") == {"scale": 3, "value": b"\x7d"}
    assert row == {name: value for name, (_, value) in raw.items() if name != "free"}


@pytest.mark.parametrize(
    ("name", "wanted", "reason"),
    [
        ("us", pa.timestamp("us", tz="UTC"), "the field 'after.us' is io.debezium.time.MicroTimes"),
        ("us", pa.date32(), "int64 in the payload, which cannot be read as date32"),
        ("c_ms", pa.date32(), "the field 'after.c_ms' is org.apache.kafka.connect.data.Timestamp"),
        ("odd", pa.string(), "the field 'after.odd' is io.debezium.data.VariableScaleDecimal"),
        ("small", pa.int8(), "the field 'after.small' has the type int16, not int8"),
        ("small", pa.timestamp("us"), "the field 'after.small' has the type int16, not timestamp"),
        ("flag", pa.string(), "the field 'after.flag' has the type bool, not string"),
        ("price", pa.decimal128(2, 2), "field price: the value of org.apache.kafka.connect.data.D"),
        ("free", pa.decimal128(3, 2), "field free: the value of io.debezium.data.VariableScaleDec"),
        ("days", pa.list_(pa.int64()), "the field 'after.days[]' is io.debezium.time.Date"),
    ],
)
def test_a_type_that_a_payload_does_not_have(name: str, wanted: pa.DataType, reason: str) -> None:
    with pytest.raises(MalformedRecordError) as raised:
        read(JSON, told_records(), types={name: wanted}, columns=[name])
    assert reason in str(raised.value)


def test_a_key_that_does_not_have_the_type_of_its_schema() -> None:
    schema = connect_struct({"price": TOLD["price"][0]})
    options = {**JSON, "value.schema": "price decimal(10, 2)", "key.schema": json.dumps(schema)}
    given = [(wrapped(schema, {"price": "AAAAAAAAAAAAAAAAAAA="}), dumped(event("d")))]
    assert short(read(options, given), "price", "key") == [
        (Decimal("0.00"), {"price": Decimal("0.00")})
    ]
    given = [(wrapped(schema, {"price": "fwAAAAAAAAAAAAA="}), dumped(event("d")))]
    with pytest.raises(MalformedRecordError) as raised:
        read(options, given)
    assert "the key (schema id in the payload): field price: the value of org.apache" in str(
        raised.value
    )


def test_documents_whose_schemas_have_no_row() -> None:
    message = connect_struct({"op": "string", "ts_ms": "int64"})
    given = [(None, wrapped(message, {"op": "m", "ts_ms": 1}))]
    options = {**DDL, "debezium.otherEvents": "keep"}
    assert short(read(options, given), "op", "id", "source") == [("m", None, None)]
    heartbeat = connect_struct({"ts_ms": "int64"}, "io.debezium.connector.common.Heartbeat")
    with pytest.raises(MalformedRecordError, match="as it has no field 'op': heartbeats, schema"):
        read(DDL, [(None, wrapped(heartbeat, {"ts_ms": 1}))])


def test_rows_of_an_envelope_have_one_type() -> None:
    schema = connect_envelope({"id": "int64"})
    schema["fields"][0] = {**connect_struct({"id": TOLD["us"][0]}), "field": "before"}
    given = [(None, wrapped(schema, event("c", after={"id": 1})))]
    types = {"id": pa.int64()}
    with pytest.raises(MalformedRecordError) as raised:
        read(JSON, given, types={"id": pa.timestamp("us")}, columns=["id"])
    assert "'after.id' has the type int64, not timestamp[us]" in str(raised.value)
    iso = connect_envelope({"id": TOLD["iso"][0]})
    iso["fields"][0] = schema["fields"][0]
    at = [(None, wrapped(iso, event("c", after={"id": "2026-01-01T00:00:00Z"})))]
    with pytest.raises(MalformedRecordError, match="before and after of the envelope differ"):
        read(JSON, at, types={"id": pa.timestamp("us")}, columns=["id"])
    with pytest.raises(MalformedRecordError, match="before and after of the envelope differ"):
        read(JSON, given, types=types, columns=["id"])
    schema["fields"][0] = {**connect_struct({"id": "string"}), "field": "before"}
    with pytest.raises(MalformedRecordError, match=r"'before\.id' has the type string, not int64"):
        read(JSON, [(None, wrapped(schema, event("c", after={"id": 1})))], types=types)


def test_wider_numbers_and_columns_that_are_new() -> None:
    types = {"small": pa.int64(), "real": pa.float64(), "added": pa.timestamp("us")}
    row = read(JSON, told_records(), types=types, columns=[*types])[0]
    assert row == {"small": 300, "real": 0.5, "added": None}


def test_many_records_of_several_schemas_keep_their_order() -> None:
    schemas = [connect_envelope({"id": "int64", f"x{each}": "string"}) for each in range(40)]
    given: list[Record] = []
    for place in range(400):
        payload = event("c", after={"id": place})
        schema = schemas[place * 7 % 41 - 1] if place * 7 % 41 else None
        value = dumped(payload) if schema is None else wrapped(schema, payload)
        given.append((None, value if place % 10 else None))
    rows = read(JSON, given, types={"id": pa.int64()}, columns=["id", "offset"])
    expected = [place for place in range(400) if place % 10]
    assert short(rows, "id", "offset") == [(each, each) for each in expected]


MICRO_TIMESTAMP = named("int64", f"{TIME}MicroTimestamp")
MICRO_TIME = named("int64", f"{TIME}MicroTime")
CENTS = named("bytes", f"{CONNECT}Decimal", **{"scale": "2", "connect.decimal.precision": "9"})
ZONED = named("string", f"{TIME}ZonedTimestamp")


def document(kind: Any, value: Any) -> Record:
    return None, wrapped(connect_envelope({"at": kind}), event("c", after={"at": value}))


def read_by(reader: Any, *given: Record, wanted: pa.DataType | None = None) -> list[Any]:
    schema = dumped(connect_envelope({"at": reader})).decode()
    options = {"value.format": "json", "value.schema": schema, "key.format": "raw"}
    types = {} if wanted is None else {"at": wanted}
    return [row["at"] for row in read(options, given, types, ["at", "op"])]


@pytest.mark.parametrize(
    ("writer", "value", "reader", "here", "there"),
    [
        ("int64", 5, MICRO_TIMESTAMP, "without a semantic type", f"{TIME}MicroTimestamp"),
        (MICRO_TIMESTAMP, 5, "int64", f"{TIME}MicroTimestamp", "without a semantic type"),
        (MICRO_TIME, 5, "int64", f"{TIME}MicroTime", "without a semantic type"),
        (MICRO_TIMESTAMP, 5, MICRO_TIME, f"{TIME}MicroTimestamp", f"{TIME}MicroTime"),
        ("bytes", "AAE=", CENTS, "without a semantic type", f"{CONNECT}Decimal"),
        (CENTS, "AAE=", "bytes", f"{CONNECT}Decimal", "without a semantic type"),
        (named("int32", f"{TIME}Date"), 5, "int32", f"{TIME}Date", "without a semantic type"),
    ],
)
def test_a_document_with_another_unit_is_refused(
    writer: Any, value: Any, reader: Any, here: str, there: str
) -> None:
    with pytest.raises(MalformedRecordError) as raised:
        read_by(reader, document(writer, value))
    expected = (
        f"the field 'after.at' is {here} in the schema of the payload, and {there} in that of the "
        "query"
    )
    assert expected in str(raised.value)


def test_a_unit_that_is_converted_may_change() -> None:
    millis = named("int64", f"{TIME}Timestamp")
    given = [document(millis, 1_500), document(MICRO_TIMESTAMP, 1_500_000)]
    first, second = read_by(MICRO_TIMESTAMP, *given)
    assert first == second
    # As the number of the payload it would have two units.
    with pytest.raises(MalformedRecordError, match=r"io.debezium.time.Timestamp in the"):
        read_by(MICRO_TIMESTAMP, *given, wanted=pa.int64())


def test_a_text_that_becomes_a_zoned_moment_and_back() -> None:
    text = "2026-01-02T03:04:05.5Z"
    given = [document("string", text), document(ZONED, text)]
    first, second = read_by(ZONED, *given)
    assert first == second
    assert first.isoformat() == "2026-01-02T03:04:05.500000+00:00"
    assert read_by("string", *given) == [text, text]
    with pytest.raises(MalformedRecordError) as raised:
        read_by(ZONED, document("string", "some"))
    assert "field at: the value of io.debezium.time.ZonedTimestamp does not fit" in str(
        raised.value
    )


@pytest.mark.parametrize(
    ("kind", "value"), [("string", '"20240101"'), ("int64", "1500"), ("int32", "20000")]
)
@pytest.mark.parametrize("mode", ["microseconds", "isostring"])
def test_a_ddl_gives_no_meaning_to_a_document_with_a_schema(
    kind: str, value: str, mode: str
) -> None:
    wanted = "date" if kind == "int32" else "timestamp_ntz"
    options = {
        "value.format": "json",
        "value.schema": f"at {wanted}",
        "key.format": "raw",
        "debezium.time.precision.mode": mode,
    }
    with pytest.raises(MalformedRecordError, match=rf"the field 'after\.at' has the type {kind}"):
        read(options, [document(kind, json.loads(value))], None, ["at", "op"])


@pytest.mark.parametrize(
    "kind",
    [
        named("string", f"{TIME}Date"),
        named("boolean", f"{TIME}MicroTimestamp"),
        named("double", f"{CONNECT}Timestamp"),
        named("int64", ZONED["name"]),
    ],
)
def test_a_name_of_connect_on_another_type_means_nothing(kind: dict[str, Any]) -> None:
    value = {"string": "12", "boolean": True, "double": 1.5, "int64": 5}[kind["type"]]
    assert read_by(kind, document(kind, value)) == [value]


@pytest.mark.parametrize("scale", ["--5", "٢", "1e3", "", "9999999"])
def test_a_scale_that_is_no_number(scale: str) -> None:
    decimal = named("bytes", f"{CONNECT}Decimal", scale=scale)
    assert read_by(decimal, document(decimal, "AAE=")) == [b"\0\1"]


def test_a_name_that_is_no_text() -> None:
    schema = connect_envelope({"at": "int64"})
    schema["fields"][1]["fields"].append({"type": "int64", "field": "\ud800"})
    text = json.dumps({"schema": schema, "payload": event("c", after={"at": 1})}).encode()
    with pytest.raises(MalformedRecordError, match="'before' has a field whose name is not valid"):
        read_by("int64", (None, text))
