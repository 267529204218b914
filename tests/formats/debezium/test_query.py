"""Events of Debezium as rows: in JSON with and without schemas, Avro and Protobuf."""

from __future__ import annotations

import json
import logging
import math
import pickle
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.avro.format import AvroFormat
from kafka_formats.errors import MalformedRecordError, SchemaEvolvedError
from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.decoder import BrokenRecord
from kafka_formats.query.formats import FORMATS
from kafka_formats.stage import through
from tests.config_error import config_error
from tests.fakes.registry import registry, subjects
from tests.formats.debezium.events import (
    SOURCE,
    TS_MS,
    Record,
    connect_envelope,
    connect_struct,
    dumped,
    event,
    query_with,
    read,
    records,
    rows_of,
    stages_with,
    wrapped,
)
from tests.formats.protobuf.messages import message_class

JSON = {"value.format": "json"}
DDL = {**JSON, "value.schema": "id bigint, name string"}
KEY_1, KEY_2 = dumped({"id": 1}), dumped({"id": 2})
ANN = {"id": 1, "name": "ann"}
INSERT: Record = (KEY_1, dumped(event("c", after=ANN)))
UPDATE: Record = (KEY_1, dumped(event("u", ANN, {"id": 1, "name": "bob"})))
DELETE: Record = (KEY_1, dumped(event("d", {"id": 1, "name": "bob"})))
TOMBSTONE: Record = (KEY_1, None)
TRUNCATE: Record = (None, dumped(event("t")))
MESSAGE: Record = (None, dumped({"op": "m", "ts_ms": 1, "message": {"prefix": "p"}}))


def short(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_a_row_has_the_change_its_source_and_its_place() -> None:
    (row,) = read(DDL, [INSERT])
    source = {name: each for name, each in row["source"].items() if each is not None}
    assert source == SOURCE
    del row["source"]
    assert row == {
        "id": 1,
        "name": "ann",
        "op": "c",
        "ts_ms": TS_MS,
        "topic": "shop.public.items",
        "partition": 3,
        "offset": 0,
        "timestamp": datetime.fromtimestamp(TS_MS / 1_000, timezone.utc),
        "timestampType": 0,
        "_unavailable": [],
    }


def test_snapshots_inserts_updates_and_deletes(caplog: pytest.LogCaptureFixture) -> None:
    snapshot = (KEY_2, dumped(event("r", after={"id": 2, "name": None})))
    with caplog.at_level(logging.INFO):
        rows = read(DDL, [snapshot, INSERT, UPDATE, DELETE, TOMBSTONE, TRUNCATE, MESSAGE])
    assert short(rows, "op", "id", "name", "offset") == [
        ("r", 2, None, 0),
        ("c", 1, "ann", 1),
        ("u", 1, "bob", 2),
        ("d", 1, "bob", 3),
    ]
    assert "truncated tables or messages that were left out: 2." in caplog.text
    assert "Tombstones that were left out: 1." in caplog.text


def test_other_events_are_kept_if_they_are_wanted() -> None:
    rows = read({**DDL, "debezium.otherEvents": "keep"}, [TRUNCATE, MESSAGE, INSERT])
    assert short(rows, "op", "id", "name", "_unavailable") == [
        ("t", None, None, []),
        ("m", None, None, []),
        ("c", 1, "ann", []),
    ]


def test_a_delete_has_the_columns_of_its_key() -> None:
    rows = read(
        {**DDL, "key.schema": "id bigint"},
        [
            (KEY_1, dumped(event("d", {"id": 1, "name": None}))),
            (KEY_2, dumped(event("d", {"name": "x"}))),
            (KEY_2, dumped(event("d"))),
        ],
    )
    assert short(rows, "id", "name", "key") == [
        (1, None, {"id": 1}),
        (2, "x", {"id": 2}),
        (2, None, {"id": 2}),
    ]


@pytest.mark.parametrize(
    ("options", "key"), [({}, None), ({"key.format": "raw"}, KEY_1), ({}, b'{"id": "x"}')]
)
def test_a_delete_that_does_not_tell_its_row(options: Mapping[str, str], key: bytes | None) -> None:
    given = [INSERT, (key, dumped(event("d")))]
    with pytest.raises(MalformedRecordError) as raised:
        read({**DDL, **options}, given)
    assert "shop.public.items-3 at offset 1: the " in str(raised.value)
    if key != b'{"id": "x"}':
        assert "has neither before nor a decoded key" in str(raised.value)
    dropped = read({**DDL, **options, "mode": "DROPMALFORMED"}, given)
    assert short(dropped, "offset") == [(0,)]
    permitted = read({**DDL, **options, "mode": "PERMISSIVE"}, given)
    assert short(permitted, "offset", "id") == [(0, 1), (1, None)]
    assert permitted[0]["_error"] is None
    assert permitted[1]["_error"]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"ts_ms": 1}, "it is not a change event of Debezium: it has no op. Heartbeats, schema"),
        ({"databaseName": "x", "ddl": "y", "op": None}, "it is not a change event of Debezium"),
        (event("x", after=ANN), "field op: it is not one of r, c, u, d, t, m"),
        (event("u", before=ANN), "field after: it is missing, and the event is not a delete"),
        (event("c", after={"id": "1"}), "field after.id: it is a string, not a whole number"),
        ([1], "it is an array, not an object"),
        (b"", "it is empty, and no event"),
        (b" \n", "it is empty, and no event"),
    ],
)
def test_what_is_no_event_is_broken(payload: Any, reason: str) -> None:
    raw = payload if isinstance(payload, bytes) else dumped(payload)
    given = [INSERT, (KEY_1, raw), TOMBSTONE, UPDATE]
    with pytest.raises(MalformedRecordError) as raised:
        read(DDL, given)
    assert f"shop.public.items-3 at offset 1: the value: {reason}" in str(raised.value)
    assert short(read({**DDL, "mode": "DROPMALFORMED"}, given), "offset") == [(0,), (3,)]
    rows = read({**DDL, "mode": "PERMISSIVE"}, given)
    assert short(rows, "offset", "op", "id") == [(0, "c", 1), (1, None, None), (3, "u", 1)]
    assert rows[1]["_error"].startswith(f"the value: {reason}")
    assert rows[1]["_raw"] == raw
    assert rows[1]["_raw_key"] == KEY_1
    assert rows[0]["_raw"] is None


