"""Payloads of Avro and Protobuf: decoding and encoding alone, and a topic of Avro read by Spark.

    make bench-formats

With Spark: a topic into the `noop` sink, with Spark's own connector, `from_avro`, and the frame cut
off by `substring`. The ceiling is a Python source whose columns are decoded already. The table has
medians of rounds that alternate between the contenders. Compare figures only within one run.
"""

from __future__ import annotations

import argparse
import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import expr
from rich.progress import Progress
from rich.table import Table

from benchmarks.ceiling import BATCH_BYTES, Ceiling
from benchmarks.connectors import CONNECTORS, WITH_CEILING
from benchmarks.formats_alone import (
    DISTINCT,
    SHAPES,
    Json,
    Result,
    Shape,
    all_avro,
    all_protobuf,
    payloads_of,
)
from benchmarks.processes import Processes, Run, jvm_of
from benchmarks.read import WARM_UP
from benchmarks.report import RESULTS, broker, connector_jars, console, save, session
from benchmarks.rounds import results_of, shuffled
from benchmarks.session import add_conf_argument, conf_of
from benchmarks.topics import PARTITIONS, Topic, filled_topic
from kafka_protocol.columnar.writing.encode import RecordColumns
from kafka_spark_source.testing import SchemaRegistry
from kafka_spark_source.worker.worker import keep_freed_memory

# In each partition.
ROWS_OF_TOPIC = 200_000
FRAME_BYTES = 5


