"""Payloads decoded and encoded alone: one core, no Spark.

Avro beside fastavro in a loop into Arrow, and pyruhvro; Protobuf beside protobuf's classes in such
a loop.
"""

from __future__ import annotations

import io
import json
import random
import statistics
import string
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import fastavro
import pyarrow as pa
import pyruhvro

from benchmarks import protobuf
from kafka_formats.avro.decode import decode
from kafka_formats.avro.encode import encode
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import parse_schema
from kafka_formats.avro.types import arrow_type

# Rows that differ; they are repeated.
DISTINCT = 2_000
# As much as a task decodes at a time (`kafka_protocol.columnar.reading.parts`).
BATCH_BYTES = 4 * 1024 * 1024
LEAST_ROW_BYTES = 200
WARM_UP = 2
REPEATS = 5

T = TypeVar("T")
Json = dict[str, Any]
Result = dict[str, Any]

AT: Json = {"type": "long", "logicalType": "timestamp-millis"}
TYPES: Mapping[str, Any] = {
    "id": "long",
    "customer": "string",
    "amount": "double",
    "count": "int",
    "paid": "boolean",
    "note": ["null", "string"],
    "country": {"type": "enum", "name": "Country", "symbols": ["DE", "FR", "US"]},
    "at": AT,
    "price": "float",
    "ref": "string",
}
LINE = {
    "type": "record",
    "name": "Line",
    "fields": [
        {"name": "sku", "type": "string"},
        {"name": "count", "type": "int"},
        {"name": "price", "type": "double"},
    ],
}


def record(types: Mapping[str, Any]) -> Json:
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    return {"type": "record", "name": "Order", "fields": fields}


def text(size: int) -> str:
    return "".join(random.choices(string.ascii_letters, k=size))


def flat(number: int, note_bytes: int) -> Json:
    return {
        "id": number * 977,
        "customer": f"customer {random.randrange(10**6)}",
        "amount": random.random(),
        "count": number % 1_000,
        "paid": number % 2 == 0,
        "note": None if number % 4 == 0 else text(note_bytes),
        "country": random.choice(["DE", "FR", "US"]),
        "at": 1_760_000_000_000 + number,
        "price": 1.5,
        "ref": text(16),
    }


def nested(number: int) -> Json:
    lines = [{"sku": text(8), "count": number, "price": 2.5} for _ in range(number % 4)]
    return {"id": number, "customer": {"name": text(10), "email": text(16)}, "lines": lines}


def thirty(number: int) -> Json:
    parts = [flat(number, 20) for _ in range(3)]
    return {f"{name}{i}": value for i, part in enumerate(parts) for name, value in part.items()}


# A named type is defined once.
def _type_of(name: str, number: int) -> Any:
    return "Country" if name == "country" and number else TYPES[name]


class Shape(NamedTuple):
    """A schema, and its rows."""

    schema: Json
    row: Callable[[int], Json]


PEOPLE = {"name": "string", "email": "string"}
SHAPES = {
    "10 fields, 100 B": Shape(record(TYPES), partial(flat, note_bytes=40)),
    "10 fields, 1 kB": Shape(record(TYPES), partial(flat, note_bytes=1_230)),
    "nested": Shape(
        record(
            {
                "id": "long",
                "customer": record(PEOPLE) | {"name": "Customer"},
                "lines": {"type": "array", "items": LINE},
            }
        ),
        nested,
    ),
    "30 fields": Shape(
        record({f"{name}{i}": _type_of(name, i) for i in range(3) for name in TYPES}), thirty
    ),
}


def payloads_of(shape: Shape) -> list[bytes]:
    """Payloads that another implementation wrote."""
    random.seed(1)
    schema = fastavro.parse_schema(json.loads(json.dumps(shape.schema)))
    payloads = []
    for number in range(DISTINCT):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, shape.row(number))
        payloads.append(out.getvalue())
    return payloads


def repeated(rows: list[T], mean_bytes: float) -> list[T]:
    """As many rows as a task decodes at a time."""
    return (rows * 20)[: int(BATCH_BYTES / max(mean_bytes, LEAST_ROW_BYTES))]