def test_a_key_that_is_broken_has_its_own_fault() -> None:
    options = {**DDL, "key.schema": "id bigint", "mode": "PERMISSIVE"}
    (row,) = read(options, [(b"{", INSERT[1])])
    assert (row["id"], row["key"]) == (1, None)
    assert row["_error"].startswith("the key: it is not JSON")


# Types that Connect's schemas tell.

TIME, DATA = "io.debezium.time.", "io.debezium.data."
CONNECT = "org.apache.kafka.connect.data."
MICROS, UTC_MICROS = pa.timestamp("us"), pa.timestamp("us", tz="UTC")


def named(kind: str, name: str, **parameters: str) -> dict[str, Any]:
    return {"type": kind, "name": name, **({"parameters": parameters} if parameters else {})}


def decimal(scale: int, precision: int) -> dict[str, Any]:
    told = {"scale": f"{scale}", "connect.decimal.precision": f"{precision}"}
    return named("bytes", f"{CONNECT}Decimal", **told)


def free(**fields: str) -> dict[str, Any]:
    return connect_struct(fields) | {"name": f"{DATA}VariableScaleDecimal"}


SECOND = datetime(1970, 1, 1, 0, 0, 1, 500_001)
MIDNIGHT = "2026-01-02T03:04:05"
STRUCT_OF_X = pa.struct([("x", pa.int8())])
DATES = pa.list_(pa.field("element", pa.date32()))
TOLD: dict[str, tuple[Any, Any, pa.DataType, Any]] = {
    # Column -> its type in Connect, the value in JSON, the type here, and the value here.
    "flag": ("boolean", True, pa.bool_(), True),
    "tiny": ("int8", -5, pa.int8(), -5),
    "small": ("int16", 300, pa.int16(), 300),
    "real": ("float", 0.5, pa.float32(), 0.5),
    "twice": ("double", 0.1, pa.float64(), 0.1),
    "data": ("bytes", "AAE=", pa.binary(), b"\0\1"),
    "doc": (named("string", f"{DATA}Json"), '{"a":1}', pa.string(), '{"a":1}'),
    "day": (named("int32", f"{TIME}Date"), 20_000, pa.date32(), date(2024, 10, 4)),
    "ms": (named("int64", f"{TIME}Timestamp"), 1_500, MICROS, SECOND.replace(microsecond=500_000)),
    "us": (named("int64", f"{TIME}MicroTimestamp"), 1_500_001, MICROS, SECOND),
    "ns": (named("int64", f"{TIME}NanoTimestamp"), 1_500_001_000, MICROS, SECOND),
    "zoned": (
        named("string", f"{TIME}ZonedTimestamp"),
        f"{MIDNIGHT}.6Z",
        UTC_MICROS,
        datetime(2026, 1, 2, 3, 4, 5, 600_000, timezone.utc),
    ),
    "iso": (
        named("string", f"{TIME}IsoTimestamp"),
        f"{MIDNIGHT}Z",
        MICROS,
        datetime(2026, 1, 2, 3, 4, 5),
    ),
    "iso_day": (named("string", f"{TIME}IsoDate"), "2026-01-02Z", pa.date32(), date(2026, 1, 2)),
    "clock": (named("int64", f"{TIME}MicroTime"), 86_399_000_000, pa.int64(), None),
    "zoned_clock": (named("string", f"{TIME}ZonedTime"), "10:00:00Z", pa.string(), None),
    "lasts": (named("int64", f"{TIME}MicroDuration"), 5, pa.int64(), None),
    "span": (named("string", f"{TIME}Interval"), "P1Y", pa.string(), None),
    "year": (named("int32", f"{TIME}Year"), 2026, pa.int32(), None),
    "c_day": (named("int32", f"{CONNECT}Date"), 1, pa.date32(), date(1970, 1, 2)),
    "c_clock": (named("int32", f"{CONNECT}Time"), 5, pa.int32(), None),
    "c_ms": (
        named("int64", f"{CONNECT}Timestamp"),
        -1,
        MICROS,
        datetime(1969, 12, 31, 23, 59, 59, 999_000),
    ),
    "price": (decimal(2, 10), "fQ==", pa.decimal128(10, 2), Decimal("1.25")),
    "wide": (decimal(1, 50), "fQ==", pa.string(), "12.5"),
    "free": (
        free(scale="int32", value="bytes"),
        {"scale": 3, "value": "fQ=="},
        pa.string(),
        "0.125",
    ),
    "odd": (free(x="int8"), {"x": 1}, STRUCT_OF_X, {"x": 1}),
    "days": (
        {"type": "array", "items": named("int32", f"{TIME}Date")},
        [0, None],
        DATES,
        [date(1970, 1, 1), None],
    ),
    "tags": (
        {"type": "map", "keys": {"type": "string"}, "values": {"type": "string"}},
        {"a": "b"},
        pa.map_(pa.string(), pa.string()),
        [("a", "b")],
    ),
}
CONNECT_ROW = {name: each[0] for name, each in TOLD.items()}
JSON_ROW = {name: each[1] for name, each in TOLD.items()}
ROW = {name: each[1] if each[3] is None else each[3] for name, each in TOLD.items()}
ENVELOPE = connect_envelope(CONNECT_ROW)
KEY_SCHEMA = connect_struct({"tiny": "int8"}, "shop.public.items.Key")


