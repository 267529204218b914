"""Each type of a writer read as each type of a query, with the values at the ends of the types.

Random schemas (`test_evolution_values`) have two types that are nearly alike too seldom.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Final

import pyarrow as pa
import pytest

from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from tests.formats.avro.resolution.maker import Maker
from tests.formats.avro.resolution.pairs import Pair
from tests.formats.protobuf.evolution import Field, Schema, types_alike
from tests.formats.query.test_evolution_values import (
    HELD,
    STOPS,
    as_a_writer_writes,
    compare,
)
from tests.formats.suite.kinds import KINDS
from tests.formats.suite.of_json import JSON_SCHEMA

pytestmark = pytest.mark.no_cover

Annotated = dict[str, Any]


def _decimal(precision: int, scale: int) -> Annotated:
    return {"logicalType": "decimal", "precision": precision, "scale": scale}


_FIXED: Final = {"type": "fixed", "name": "F", "size": 16}
_ENUM: Final = {"type": "enum", "name": "E"}
_DIGITS: Final = ((4, 0), (4, 2), (5, 2), (6, 4), (18, 2), (19, 4), (38, 2), (38, 4), (39, 4))
AVRO: Final[tuple[Any, ...]] = (
    *("boolean", "int", "long", "float", "double", "bytes", "string"),
    *({"type": "int", "logicalType": each} for each in ("date", "time-millis")),
    *(
        {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
        for local, unit in product(("", "local-"), ("millis", "micros", "nanos"))
    ),
    {"type": "long", "logicalType": "time-micros"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "big-decimal"},
    *({"type": "bytes"} | _decimal(*each) for each in _DIGITS),
    *(_FIXED | each for each in ({}, _decimal(18, 2), _decimal(18, 4), {"logicalType": "uuid"})),
    *(_ENUM | {"symbols": [*each]} for each in ("ABC", "CBA", "AB", "D")),
    _ENUM | {"symbols": ["A"], "default": "A"},
)


def outcomes(
    format_: Format, pairs: Iterator[tuple[SchemaText, SchemaText, list[bytes]]]
) -> Counter[str]:
    """How many payloads had which outcome."""
    found: Counter[str] = Counter()
    for written, read, payloads in pairs:
        found.update(compare(format_, written, read, payloads))
    return found


def _nullable(schema: Any) -> Any:
    return ["null", schema]


_PLACES: Final[tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...]] = (
    (lambda each: each, lambda each: each),
    (lambda each: {"type": "array", "items": each}, lambda each: {"type": "array", "items": each}),
    (lambda each: {"type": "map", "values": each}, lambda each: {"type": "map", "values": each}),
    (lambda each: each, _nullable),
    (_nullable, _nullable),
    (_nullable, lambda each: each),
)


def _name_of(schema: Any) -> str:
    return str(schema.get("logicalType")) if isinstance(schema, dict) else ""


def avro_pairs() -> Iterator[tuple[SchemaText, SchemaText, list[bytes]]]:
    maker = Maker(1)
    for number, (writer, reader) in enumerate(product(AVRO, AVRO)):
        if _name_of(writer) == "time-millis" and _name_of(reader) == "time-micros":
            continue  # another number for the same time
        # Types that are alike in each place, others in one.
        alike = isinstance(writer, dict) and isinstance(reader, dict)
        alike = alike and writer["type"] == reader["type"]
        for written, read in _PLACES if alike else [_PLACES[number % len(_PLACES)]]:
            pair = Pair(written(writer), read(reader), [])
            pair.values.extend(maker.values(pair.writer, 12))
            writers, readers = (SchemaText(json.dumps(each)) for each in pair[:2])
            yield writers, readers, pair.payloads


def test_avro() -> None:
    found = outcomes(Format.AVRO, avro_pairs())
    assert min(found[HELD], found[STOPS]) > 1_000, found


# Numbers of the first enum that the second lacks, and one that has another name there.
_ENUMS: Final = (((0, 1, 2), (0, 1)), ((0, 1), (0, 1, 2)), ((0, 1), (0, 1)))
_RENAMED: Final = 1


def protobuf_pairs() -> Iterator[tuple[SchemaText, SchemaText, list[bytes]]]:
    rng = random.Random(1)
    kinds = product(types_alike(), (False, True), ("proto2", "proto3"))
    for (written, read), is_repeated, syntax in kinds:
        enums = rng.choice(_ENUMS)
        renamed = frozenset(rng.sample([_RENAMED], rng.randint(0, 1)))
        writer, reader = (
            Schema(
                syntax,
                ((Field(1, "f1", type_, enum=0, is_repeated=is_repeated, is_explicit=True),),) * 4,
                (of_enum,) * 2,
                is_enum_closed=syntax == "proto2",
                renamed=names,
            )
            for type_, of_enum, names in zip(
                (written, read), enums, (frozenset[int](), renamed), strict=True
            )
        )
        text = writer.text()
        yield text, reader.text(), [*as_a_writer_writes(rng, writer, text, 20)]


def test_protobuf() -> None:
    found = outcomes(Format.PROTOBUF, protobuf_pairs())
    assert min(found[HELD], found[STOPS]) > 1_000, found


def json_pairs() -> Iterator[tuple[SchemaText, SchemaText, list[bytes]]]:
    names = sorted(JSON_SCHEMA.types)
    for (written, read), nested in product(product(names, names), (False, True)):
        columns, other = (
            pa.struct([("a", pa.list_(KINDS[each].type) if nested else KINDS[each].type)])
            for each in (written, read)
        )
        rows = [{"a": [each] if nested else each} for each in (*KINDS[written].values, None)]
        writer, reader = (SchemaText(JSON_SCHEMA.schema(each)) for each in (columns, other))
        yield writer, reader, [JSON_SCHEMA.encode(columns, each) for each in rows]


def test_json_schema() -> None:
    found = outcomes(Format.JSON, json_pairs())
    assert min(found[HELD], found[STOPS]) > 100, found