def alone(shape: Shape, rounds: int) -> dict[str, dict[str, float]]:
    """Contender -> decode or encode -> ns of a row."""
    listed = payloads_of(shape)
    mean = sum(map(len, listed)) / len(listed)
    listed = repeated(listed, mean)
    payloads = pa.array(listed, pa.binary())
    schema = json.dumps(shape.schema)
    tree, parsed = parse_schema(schema), fastavro.parse_schema(json.loads(schema))
    plan, to = resolve(tree, tree), arrow_type(tree)
    values = decode(payloads, plan).values
    # With the types that it reads itself.
    batch = pyruhvro.deserialize_array(listed, schema)

    def decode_in_a_loop() -> pa.Array:
        rows = [fastavro.schemaless_reader(io.BytesIO(each), parsed, None) for each in listed]
        return pa.array(rows, to)

    def encode_in_a_loop() -> pa.Array:
        encoded = []
        for row in values.to_pylist():
            out = io.BytesIO()
            fastavro.schemaless_writer(out, parsed, row)
            encoded.append(out.getvalue())
        return pa.array(encoded, pa.binary())

    if decode_in_a_loop() != values:
        raise RuntimeError("fastavro decodes other values")
    # pyruhvro takes a list, which is not part of the figure.
    contenders: dict[str, dict[str, Callable[[], object]]] = {
        "pykafka": {
            "decode": lambda: decode(payloads, plan),
            "encode": lambda: encode(tree, values),
        },
        "fastavro": {"decode": decode_in_a_loop, "encode": encode_in_a_loop},
        "pyruhvro": {
            "decode": lambda: pyruhvro.deserialize_array(listed, schema),
            "encode": lambda: pyruhvro.serialize_record_batch(batch, schema, 1),
        },
    }
    return ns_of_a_row(contenders, len(listed), rounds)


def ns_of_a_row(
    contenders: Mapping[str, Mapping[str, Callable[[], object]]], rows: int, rounds: int
) -> dict[str, dict[str, float]]:
    """CPU of this process, for each contender and operation: medians of rounds."""
    spent: dict[str, dict[str, list[float]]] = {
        name: {what: [] for what in both} for name, both in contenders.items()
    }
    for _ in range(WARM_UP + rounds):
        for name, both in contenders.items():
            for what, run in both.items():
                begun = time.process_time_ns()
                for _ in range(REPEATS):
                    run()
                ns = (time.process_time_ns() - begun) / REPEATS
                spent[name][what].append(ns / rows)
    return {
        name: {what: round(statistics.median(each[WARM_UP:])) for what, each in both.items()}
        for name, both in spent.items()
    }


def all_protobuf(rounds: int) -> list[Result]:
    """Protobuf alone, in the shapes of Avro."""
    rows = []
    for name, shape in SHAPES.items():
        random.seed(1)
        some = [shape.row(number) for number in range(DISTINCT)]
        mean = statistics.mean(map(len, protobuf.Codec(name, some).payloads.to_pylist()))
        codec = protobuf.Codec(name, repeated(some, mean))
        if codec.decode_in_a_loop() != codec.decode():
            raise RuntimeError("protobuf decodes other values")
        contenders = {
            "pykafka": {"decode": codec.decode},
            "protobuf": {"decode": codec.decode_in_a_loop},
        }
        figures = ns_of_a_row(contenders, len(codec.payloads), rounds)
        for contender, ns in figures.items():
            times = round(figures["protobuf"]["decode"] / ns["decode"], 1)
            rows.append(
                {"workload": name, "contender": contender, **ns, "decode_to_protobuf": times}
            )
    return rows


def all_avro(rounds: int) -> list[Result]:
    rows = []
    for name, shape in SHAPES.items():
        figures = alone(shape, rounds)
        for contender, ns in figures.items():
            times = {
                f"{what}_to_fastavro": round(figures["fastavro"][what] / ns[what], 1) for what in ns
            }
            rows.append({"workload": name, "contender": contender, **ns, **times})
    return rows