def told_records() -> list[Record]:
    key = wrapped(KEY_SCHEMA, {"tiny": -5})
    return [
        (key, wrapped(ENVELOPE, event("c", after=JSON_ROW))),
        (key, wrapped(ENVELOPE, event("u", JSON_ROW, dict.fromkeys(JSON_ROW)))),
        (key, wrapped(ENVELOPE, event("d", JSON_ROW))),
        (key, None),
    ]


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


# JSON without schemas.


@pytest.mark.parametrize(
    ("mode", "value", "expected"),
    [
        ("connect", 1_500, datetime(1970, 1, 1, 0, 0, 1, 500_000)),
        ("microseconds", 1_500, datetime(1970, 1, 1, 0, 0, 0, 1_500)),
        ("nanoseconds", 1_500_000, datetime(1970, 1, 1, 0, 0, 0, 1_500)),
        ("isostring", "1970-01-01T00:00:01Z", datetime(1970, 1, 1, 0, 0, 1)),
    ],
)
def test_the_unit_of_moments_is_an_option(mode: str, value: Any, expected: datetime) -> None:
    options = {**JSON, "value.schema": "at timestamp_ntz", "debezium.time.precision.mode": mode}
    given = [(None, dumped(event("c", after={"at": value})))]
    assert short(read(options, given), "at") == [(expected,)]


def test_dates_may_be_texts() -> None:
    options = {
        **JSON,
        "value.schema": "day date",
        "debezium.time.precision.mode": "isostring",
    }
    given = [(None, dumped(event("c", after={"day": "2026-01-02Z"})))]
    assert short(read(options, given), "day") == [(date(2026, 1, 2),)]


