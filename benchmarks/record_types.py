"""Several record types in a topic beside one: the same records, decoded on one core without Spark.

    make bench-types

Half of the records are of each of two types with the same fields. Rounds alternate between the
contenders; the table has medians. Compare figures only within one run.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import fastavro
import pyarrow as pa
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from rich.table import Table

from benchmarks.report import RESULTS, console, save
from benchmarks.rounds import shuffled
from kafka_formats.options.alone import parse_alone
from kafka_formats.options.settings import Mode
from kafka_formats.payload.record_types import TYPE_FIELD
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.decoder import Decoder
from kafka_formats.query.query_formats import QueryFormats, decoder_of
from kafka_spark_source.testing import SchemaRegistry
from tests.formats.protobuf.messages import message_class

ROWS: Final = 200_000
BATCH_ROWS: Final = 20_000
DISTINCT: Final = 2_000
TYPES: Final = ("Order", "Payment")
FIELDS: Final = {"id": "long", "customer": "string", "amount": "double", "note": "string"}
ROUNDS: Final = 9
WARM_UP: Final = 2

Row = dict[str, Any]


def row_of(number: int) -> Row:
    note = f"note of {number % 97} " * 3
    return {"id": number * 977, "customer": f"c{number}", "amount": number / 8, "note": note}


class Format(NamedTuple):
    """A format: the registry's name of it, the schema of a type, and its encoder."""

    registered: str
    schema: Callable[[str], str]
    encoder: Callable[[str, str], Callable[[Row], bytes]]


def _avro_schema(name: str) -> str:
    fields = [{"name": field, "type": kind} for field, kind in FIELDS.items()]
    return json.dumps({"type": "record", "name": name, "namespace": "shop", "fields": fields})


def _avro(schema: str, _name: str) -> Callable[[Row], bytes]:
    parsed = fastavro.parse_schema(json.loads(schema))

    def encode(row: Row) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, row)
        return out.getvalue()

    return encode


_PROTOBUF: Final = {"long": "int64", "string": "string", "double": "double"}
_JSON: Final = {"long": "integer", "string": "string", "double": "number"}


def _protobuf_schema(name: str) -> str:
    fields = (
        f"{_PROTOBUF[kind]} {field} = {n};" for n, (field, kind) in enumerate(FIELDS.items(), 1)
    )
    return f'syntax = "proto3"; package shop; message {name} {{ {" ".join(fields)} }}'


def _protobuf(schema: str, name: str) -> Callable[[Row], bytes]:
    message = message_class(SchemaText(schema), f"shop.{name}")
    return lambda row: b"\0" + message(**row).SerializeToString()


def _json_schema(name: str) -> str:
    fields = {field: {"type": _JSON[kind]} for field, kind in FIELDS.items()}
    return json.dumps({"title": f"shop.{name}", "type": "object", "properties": fields})


FORMATS: Final = {
    "avro": Format("AVRO", _avro_schema, _avro),
    "json": Format("JSON", _json_schema, lambda *_: lambda row: json.dumps(row).encode()),
    "protobuf": Format("PROTOBUF", _protobuf_schema, _protobuf),
}


class Work(NamedTuple):
    """A decoder, and what it decodes."""

    decoder: Decoder
    batches: Sequence[pa.RecordBatch]

    def seconds(self) -> float:
        """How long it takes."""
        began = time.perf_counter()
        rows = sum(each.num_rows for each in self.decoder.rows(self.batches))
        seconds = time.perf_counter() - began
        if rows != ROWS:
            raise RuntimeError(f"{rows} rows of {ROWS}")
        return seconds


def works_of(name: str, registry: SchemaRegistry, client: SchemaRegistryClient) -> dict[str, Work]:
    """The contenders of a format."""
    format_, topic = FORMATS[name], f"events-{name}"
    payloads = {}
    for type_ in TYPES:
        schema = format_.schema(type_)
        id_ = client.register_schema(f"{topic}-shop.{type_}", Schema(schema, format_.registered))
        client.register_schema(
            f"{topic}-value", Schema(format_.schema(TYPES[0]), format_.registered)
        )
        encode, frame = format_.encoder(schema, type_), b"\0" + id_.to_bytes(4, "big")
        payloads[type_] = [frame + encode(row_of(number)) for number in range(DISTINCT)]
    options = {"value.format": name, "schema.registry.url": registry.url}
    subjects = ",".join(f"{topic}-shop.{each}" for each in TYPES)
    several = options | {"value.subjects": subjects}
    both = [each for pair in zip(*payloads.values(), strict=True) for each in pair]
    return {
        "one type": _work(options, topic, payloads[TYPES[0]]),
        "two types": _work(several, topic, both),
        "two types, one read": _work(several, topic, both, TYPES[0]),
    }


def _work(
    options: dict[str, str], topic: str, distinct: Sequence[bytes], only: str | None = None
) -> Work:
    formats = QueryFormats(parse_alone(options).formats, [topic])
    type_ = formats.columns()["value"]
    if only is not None:
        type_ = pa.struct([each for each in type_ if each.name in {TYPE_FIELD, only}])
    decoder = decoder_of(
        pa.schema([("value", type_)]), formats, checked_text=[], mode=Mode.FAILFAST
    )
    values = [*itertools.islice(itertools.cycle(distinct), ROWS)]
    columns = {
        "value": pa.array(values, pa.binary()),
        "topic": pa.array([topic] * ROWS),
        "partition": pa.array([0] * ROWS, pa.int32()),
        "offset": pa.array(range(ROWS), pa.int64()),
        "headers": pa.nulls(
            ROWS, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
        ),
    }
    table = pa.table({each: columns[each] for each in decoder.source_columns})
    return Work(decoder, table.to_batches(BATCH_ROWS))


def measure() -> list[Row]:
    results = []
    with SchemaRegistry() as registry, SchemaRegistryClient({"url": registry.url}) as client:
        for name in FORMATS:
            works = works_of(name, registry, client)
            runs: dict[str, list[float]] = {each: [] for each in works}
            for number in range(WARM_UP + ROUNDS):
                for contender in shuffled(works, number):
                    runs[contender].append(works[contender].seconds())
            measured = {each: done[WARM_UP:] for each, done in runs.items()}
            results += [_result(name, each, measured) for each in works]
    return results


def _result(name: str, contender: str, measured: dict[str, list[float]]) -> Row:
    pairs = zip(measured[contender], measured["one type"], strict=True)
    ratios = sorted(ours / one for ours, one in pairs)
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {
        "format": name,
        "contender": contender,
        "nanoseconds": round(statistics.median(measured[contender]) / ROWS * 1e9),
        "times": middle,
        "times_quartiles": [low, high],
    }


def show(results: Sequence[Row]) -> None:
    table = Table("format", "", "ns a record", "times one type")
    for row in results:
        table.add_row(
            row["format"], row["contender"], str(row["nanoseconds"]), f"{row['times']:.2f}"
        )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-types", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    folder = parser.parse_args().results
    results = measure()
    show(results)
    save(folder / "record_types.json", {"rounds": ROUNDS, "results": results})


if __name__ == "__main__":
    main()
