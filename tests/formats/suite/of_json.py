"""JSON for the suite, by a JSON Schema and by a DDL: schemas of columns, and Python's json."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from kafka_formats.arrow.types import as_nullable
from tests.formats.suite.form import NAME, Form, Row, as_dicts
from tests.formats.suite.kinds import KINDS

_TYPES = {
    pa.bool_(): {"type": "boolean"},
    pa.int8(): {"type": "integer", "connect.type": "int8"},
    pa.int16(): {"type": "integer", "connect.type": "int16"},
    pa.int32(): {"type": "integer", "connect.type": "int32"},
    pa.int64(): {"type": "integer"},
    pa.float32(): {"type": "number", "connect.type": "float32"},
    pa.float64(): {"type": "number"},
    pa.string(): {"type": "string"},
    pa.binary(): {"type": "string", "connect.type": "bytes"},
}
_DDL = {each.type: name for name, each in KINDS.items()}


def _json_schema(to: pa.DataType) -> Any:
    if pa.types.is_struct(to):
        fields = {field.name: _json_schema(field.type) for field in to}
        return {"type": "object", "properties": fields}
    if pa.types.is_list(to):
        return {"type": "array", "items": _json_schema(to.value_type)}
    if pa.types.is_map(to):
        return {"type": "object", "additionalProperties": _json_schema(to.item_type)}
    return _TYPES[to]


def _ddl(to: pa.DataType) -> str:
    if pa.types.is_struct(to):
        return f"struct<{', '.join(f'{each.name}: {_ddl(each.type)}' for each in to)}>"
    if pa.types.is_list(to):
        return f"array<{_ddl(to.value_type)}>"
    if pa.types.is_map(to):
        return f"map<string, {_ddl(to.item_type)}>"
    return _DDL[to]


def plain(columns: pa.StructType, row: Row) -> Any:
    """A row as JSON has it."""
    return _plain(as_dicts(columns, row))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return _LEAVES[type(value)](value) if type(value) in _LEAVES else value


_LEAVES: Final[Mapping[type, Callable[[Any], Any]]] = {
    bytes: lambda value: base64.b64encode(value).decode(),
    date: date.isoformat,
    datetime: lambda value: value.isoformat().replace("+00:00", "Z"),
    Decimal: lambda value: f"{value:f}",
}


def _encode(columns: pa.StructType, row: Row) -> bytes:
    return json.dumps(plain(columns, row)).encode()


def _parse(columns: pa.StructType, payload: bytes) -> Any:
    return _parsed(columns, json.loads(payload, parse_float=Decimal))


def _parsed(to: pa.DataType, value: Any) -> Any:
    """A value of a document, whatever is written in several ways."""
    if value is None:
        return None
    if pa.types.is_struct(to):
        assert value.keys() <= {each.name for each in to}
        return {each.name: _parsed(each.type, value.get(each.name)) for each in to}
    if pa.types.is_list(to):
        return [_parsed(to.value_type, each) for each in value]
    if pa.types.is_map(to):
        return {key: _parsed(to.item_type, each) for key, each in value.items()}
    return next((read(to, value) for is_of, read in _READ.items() if is_of(to)), value)


_READ: Final[Mapping[Callable[[pa.DataType], bool], Callable[[pa.DataType, Any], Any]]] = {
    pa.types.is_decimal: lambda _, value: Decimal(value),
    pa.types.is_floating: lambda to, value: pa.scalar(float(value), to).as_py(),
    # Python before 3.11 does not read the Z.
    pa.types.is_timestamp: lambda _, value: datetime.fromisoformat(value.rstrip("Z")),
}
_TREE = {
    "title": NAME,
    "type": "object",
    "properties": {"id": {"type": "integer"}, "next": {"oneOf": [{"type": "null"}, {"$ref": "#"}]}},
}
JSON_SCHEMA = Form(
    "json",
    "JSON",
    lambda columns, name=NAME: json.dumps({"title": name} | _json_schema(columns)),
    _encode,
    _parse,
    read_as=as_nullable,
    types=frozenset(name for name, each in KINDS.items() if each.type in _TYPES),
    tree=json.dumps(_TREE),
    cut="it is not JSON",
    not_text="it is not UTF-8",
    misfit="field id: it is a string, not a whole number",
    needs_no_schema=True,
)
JSON_DDL = Form(
    "json by a DDL",
    None,
    lambda columns, _name=NAME: _ddl(columns),
    _encode,
    _parse,
    read_as=as_nullable,
    types=frozenset(KINDS),
    tree="",
    cut="it is not JSON",
    not_text="it is not UTF-8",
    misfit="field id: it is a string, not a whole number",
    needs_no_schema=True,
)