def test_the_unit_of_moments_is_not_guessed() -> None:
    options = {**JSON, "value.schema": "at timestamp_ntz"}
    given = [(None, dumped(event("c", after={"at": 1_500})))]
    with pytest.raises(MalformedRecordError) as raised:
        read(options, given)
    assert (
        "at offset 0: the value: field at: it is wanted as timestamp_ntz, and no schema tells the "
        "unit of its numbers: set debezium.time.precision.mode to connect,"
    ) in str(raised.value)
    without = [(dumped({"at": None}), dumped(event("c", after={"at": None})))]
    assert short(read(options, without), "at") == [(None,)]


@pytest.mark.parametrize(
    ("ddl", "value", "expected"),
    [
        ("date", 20_000, date(2024, 10, 4)),
        ("decimal(4, 2)", "fQ==", Decimal("1.25")),
        ("binary", "fQ==", b"\x7d"),
        ("timestamp", "2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, 0, timezone.utc)),
        ("struct<scale: int, value: binary>", {"scale": 1, "value": "fQ=="}, None),
        ("array<date>", [1], [date(1970, 1, 2)]),
        ("map<string, timestamp>", {"a": "1970-01-01T00:00:00Z"}, None),
    ],
)
def test_types_without_schemas(ddl: str, value: Any, expected: Any) -> None:
    options = {**JSON, "value.schema": f"x {ddl}"}
    (row,) = read(options, [(None, dumped(event("c", after={"x": value})))])
    if expected is not None:
        assert row["x"] == expected
    elif isinstance(row["x"], dict):
        assert row["x"] == {"scale": 1, "value": b"\x7d"}
    else:
        assert row["x"] == [("a", datetime(1970, 1, 1, tzinfo=timezone.utc))]


@pytest.mark.parametrize(
    ("ddl", "value"),
    [
        # Each would be read as something else by guessing.
        ("decimal(10, 2)", 1234),
        ("decimal(10, 2)", 12.5),
        ("decimal(2, 2)", "AMg="),
        ("timestamp", 1_772_359_200),
        ("timestamp", "2026-01-02T03:04:05"),
        ("date", "2026-01-02"),
        ("bigint", "1"),
    ],
)
def test_nothing_is_guessed_without_schemas(ddl: str, value: Any) -> None:
    options = {**JSON, "value.schema": f"x {ddl}"}
    for count in (1, 100):
        good = (None, dumped(event("c", after={"x": None})))
        given = [good, (None, dumped(event("c", after={"x": value}))), *[good] * count]
        with pytest.raises(
            MalformedRecordError, match=r"at offset 1: the value: field (after\.)?x"
        ):
            read(options, given)


def test_decimals_may_be_numbers() -> None:
    options = {**JSON, "value.schema": "x decimal(10, 2)", "debezium.decimal.format": "NUMERIC"}
    given = [(None, dumped(event("c", after={"x": 12.5})))]
    assert short(read(options, given), "x") == [(Decimal("12.50"),)]
    schema = connect_envelope({"x": TOLD["price"][0]})
    told = [(None, wrapped(schema, event("c", after={"x": 12.5})))]
    assert short(read(options, told), "x") == [(Decimal("12.50"),)]
    with pytest.raises(MalformedRecordError, match="a decimal with the scale 2, which cannot be"):
        read({**options, "value.schema": "x decimal(10, 1)"}, told)


NUMERIC = {**JSON, "debezium.decimal.format": "NUMERIC"}
LONG = "12345678901234567890.123456789"


def event_of(number: str, schema: Mapping[str, Any] | None = None) -> Record:
    """An event with a number as it is, which Python would make a double."""
    payload = event("c", after={"x": "NUMBER"})
    text = dumped(payload) if schema is None else wrapped(schema, payload)
    return None, text.replace(b'"NUMBER"', number.encode())


@pytest.mark.parametrize(
    ("ddl", "number", "expected"),
    [
        ("decimal(38, 9)", LONG, Decimal(LONG)),
        ("decimal(10, 2)", "1.250", Decimal("1.25")),
        ("array<decimal(10, 2)>", "[1.5]", [Decimal("1.50")]),
        ("string", LONG, LONG),
        ("string", f'{{"a": [{LONG}]}}', f'{{"a":[{LONG}]}}'),
        ("double", "9007199254740992", 2.0**53),
        ("double", "1e300", 1e300),
        ("float", "16777216", 2.0**24),
        ("array<double>", '["Infinity", 0.1]', [math.inf, 0.1]),
    ],
)
def test_numbers_keep_all_of_their_digits(ddl: str, number: str, expected: Any) -> None:
    options = {**NUMERIC, "value.schema": f"x {ddl}"}
    for count in (1, 100):
        rows = read(options, [event_of(number)] * count)
        assert short(rows, "x") == [(expected,)] * count


@pytest.mark.parametrize(
    ("ddl", "number"),
    [
        ("decimal(10, 2)", "1.255"),
        ("decimal(10, 2)", "1e-3"),
        ("decimal(10, 2)", '"1.255"'),
        ("array<decimal(10, 2)>", "[1, 1.255]"),
        ("map<string, decimal(10, 2)>", '{"a": 0.001}'),
        ("double", "1e400"),
        ("double", "-1e400"),
        ("double", "9007199254740993"),
        ("array<double>", "[9007199254740993]"),
        ("float", "1e300"),
        ("float", "16777217"),
        ("double", "9" * 5_000),
    ],
)
def test_no_number_is_rounded(ddl: str, number: str) -> None:
    options = {**NUMERIC, "value.schema": f"x {ddl}"}
    good = event_of("null")
    for count in (1, 100):
        with pytest.raises(
            MalformedRecordError, match=r"at offset 1: .* field after\.x.*: the num"
        ):
            read(options, [good, event_of(number), *[good] * count])


@pytest.mark.parametrize(
    ("number", "text"), [(LONG, LONG), ("0E-9", "0.000000000"), ("1E+2", "100"), ("0.10", "0.10")]
)
def test_a_decimal_without_a_precision_is_a_text_with_its_digits(number: str, text: str) -> None:
    schema = connect_envelope({"x": named("bytes", f"{CONNECT}Decimal", scale="9")})
    record = event_of(number, schema)
    for options in (NUMERIC, {**NUMERIC, "value.schema": json.dumps(schema)}):
        types = {"x": pa.string()}
        assert short(read(options, [record], types=types), "x") == [(text,)]


# Columns.


def test_a_part_of_the_columns() -> None:
    given = [INSERT, (KEY_1, dumped(event("c", after={"id": 1, "name": 5, "more": {}})))]
    assert read(DDL, given, columns=["offset", "id"]) == [
        {"offset": 0, "id": 1},
        {"offset": 1, "id": 1},
    ]
    types = {"source": pa.struct([("lsn", pa.int64())])}
    assert read(DDL, [INSERT], types=types, columns=["op", "source"]) == [
        {"op": "c", "source": {"lsn": SOURCE["lsn"]}}
    ]
    # Without columns of the table rows are not looked at.
    assert read(DDL, [(None, dumped(event("c")))], columns=["op"]) == [{"op": "c"}]


def test_a_delete_without_columns_of_its_key() -> None:
    given = [(KEY_1, dumped(event("d")))]
    known = {**DDL, "key.schema": "id bigint"}
    assert read(known, given, columns=["name", "op"]) == [{"name": None, "op": "d"}]
    assert read(known, given, columns=["name", "key"]) == [{"name": None, "key": {"id": 1}}]
    assert read(DDL, given, columns=["name", "op"]) == [{"name": None, "op": "d"}]


def test_names_of_the_table_and_of_changes() -> None:
    options = {**JSON, "value.schema": "id bigint, Op string, timestamp string, `key` int"}
    error = config_error(query_with(options).schema)
    assert error == (
        "The table has a column 'Op', and so has each change: set debezium.prefix, for example to "
        "__, which is put before the names of columns that are not the table's."
    )
    row = {"id": 1, "Op": "x", "timestamp": "y", "key": 5}
    given = [(dumped({"id": 1}), dumped(event("c", after=row)))]
    (found,) = read({**options, "debezium.prefix": "__"}, given)
    assert {name: found[name] for name in row} == row
    assert (found["__op"], found["__topic"], found["__offset"]) == ("c", "shop.public.items", 0)
    # Without the columns that have two meanings.
    assert read(options, given, columns=["id", "offset"]) == [{"id": 1, "offset": 0}]
    assert "has a column 'key'" in config_error(stages_with, options, None, ["id", "key"])
    fixed = {**JSON, "value.schema": "_unavailable string"}
    assert "without it, in .schema(...)" in config_error(query_with(fixed).schema)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([pa.field("x", pa.int64())], "There is no column 'x'; there are id, name, op, ts_ms"),
        ([pa.field("id", pa.int64(), nullable=False)], "Column 'id' and all of its parts must be"),
        ([pa.field("op", pa.int64())], "Column 'op' is string, not int64."),
        ([pa.field("id", pa.int64())] * 2, "Column 'id' is wanted twice"),
        ([pa.field("headers", pa.string())], "Column 'headers' needs the option includeHeaders"),
        (
            [pa.field("_unavailable", pa.list_(pa.field("element", pa.string())))],
            "Column '_unavailable' names columns of the table",
        ),
    ],
)
def test_columns_that_are_not_there(columns: list[pa.Field], message: str) -> None:
    assert message in config_error(query_with(DDL).stages, pa.schema(columns))


