"""Values columns own their memory: no thread needs Python to drop them (docs/upstream)."""

from __future__ import annotations

import io
import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from kafka_formats.avro.decoder import AvroDecoderFactory
from kafka_formats.avro.schema import parsed
from kafka_formats.avro.types import arrow_type
from kafka_formats.json.ddl import parse_ddl
from kafka_formats.json.decoder import decoder_for
from kafka_formats.payload.format import PayloadDecoder
from kafka_formats.payload.schema_text import SchemaText
from tests.arrow_owners import borrowed_bytes
from tests.formats.protobuf.test_decoder import ALL, PROTOBUF, SCALARS, TYPE, All

ROWS = 5_000

MICROS = {"type": "long", "logicalType": "timestamp-micros"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}
ENUM = {"type": "enum", "name": "E", "symbols": ["a", "b"]}
INNER = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "double"}]}
FIELDS: dict[str, tuple[Any, Any]] = {
    "i": ("int", 1),
    "l": ("long", 2),
    "f": ("float", 0.5),
    "d": ("double", 0.25),
    "b": ("boolean", True),
    "s": ("string", "text"),
    "y": ("bytes", b"bytes"),
    "day": ({"type": "int", "logicalType": "date"}, date(2026, 11, 25)),
    "us": (MICROS, datetime(2026, 11, 25, tzinfo=timezone.utc)),
    "ms": (MILLIS, datetime(2026, 11, 25, tzinfo=timezone.utc)),
    "n": (DECIMAL, Decimal("1.25")),
    "e": (ENUM, "b"),
    "items": ({"type": "array", "items": "long"}, [1, 2, 3]),
    "map": ({"type": "map", "values": "int"}, {"k": 1}),
    "null": (["null", "long"], 7),
    "inner": (INNER, {"x": 1.5}),
    "inners": ({"type": "array", "items": "I"}, [{"x": 2.5}]),
}


def avro() -> tuple[PayloadDecoder, bytes]:
    fields = [{"name": name, "type": kind} for name, (kind, _) in FIELDS.items()]
    schema = {"type": "record", "name": "R", "fields": fields}
    out = io.BytesIO()
    values = {name: value for name, (_, value) in FIELDS.items()}
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), values)
    text = SchemaText(json.dumps(schema))
    return AvroDecoderFactory(text, arrow_type(parsed(text)), None).for_schema(None), out.getvalue()


def protobuf() -> tuple[PayloadDecoder, bytes]:
    message = All(one=1, part={"x": 1, "y": "a", "zs": [1, 2]}, parts=[{"x": 1}], es=[1], e=1)
    message.places[3].x = 1
    for kind in SCALARS:
        value = {"string": "a", "bytes": b"a", "bool": True}.get(kind, 1)
        getattr(message, f"list_{kind}").append(value)
        getattr(message, f"map_{kind}")["a"] = value
        for name in ("plain", "optional"):
            setattr(message, f"{name}_{kind}", value)
    return PROTOBUF.decoder_factory(ALL, TYPE, None).for_schema(None), message.SerializeToString()


def json_documents() -> tuple[PayloadDecoder, bytes]:
    ddl = "i int, d double, s string, b boolean, t timestamp, l array<struct<x bigint>>"
    value = b'{"i":1,"d":0.5,"s":"a","b":true,"t":"2026-11-23T01:02:03Z","l":[{"x":1}]}'
    return decoder_for(parse_ddl(ddl)), value


@pytest.mark.parametrize("with_null", [False, True])
@pytest.mark.parametrize("make", [avro, protobuf, json_documents])
def test_arrow_owns_decoded_values(make: Any, with_null: bool) -> None:
    decoder, payload = make()
    payloads = pa.array([payload] * ROWS + [None] * with_null, pa.binary())
    assert borrowed_bytes(lambda: decoder.decode(payloads, 0).values) == 0
