"""Fastavro as a second witness: its values, in Python's types, against ours in the reader's.

It has the writer's logical types, without nanoseconds, and defaults as JSON. Of a union it takes
the first type that may be read, not the one that is equal.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any, Final

import fastavro
import numpy as np
from fastavro.schema import SchemaParseException
from fastavro.types import Schema

from tests.formats.avro.resolution.expected import TIMES, is_wide
from tests.formats.avro.resolution.pairs import Json, Pair, kind_of

_EPOCH: Final = datetime(1970, 1, 1)


class Unreadable:
    """Fastavro reads nothing; `why` is its error."""

    def __init__(self, why: Exception) -> None:
        self.why = f"{type(why).__name__}: {why}"

    def __repr__(self) -> str:
        return self.why


def as_fastavro_reads(pair: Pair) -> list[Any]:
    """The values of all payloads, `Unreadable` for some."""
    try:
        writer, reader = map(_parsed, (pair.writer, pair.reader))
    except (SchemaParseException, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return [Unreadable(error)] * len(pair.values)
    return [_one(writer, reader, row) for row in pair.payloads]


def _parsed(schema: Json) -> Schema:
    return fastavro.parse_schema(_without_uuids(schema), named_schemas={})


def _without_uuids(schema: Json) -> Json:
    """The schema with plain texts, which need not be UUIDs."""
    if isinstance(schema, list):
        return [*map(_without_uuids, schema)]
    if not isinstance(schema, dict):
        return schema
    parts = {key: _without_uuids(schema[key]) for key in ("items", "values") if key in schema}
    if "fields" in schema:
        parts["fields"] = [
            each | {"type": _without_uuids(each["type"])} for each in schema["fields"]
        ]
    is_uuid = schema.get("logicalType") == "uuid"
    kept = {key: each for key, each in schema.items() if not (is_uuid and key == "logicalType")}
    return kept | parts


def _one(writer: Schema, reader: Schema, row: bytes) -> Any:
    try:
        return fastavro.schemaless_reader(io.BytesIO(row), writer, reader)
    except Exception as error:  # noqa: BLE001
        return Unreadable(error)


def agrees(schema: Json, ours: Any, other: Any) -> bool:
    """Whether values are equal, but for what the docstring of the module says."""
    if isinstance(schema, list):
        return _agrees_in_union(schema, ours, other)
    match kind_of(schema):
        case "record":
            return all(
                agrees(each["type"], ours[each["name"]], other[each["name"]])
                for each in schema["fields"]
                if not _is_default(each, other)
            )
        case "array":
            return len(ours) == len(other) and all(
                agrees(schema["items"], each, one) for each, one in zip(ours, other, strict=True)
            )
        case "map":
            return len(ours) == len(other) and all(
                agrees(schema["values"], each, other[key]) for key, each in ours
            )
    return _agrees_as_leaf(schema, ours, other)


def _is_default(field: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    return "default" in field and record[field["name"]] is field["default"]


def _agrees_in_union(schema: Json, ours: Any, other: Any) -> bool:
    members = is_wide(schema)
    if ours is None or not members:
        single = [each for each in schema if each != "null"]
        return (ours is None) == (other is None) and (
            ours is None or agrees(max(single, key=str), ours, other)
        )
    ((number, value),) = [
        (number, ours[f"member{number}"])
        for number in range(len(members))
        if ours[f"member{number}"] is not None
    ]
    return agrees(members[number], value, other)


def _agrees_as_leaf(schema: Json, ours: Any, other: Any) -> bool:
    logical: str = schema.get("logicalType", "") if isinstance(schema, dict) else ""
    if not logical and isinstance(other, Decimal | date | time):
        # The reader has the writer's bytes or number.
        return True
    if (logical in TIMES and isinstance(other, int)) or (
        logical == "decimal" and isinstance(other, bytes)
    ):
        # It knows neither the unit nor the scale.
        return True
    if isinstance(other, Decimal):
        return Decimal(ours) == other
    if isinstance(other, date | time):
        return bool(ours * TIMES[logical][1] == _nanos(other))
    if schema == "float" and isinstance(other, float):
        # An integer is a double to it.
        other = as_float(other)
    return bool(ours == other) or repr(ours) == repr(other)


def as_float(value: float) -> float:
    """The nearest number of 32 bits."""
    return float(np.float32(value)) if abs(value) < 3e38 else value


def _nanos(value: date | time) -> int:
    if isinstance(value, datetime):
        since = (
            value.astimezone(timezone.utc).replace(tzinfo=None) - _EPOCH
            if value.tzinfo
            else (value - _EPOCH)
        )
        return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000
    if isinstance(value, date):
        return (value - _EPOCH.date()).days * 86_400_000_000_000
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return (seconds * 1_000_000 + value.microsecond) * 1_000
