"""Avro for the suite: schemas of columns, and fastavro."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pyarrow as pa

from tests.formats.suite.form import NAME, Form, Row, as_dicts
from tests.formats.suite.kinds import KINDS

_NAMES = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", tz="UTC"): {"type": "long", "logicalType": "timestamp-micros"},
    pa.timestamp("us"): {"type": "long", "logicalType": "local-timestamp-micros"},
}


def _schema(columns: pa.StructType, name: str = NAME) -> Any:
    fields = []
    for field in columns:
        kind = _part(field, f"{name}_{field.name}")
        default = {"default": None} if field.nullable else {}
        fields.append({"name": field.name, "type": kind, **default})
    return {"type": "record", "name": name, "fields": fields}


def _part(field: pa.Field, name: str) -> Any:
    kind = _type(field.type, name)
    return ["null", kind] if field.nullable else kind


def _type(to: pa.DataType, name: str) -> Any:
    if pa.types.is_struct(to):
        return _schema(to, name)
    if pa.types.is_list(to):
        return {"type": "array", "items": _part(to.value_field, name)}
    if pa.types.is_map(to):
        return {"type": "map", "values": _part(to.item_field, name)}
    if pa.types.is_decimal(to):
        digits = {"precision": to.precision, "scale": to.scale}
        return {"type": "bytes", "logicalType": "decimal", **digits}
    return _NAMES[to]


def _parsed(columns: pa.StructType) -> Any:
    return fastavro.parse_schema(_schema(columns))


def _encode(columns: pa.StructType, row: Row) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _parsed(columns), as_dicts(columns, row))
    return out.getvalue()


def _parse(columns: pa.StructType, payload: bytes) -> Any:
    rest = io.BytesIO(payload)
    found = fastavro.schemaless_reader(rest, _parsed(columns), None)
    assert not rest.read()
    return found


_TREE = {
    "type": "record",
    "name": NAME,
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "next", "type": ["null", NAME], "default": None},
    ],
}
AVRO = Form(
    "avro",
    "AVRO",
    lambda columns, name=NAME: json.dumps(_schema(columns, name)),
    _encode,
    _parse,
    read_as=lambda columns: columns,
    types=frozenset(KINDS) - {"tinyint", "smallint"},
    tree=json.dumps(_TREE),
    cut="field who: 3 bytes are needed, and 2 are left",
    not_text="field who: a string is not UTF-8",
    null_item="tags[]: a null cannot be written as string",
    misfit="the field 'id': string was written, long is expected",
    needs_written_schema=True,
    resolves=True,
    derived="topLevelRecord",
)
