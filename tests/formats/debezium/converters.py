"""A row of a table, and its events, as the converters of Connect write them.

JSON with Connect's schemas, Avro and Protobuf of Confluent's converters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kafka_formats.avro.format import AvroFormat
from kafka_formats.payload.schema_text import SchemaText
from tests.fakes.registry import registry, subjects
from tests.formats.debezium.events import (
    CONNECT,
    DATA,
    TIME,
    TS_MS,
    Record,
    connect_envelope,
    connect_struct,
    event,
    named,
    wrapped,
)

MICROS, UTC_MICROS = pa.timestamp("us"), pa.timestamp("us", tz="UTC")


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


MARK = "__debezium_unavailable_value"


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


def avro_envelope(kind: Any) -> dict[str, Any]:
    """The schema of envelopes with a column 'at' and no more than they need: short in bytes."""
    column = {"name": "at", "type": kind if isinstance(kind, list) else ["null", kind]}
    row = {"type": "record", "name": "Value", "fields": [column]}
    fields = [
        {"name": "before", "type": ["null", row], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "op", "type": "string"},
    ]
    return {"type": "record", "name": "Envelope", "fields": fields}


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