def test_the_columns_of_a_table_must_be_known() -> None:
    error = config_error(query_with(JSON).schema)
    assert "The columns of the table are not known: set value.schema to them" in error
    single = {**JSON, "value.schema": "bigint"}
    assert "must be the columns of the table" in config_error(query_with(single).schema)


def test_types_that_json_does_not_have() -> None:
    error = config_error(stages_with, JSON, {"x": pa.duration("us")}, ["x"])
    assert "The values cannot be read: the field 'before.x' has the type duration[us]" in error


def test_keys_are_structs() -> None:
    error = config_error(query_with({**DDL, "key.schema": "bigint"}).schema)
    assert error == "The keys are int64, and no struct as Debezium's: set key.format to raw."


def test_headers() -> None:
    query = query_with(DDL, has_headers=True)
    assert "headers" in query.schema().names
    (row,) = rows_of(query.stages(query.wanted(["id", "headers"], {})), [INSERT])
    assert row == {"id": 1, "headers": None}


def test_a_column_has_one_type_in_rows_and_keys() -> None:
    types = {"key": pa.struct([("id", pa.int32())])}
    error = config_error(stages_with, DDL, types, ["id", "key"])
    assert "Column 'id' is wanted as int64, and in keys as int32: name one type for both." in error


# Values that are not available.

