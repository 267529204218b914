"""Payloads are read alike by both readers, and by fastavro."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro
import pyarrow as pa

from kafka_formats.avro.decode import decode
from kafka_formats.avro.decode_one import read_payload
from kafka_formats.avro.plan import AvroPlan
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import parse_schema
from kafka_formats.errors import PayloadError
from tests.formats.avro.payloads import Json
from tests.formats.times import as_numbers


def plan_of(writer: Json, reader: Json = None) -> AvroPlan:
    found = parse_schema(json.dumps(writer))
    return resolve(found, found if reader is None else parse_schema(json.dumps(reader)))


def expected(plan: AvroPlan, payloads: Sequence[bytes | None]) -> tuple[list[Any], list[bool]]:
    """The values one by one, None for a broken payload; and which are broken."""
    values: list[Any] = []
    broken = []
    for each in payloads:
        try:
            values.append(None if each is None else read_payload(plan, each))
            broken.append(False)
        except PayloadError:
            values.append(None)
            broken.append(True)
    return values, broken


def check(plan: AvroPlan, payloads: Sequence[bytes | None]) -> None:
    found = decode(pa.array(payloads, pa.binary()), plan)
    found.values.validate(full=True)
    values, broken = expected(plan, payloads)
    assert found.is_broken.tolist() == broken
    whole = [row for row, is_broken in enumerate(broken) if not is_broken]
    wanted = pa.array([values[row] for row in whole], plan.type)
    # Not `equals`: NaN is none.
    assert str(as_numbers(found.values.take(pa.array(whole, pa.int64())))) == str(
        as_numbers(wanted)
    )


def as_fastavro_reads(schema: Json, row: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(row), fastavro.parse_schema(schema), None)


def as_pairs(schema: Json, value: Any) -> Any:
    """The value with lists of pairs as maps, which Arrow takes."""
    if isinstance(schema, list):
        return None if value is None else as_pairs(schema[1], value)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "array":
        return [as_pairs(schema["items"], each) for each in value]
    if kind == "map":
        return [(key, as_pairs(schema["values"], each)) for key, each in value.items()]
    if kind == "record":
        return {
            each["name"]: as_pairs(each["type"], value[each["name"]]) for each in schema["fields"]
        }
    return value
