"""One Spark session: the newest record of each key, by the envelope and by queries.

    make bench-upsert

A topic of four partitions has ten records for each key, in random order, one in twenty a tombstone.
`envelope=upsert` and Spark's own connector, with `row_number()` and with `max_by`, make the table
of it in turns, into the `noop` sink: key, value and offset. Then one task of pykafka reads one
partition of as many records, each with a key of its own, of 36 bytes; its memory is that of its
process. Compare figures only within one run.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from rich.progress import Progress
from rich.table import Table

from benchmarks.ceiling import Ceiling
from benchmarks.connectors import CONNECTORS
from benchmarks.processes import Processes, Run, cpu_of_a_row, descendants, jvm_of
from benchmarks.read import into_noop
from benchmarks.report import RESULTS, broker, connector_jars, console, save, session
from benchmarks.rounds import Result, shuffled
from benchmarks.session import add_conf_argument, conf_of
from benchmarks.topics import MAX_BATCH_BYTES, PARTITIONS, Topic, new_topic
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.own_process import status_of

RECORDS_OF_A_KEY: Final = 10
TOMBSTONES: Final = 20
VALUE_BYTES: Final = 100
KEY_BYTES: Final = 36
COLUMNS: Final = ("key", "value", "offset")
CHUNK: Final = 500_000
WARM_UP: Final = 2
MIB: Final = 1024
OURS: Final = "pykafka, envelope=upsert"


# --- The topics ----------------------------------------------------------------------------------


def keys_of(numbers: npt.NDArray[np.int64], width: int) -> pa.BinaryArray:
    """Decimal numbers with zeros before them."""
    digits = numbers[:, None] // 10 ** np.arange(min(width, 18))[::-1] % 10
    data = np.full((len(numbers), width), ord("0"), np.uint8)
    data[:, -digits.shape[1] :] += digits.astype(np.uint8)
    return _binary(data)


def values_of(random: np.random.Generator, count: int, width: int) -> pa.BinaryArray:
    """Values that compress about as well as JSON: one half is random."""
    data = np.full((count, width), ord("x"), np.uint8)
    data[:, : width // 2] = random.integers(0, 256, (count, width // 2), np.uint8)
    return _binary(data)


def _binary(data: npt.NDArray[np.uint8]) -> pa.BinaryArray:
    count, width = data.shape
    offsets = np.arange(count + 1, dtype=np.int32) * width
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data.tobytes())]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def changes(records: int) -> Iterator[tuple[int, RecordColumns]]:
    """Partitions, and records of them: each key in one partition."""
    random = np.random.default_rng(1)
    of_partition = records // PARTITIONS
    for partition in range(PARTITIONS):
        for start in range(0, of_partition, CHUNK):
            count = min(CHUNK, of_partition - start)
            numbers = random.integers(0, of_partition // RECORDS_OF_A_KEY, count)
            values = values_of(random, count, VALUE_BYTES)
            is_tombstone = pa.array(random.integers(0, TOMBSTONES, count) == 0)
            values = pa.compute.if_else(is_tombstone, pa.scalar(None, pa.binary()), values)
            yield partition, _records(keys_of(numbers * PARTITIONS + partition, 16), values)


def inserts(records: int) -> Iterator[tuple[int, RecordColumns]]:
    """Records of one partition, each with a key of its own."""
    random = np.random.default_rng(1)
    for start in range(0, records, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, records))
        yield 0, _records(keys_of(numbers, KEY_BYTES), values_of(random, len(numbers), 20))


def _records(keys: pa.BinaryArray, values: pa.BinaryArray) -> RecordColumns:
    times = np.full(len(keys), 1_760_000_000_000, dtype=np.int64)
    return RecordColumns(keys, values, times, None)


@contextmanager
def topic_with(
    servers: str, name: str, records: Iterator[tuple[int, RecordColumns]]
) -> Iterator[Topic]:
    """A topic with these records; gone afterwards."""
    rows = 0
    with new_topic(servers, name) as producer:
        for partition, columns in records:
            for batch in encode_batches(columns, CompressionCodec.LZ4, MAX_BATCH_BYTES):
                producer.add(TopicPartition(name, partition), batch.data)
                if producer.pending_bytes > 16_000_000:
                    producer.flush()
            rows += len(columns.key)
        producer.flush()
        yield Topic(servers, name, rows)


# --- The queries ---------------------------------------------------------------------------------


def row_number(rows: DataFrame) -> DataFrame:
    newest = Window.partitionBy("key").orderBy(F.col("offset").desc())
    return rows.withColumn("number", F.row_number().over(newest)).where("number = 1")


def max_by(rows: DataFrame) -> DataFrame:
    def newest(name: str) -> Column:
        return F.max_by(name, "offset").alias(name)

    return rows.groupBy("key").agg(newest("value"), newest("offset"))


def by_query(
    spark: SparkSession, topic: Topic, connector: str, newest: Callable[[DataFrame], DataFrame]
) -> DataFrame:
    name, options = CONNECTORS[connector]
    reader = spark.read.format(name).options(**options).option("subscribe", topic.name)
    rows = reader.option("kafka.bootstrap.servers", topic.servers).load().select(*COLUMNS)
    return newest(rows).where("value is not null").select(*COLUMNS)


def by_envelope(spark: SparkSession, topic: Topic) -> DataFrame:
    reader = spark.read.format("pykafka").option("kafka.bootstrap.servers", topic.servers)
    reader = reader.option("subscribe", topic.name).option("envelope", "upsert")
    return reader.schema("key binary, value binary, offset bigint").load()


CONTENDERS: Final[dict[str, Callable[[SparkSession, Topic], DataFrame]]] = {
    "kafka, row_number": partial(by_query, connector="kafka", newest=row_number),
    "kafka, max_by": partial(by_query, connector="kafka", newest=max_by),
    "kafka, tuned, row_number": partial(by_query, connector="kafka, tuned", newest=row_number),
    "kafka, tuned, max_by": partial(by_query, connector="kafka, tuned", newest=max_by),
    OURS: by_envelope,
}


def check_rows(spark: SparkSession, topic: Topic) -> int:
    """A contender with other rows would have no claim to be faster; the number of rows."""
    facts = (F.count("*"), F.sum(F.crc32("value")), F.sum("offset"), F.sum(F.crc32("key")))
    found = {
        name: tuple(CONTENDERS[name](spark, topic).agg(*facts).collect()[0])
        for name in ("kafka, max_by", OURS)
    }
    if len(set(found.values())) != 1:
        raise RuntimeError(f"the contenders make different tables of {topic.name}: {found}")
    return int(found[OURS][0])


# --- The measurements ----------------------------------------------------------------------------


def measure(spark: SparkSession, kafka: KafkaCluster, options: argparse.Namespace) -> list[Result]:
    """A row for each contender."""
    processes = Processes(jvm_of(spark), kafka.brokers[0].pid or 0)
    runs: dict[str, list[Run]] = {name: [] for name in options.contenders}
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("filling the topic", total=None)
        with topic_with(kafka.bootstrap_servers, "changes", changes(options.records)) as topic:
            progress.update(bar, description="checking the rows")
            rows = check_rows(spark, topic)
            for number in range(WARM_UP + options.rounds):
                for name in shuffled(runs, number):
                    progress.update(bar, description=f"{name}, round {number}")
                    query = partial(into_noop, CONTENDERS[name](spark, topic))
                    runs[name].append(processes.timed(query))
    return summary(topic.rows, rows, {name: each[WARM_UP:] for name, each in runs.items()})


def summary(records: int, rows: int, runs: dict[str, list[Run]]) -> list[Result]:
    seconds = {name: statistics.median(run.seconds for run in done) for name, done in runs.items()}
    return [
        {
            "contender": name,
            "records": records,
            "rows": rows,
            "seconds": round(seconds[name], 2),
            "quartiles": [
                round(float(each), 2)
                for each in np.percentile([run.seconds for run in done], [25, 75])
            ],
            "times": round(seconds[name] / seconds[OURS], 2),
            "cpu_ns": cpu_of_a_row(records, done),
        }
        for name, done in runs.items()
    ]


def measure_memory(spark: SparkSession, servers: str, records: int) -> Result:
    """The largest memory that a worker had, in MiB, of one that reads so many keys."""
    with topic_with(servers, "inserts", inserts(records)) as topic:
        query = by_envelope(spark, topic)
        count = query.agg(F.count("value")).collect()[0][0]
        if count != records:
            raise RuntimeError(f"{count} rows of {records} keys")
        run = Processes(jvm_of(spark), jvm_of(spark)).timed(partial(into_noop, query))
        peaks = [*_peaks(jvm_of(spark))]
    return {"keys": records, "seconds": round(run.seconds, 2), "mib": round(max(peaks))}


def _peaks(jvm: int) -> Iterator[float]:
    """The most that each worker of a session had; one that has just ended does not tell."""
    statuses = [status_of(pid) for pid in descendants(jvm) if pid != jvm]
    return (status["VmHWM"] / MIB for status in statuses if "VmHWM" in status)


def show(results: list[Result], memory: Result) -> None:
    table = Table(
        "newest of each key", "median, s", "quartiles", "times as long", "CPU of a record, ns"
    )
    for row in results:
        table.add_row(
            row["contender"],
            f"{row['seconds']:.1f}",
            "{:.1f}..{:.1f}".format(*row["quartiles"]),
            f"{row['times']:.2f}",
            ", ".join(f"{kind} {ns:,}" for kind, ns in row["cpu_ns"].items()),
        )
    console.print(table)
    console.print(
        f"A worker that read {memory['keys']:,} keys of {KEY_BYTES} bytes in "
        f"{memory['seconds']:.1f} s had {memory['mib']:,} MiB at most."
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    add_conf_argument(parser)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=[*CONTENDERS])
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    jars = connector_jars("bench-upsert")
    with broker() as kafka, session(jars, Ceiling, conf_of(options)) as spark:
        results = measure(spark, kafka, options)
        memory = measure_memory(spark, kafka.bootstrap_servers, options.records)
    show(results, memory)
    options.results.mkdir(exist_ok=True, parents=True)
    settings = {"rounds": options.rounds, "value_bytes": VALUE_BYTES, "conf": options.conf}
    save(options.results / "upsert.json", settings | {"results": results, "memory": memory})


if __name__ == "__main__":
    main()