MARK = "__debezium_unavailable_value"


def test_values_that_are_not_available_are_told_apart() -> None:
    options = {**JSON, "value.schema": "id bigint, a string, b binary, c array<int>"}
    row = {
        "id": 1,
        "a": MARK,
        "b": "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==",
        "c": [*MARK.encode()],
    }
    given = [INSERT, (KEY_1, dumped(event("u", None, row)))]
    rows = read(options, given)
    assert short(rows, "id", "a", "b", "c", "_unavailable") == [
        (1, None, None, None, []),
        (1, None, None, None, ["a", "b", "c"]),
    ]
    # They are what Debezium wrote for a query that does not ask.
    rows = read(options, given, columns=["a", "b", "c"])
    assert short(rows[1:], "a", "b", "c") == [(MARK, MARK.encode(), [*MARK.encode()])]
    other = {**options, "debezium.unavailable.value.placeholder": "hex:3f3f"}
    assert short(read(other, given), "_unavailable") == [([],), ([],)]
    rows = read(other, [(KEY_1, dumped(event("u", None, row | {"a": "??"})))])
    assert short(rows, "a", "_unavailable") == [(None, ["a"])]


# Avro and Protobuf.


def avro_schema(**columns: Any) -> dict[str, Any]:
    """The schema that Confluent's converter makes of an envelope."""
    fields = [
        {"name": name, "type": ["null", kind], "default": None} for name, kind in columns.items()
    ]
    value = {"type": "record", "name": "Value", "fields": fields}
    source = {
        "type": "record",
        "name": "Source",
        "namespace": "io.debezium.connector.postgresql",
        "fields": [{"name": "lsn", "type": ["null", "long"], "default": None}],
    }
    return {
        "type": "record",
        "name": "Envelope",
        "namespace": "shop.public.items",
        "fields": [
            {"name": "before", "type": ["null", value], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "source", "type": source},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"], "default": None},
        ],
        "connect.name": "shop.public.items.Envelope",
    }


def semantic(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "connect.version": 1, "connect.name": name, **more}


def avro(schema: Mapping[str, Any], schema_id: int, *values: Mapping[str, Any]) -> list[bytes]:
    """Framed payloads."""
    text = SchemaText(json.dumps(schema))
    encoded = AvroFormat().encoder(text).encode(pa.array(values, AvroFormat().type_of(text)))
    return [b"\0" + schema_id.to_bytes(4, "big") + each for each in encoded.to_pylist()]