class Query(NamedTuple):
    """A topic of a shape, and the fields that the query wants; empty: all of them."""

    shape: str
    fields: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For the table."""
        return f"{self.shape}, three" if self.fields else self.shape


QUERIES = [*(Query(name) for name in SHAPES), Query("30 fields", ("id0", "customer1", "at2"))]
DDL = "value struct<id0: bigint, customer1: string, at2: timestamp>"


def register(registry: SchemaRegistry, topic: str, schema: Json) -> int:
    """Register the schema of a topic's values; returns its id."""
    request = urllib.request.Request(
        f"{registry.url}/subjects/{topic}-value/versions",
        json.dumps({"schema": json.dumps(schema)}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return int(json.load(response)["id"])


def rows_of(shape: Shape, schema_id: int) -> RecordColumns:
    frame = b"\x00" + schema_id.to_bytes(4, "big")
    values = [frame + payload for payload in payloads_of(shape)] * (ROWS_OF_TOPIC // DISTINCT)
    return RecordColumns(
        pa.nulls(len(values), pa.binary()),
        pa.array(values, pa.binary()),
        np.full(len(values), 1_760_000_000_000, dtype=np.int64),
        None,
    )


class Case(NamedTuple):
    """A query on a filled topic, the registry's URL, and a folder for files."""

    spark: SparkSession
    topic: Topic
    query: Query
    registry: str
    folder: Path


def with_from_avro(case: Case, contender: str) -> DataFrame:
    schema, query = SHAPES[case.query.shape].schema, case.query
    options = {}
    if query.fields:
        wanted = [each for each in schema["fields"] if each["name"] in query.fields]
        options["avroSchema"] = json.dumps(schema | {"fields": wanted})
    reader = case.spark.read.format("kafka").options(**CONNECTORS[contender][1])
    reader = reader.option("kafka.bootstrap.servers", case.topic.servers)
    payload = expr(f"substring(value, {FRAME_BYTES + 1})")
    value = from_avro(payload, json.dumps(schema), options)
    rows = reader.option("subscribe", case.topic.name).load()
    return rows.select(value.alias("value")).select("value.*")


def decoded(case: Case, contender: str = "pykafka") -> DataFrame:
    reader = case.spark.read.format("pykafka").options(**CONNECTORS[contender][1])
    reader = reader.option("subscribe", case.topic.name)
    reader = reader.option("kafka.bootstrap.servers", case.topic.servers)
    reader = reader.option("value.format", "avro").option("schema.registry.url", case.registry)
    return (reader.schema(DDL) if case.query.fields else reader).load()


def with_pykafka(case: Case, contender: str) -> DataFrame:
    return decoded(case, contender).select("value.*")


def without_kafka(case: Case, _contender: str) -> DataFrame:
    """The ceiling: columns that are decoded already, in batches of pykafka's size."""
    rows, file = decoded(case), case.folder / "batch.arrow"
    if not file.exists():
        some = rows.limit(DISTINCT).toArrow()
        copies = max(1, BATCH_BYTES // some.nbytes)
        (batch,) = pa.concat_tables([some] * copies).combine_chunks().to_batches()
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write(batch)
    ceiling = case.spark.read.format("ceiling").option("rows", case.topic.rows)
    ceiling = ceiling.option("partitions", PARTITIONS).option("batch", str(file))
    return ceiling.schema(rows.schema).load().select("value.*")


READERS: dict[str, Callable[[Case, str], DataFrame]] = {
    "kafka": with_from_avro,
    "kafka, tuned": with_from_avro,
    "pykafka": with_pykafka,
    "ceiling": without_kafka,
}


def with_spark(
    spark: SparkSession, registry: SchemaRegistry, processes: Processes, servers: str, rounds: int
) -> list[Result]:
    results: list[Result] = []
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(QUERIES) * (WARM_UP + rounds))
        for number, query in enumerate(QUERIES):
            progress.update(bar, description=f"{query.name}: filling the topic")
            shape, name = SHAPES[query.shape], f"formats-{number}"
            rows = rows_of(shape, register(registry, name, shape.schema))
            with filled_topic(servers, name, rows, "lz4") as topic, TemporaryDirectory() as folder:
                case = Case(spark, topic, query, registry.url, Path(folder))
                runs: dict[str, list[Run]] = {contender: [] for contender in READERS}
                for contender, read in READERS.items():
                    if (count := read(case, contender).count()) != topic.rows:
                        raise RuntimeError(f"{contender} reads {count} rows of {topic.rows}")
                for round_number in range(WARM_UP + rounds):
                    progress.update(bar, advance=1, description=query.name)
                    for contender in shuffled(READERS, round_number):
                        rows_read = READERS[contender](case, contender)
                        into_noop = rows_read.write.format("noop").mode("overwrite")
                        runs[contender].append(processes.timed(into_noop.save))
            measured = {name: done[WARM_UP:] for name, done in runs.items()}
            results += [
                {"workload": query.name} | each
                for each in results_of(topic.rows, measured, WITH_CEILING)
            ]
    return results


def show(codec: list[Result], messages: list[Result], queries: list[Result]) -> None:
    table = Table("alone", "", "decode, ns", "x fastavro", "encode, ns", "x fastavro")
    for row in codec:
        table.add_row(
            row["workload"],
            row["contender"],
            *(str(row[key]) for key in ("decode", "decode_to_fastavro")),
            *(str(row[key]) for key in ("encode", "encode_to_fastavro")),
            end_section=row["contender"] == "pyruhvro",
        )
    console.print(table)
    table = Table("alone", "", "decode, ns", "x protobuf")
    for row in messages:
        table.add_row(
            row["workload"],
            row["contender"],
            *(str(row[key]) for key in ("decode", "decode_to_protobuf")),
            end_section=row["contender"] == "protobuf",
        )
    console.print(table)
    table = Table("with Spark", "", "rows/s", "x kafka", "x tuned", "CPU of a row, us")
    for row in queries:
        table.add_row(
            row["workload"],
            row["contender"],
            f"{row['rows_per_second']:,}",
            f"{row['to_kafka']:.2f}",
            f"{row['to_tuned']:.2f}",
            f"{sum(row['cpu_ns'].values()) / 1_000:.1f}",
            end_section=row["contender"] == "ceiling",
        )
    console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    add_conf_argument(parser)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    jars = connector_jars("bench-formats")
    # As in a task.
    keep_freed_memory()
    codec, messages = all_avro(options.rounds), all_protobuf(options.rounds)
    with (
        broker() as cluster,
        SchemaRegistry() as registry,
        session(jars, Ceiling, conf_of(options)) as spark,
    ):
        processes = Processes(jvm_of(spark), cluster.brokers[0].pid or 0)
        servers = cluster.bootstrap_servers
        queries = with_spark(spark, registry, processes, servers, options.rounds)
    show(codec, messages, queries)
    options.results.mkdir(exist_ok=True, parents=True)
    figures = {
        "rounds": options.rounds,
        "conf": options.conf,
        "alone": codec,
        "protobuf": messages,
        "queries": queries,
    }
    save(options.results / "formats.json", figures)


if __name__ == "__main__":
    main()