KEY_AVRO = {
    "type": "record",
    "name": "Key",
    "fields": [{"name": "id", "type": "long"}],
    "connect.name": "shop.public.items.Key",
}
PRICE = semantic(
    "bytes",
    f"{CONNECT}Decimal",
    logicalType="decimal",
    precision=10,
    scale=2,
    **{"connect.parameters": {"scale": "2", "connect.decimal.precision": "10"}},
)
WIDE = semantic(
    "bytes",
    f"{CONNECT}Decimal",
    logicalType="decimal",
    precision=64,
    scale=2,
    **{"connect.parameters": {"scale": "2"}},
)
AT = semantic("long", f"{TIME}MicroTimestamp")
FREE = semantic("record", "io.debezium.data.VariableScaleDecimal") | {
    "name": "VariableScaleDecimal",
    "namespace": "io.debezium.data",
    "fields": [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}],
}
FULL = avro_schema(
    id="long",
    price=PRICE,
    wide=WIDE,
    at=AT,
    ms=semantic("long", f"{CONNECT}Timestamp", logicalType="timestamp-millis"),
    day=semantic("int", f"{TIME}Date"),
    zoned=semantic("string", f"{TIME}ZonedTimestamp"),
    free=FREE,
    moments={"type": "array", "items": ["null", AT]},
)
AVRO_ROW: dict[str, Any] = {
    "id": 1,
    "price": Decimal("1.25"),
    "wide": "123456789012345678901234567890123456789012.50",
    "at": 1_500_001,
    "ms": datetime(1970, 1, 1, 0, 0, 1, 500_000, timezone.utc),
    "day": 20_000,
    "zoned": "2026-01-02T03:04:05.6Z",
    "free": {"scale": 3, "value": b"\x7d"},
    "moments": [1_500_001, None],
}
EXPECTED = AVRO_ROW | {
    "at": ROW["us"],
    "ms": ROW["ms"],
    "day": ROW["day"],
    "zoned": ROW["zoned"],
    "free": "0.125",
    "moments": [ROW["us"], None],
}


def avro_events(schema: Mapping[str, Any], schema_id: int, row: Mapping[str, Any]) -> list[bytes]:
    of_source = {"source": {"lsn": 7}, "ts_ms": TS_MS}
    events = [
        {"before": None, "after": row, "op": "c", **of_source},
        {"before": row, "after": None, "op": "d", **of_source},
        {"before": None, "after": None, "op": "d", **of_source},
    ]
    return avro(schema, schema_id, *events)


def avro_registry(*versions: Mapping[str, Any]) -> Any:
    listed = [{"id": 1 + each, "schema": json.dumps(one)} for each, one in enumerate(versions)]
    return registry(
        subjects(
            **{
                "shop.public.items__value": listed,
                "shop.public.items__key": [{"id": 90, "schema": json.dumps(KEY_AVRO)}],
            }
        )
    )


def avro_options(url: str) -> dict[str, str]:
    return {
        "value.format": "avro",
        "schema.registry.url": url,
        "schema.registry.max.retries": "0",
    }


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
    assert "the field 'after.at': it is wanted as timestamp_ntz, and no schema tells" in error
    micros = {**options, "debezium.time.precision.mode": "microseconds"}
    row = {"after": {"at": 5}, "source": {"lsn": 1}, "op": "c", "ts_ms": 1}
    given: list[Record] = [(None, each[5:]) for each in avro(schema, 1, row)]
    assert read(micros, given, types, ["at"]) == [{"at": datetime(1970, 1, 1, 0, 0, 0, 5)}]


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


# As Confluent's ProtobufConverter writes a table: a column that can be null has presence with
# `optional.for.nullables=true`, or is a message with `wrapper.for.nullables=true`.
CONVERTED = """
    syntax = "proto3";
    import "google/protobuf/wrappers.proto";
    message Envelope {
      Value before = 1; Value after = 2; string op = 3; int64 ts_ms = 4; Source source = 5;
      message Source { int64 lsn = 1; string snapshot = 2; }
      message Value {
        int32 id = 1; int64 large = 2; double share = 3; bool flag = 4; string name = 5;
        bytes data = 6; Kind kind = 7; repeated int32 list = 8; Point point = 9;
        optional int32 told = 10; google.protobuf.Int32Value boxed = 11; float single = 12;
        enum Kind { FIRST = 0; SECOND = 1; }
        message Point { int32 x = 1; double y = 2; }
      }
    }"""
CONVERTED_KEY = 'syntax = "proto3"; message Key { int32 id = 1; string region = 2; }'
ZEROS: dict[str, Any] = {
    "id": 0,
    "large": 0,
    "share": 0.0,
    "flag": False,
    "name": "",
    "data": b"",
    "kind": "FIRST",
    "list": [],
    "point": None,
    "told": None,
    "boxed": None,
    "single": 0.0,
}


@pytest.mark.parametrize("count", [1, 200], ids=["one by one", "at once"])
def test_columns_that_protobuf_does_not_write_are_their_zeros(count: int) -> None:
    """As `ProtobufData.toConnectData` reads them, for whatever the database has."""
    envelope: Any = message_class(SchemaText(CONVERTED), "Envelope")
    value = envelope.Value
    written: dict[str, tuple[Any, dict[str, Any]]] = {
        "zeros": (value(), {}),
        "told zeros": (value(told=0), {"told": 0}),
        "boxed zeros": (value(boxed={"value": 0}), {"boxed": {"value": 0}}),
        "an empty point": (value(point=value.Point()), {"point": {"x": 0, "y": 0.0}}),
        "negative zeros": (value(share=-0.0, single=-0.0), {"share": -0.0, "single": -0.0}),
        "others": (
            value(id=7, flag=True, name="a", kind=1, list=[0, 1]),
            {"id": 7, "flag": True, "name": "a", "kind": "SECOND", "list": [0, 1]},
        ),
    }
    given: list[Record] = []
    expected = []
    for row, different in written.values():
        key: Any = message_class(SchemaText(CONVERTED_KEY), "Key")(id=row.id)
        for event_of in (envelope(op="c", after=row), envelope(op="d", before=row)):
            given.append((key.SerializeToString(), event_of.SerializeToString()))
            key_row = {"id": row.id, "region": ""}
            about = {"op": event_of.op, "ts_ms": 0, "source": None, "key": key_row}
            expected.append({**ZEROS, **different, **about})
    options = {
        "value.format": "protobuf",
        "value.schema": CONVERTED,
        "key.schema": CONVERTED_KEY,
    }
    rows = read(options, given * count, columns=[*expected[0]])
    # Not `==`: -0.0 is 0.0.
    assert [repr(row) for row in rows] == [repr(row) for row in expected * count]


def test_a_protobuf_event_without_an_op_is_none_of_debeziums() -> None:
    envelope: Any = message_class(SchemaText(CONVERTED), "Envelope")
    options = {"value.format": "protobuf", "value.schema": CONVERTED, "key.format": "raw"}
    payload = envelope(ts_ms=1).SerializeToString()
    with pytest.raises(MalformedRecordError, match="not a change event of Debezium: it has no op"):
        read(options, [(None, payload)])


def test_events_of_mongodb_are_refused_in_one_sentence() -> None:
    """Their documents are texts, in JSON with a schema and without one, and in Avro."""
    refused = "the field 'after' is a text: Debezium writes documents of MongoDB so"
    text = {"type": "string", "name": "io.debezium.data.Json", "version": 1}
    schema = connect_struct({"before": text, "after": text, "op": "string", "ts_ms": "int64"})
    document = '{"_id": 1, "name": "a"}'
    for change in (event("c", after=document), event("d", before=document)):
        for value in (dumped(change), wrapped(schema, change)):
            with pytest.raises(MalformedRecordError, match=refused):
                read(DDL, [(None, value)])
    assert refused in config_error(query_with({**JSON, "value.schema": json.dumps(schema)}).schema)
    record = avro_schema(id="int")
    fields = [
        {"name": each["name"], "type": ["null", "string"]}
        if each["name"] in {"before", "after"}
        else each
        for each in record["fields"]
    ]
    options = {"value.format": "avro", "value.schema": json.dumps(record | {"fields": fields})}
    assert refused in config_error(query_with({**options, "key.format": "raw"}).schema)
    # As the sentence says.
    to = pa.struct({"after": pa.string()})
    decoder = FORMATS[Format.JSON].decoder_factory(SchemaText(""), to, None).for_schema(None)
    payload = pa.array([dumped(event("c", after=document))], pa.binary())
    assert decoder.decode(payload, 0).values.to_pylist() == [{"after": document}]


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


def test_batches_without_rows_are_not_there() -> None:
    stages = stages_with(DDL)
    batch = records([TOMBSTONE, TRUNCATE]).select([*stages[0].source_columns])
    assert list(through(stages, [batch])) == []


# Beside other options.


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
