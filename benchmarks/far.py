"""A broker that is far away: pykafka and Spark's own connector, by the same link.

    make bench-far

The link between Spark and the broker delays bytes, and lets no more than a window of a connection
be under way, as the largest buffers of Linux' defaults do; so a connection carries at most window /
round trip. Each figure is the share of that which a query reaches, with one connection for each
task. Connections are opened without a delay, for all contenders. They take turns in each round.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pyspark.sql import SparkSession
from rich.table import Table

from benchmarks.ceiling import Ceiling
from benchmarks.report import RESULTS, connector_jars, console, save, session
from benchmarks.rounds import shuffled
from benchmarks.topics import batches_of, new_topic, rows_of
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.endurance.far_link import Distance, far_link

MEGA: Final = 1_000_000
HOST: Final = "127.0.0.11"
# 200 ms, a gigabit, and the largest buffer for sending by Linux' defaults.
DISTANCE: Final = Distance(200, 125 * MEGA, 4 * 1024 * 1024)
PARTITIONS: Final = 2
VALUE_BYTES: Final = 1_000
BATCH_BYTES: Final = 16_384  # Java's default for batch.size
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class Contender(NamedTuple):
    """A data source with options."""

    format: str
    read: Mapping[str, str] = _NONE
    write: Mapping[str, str] = _NONE


CONTENDERS: Final = {
    "pykafka": Contender("pykafka"),
    "connector": Contender("kafka"),
    "connector, tuned": Contender(
        "kafka",
        {
            "kafka.max.partition.fetch.bytes": str(8 * 1024 * 1024),
            # It asks for both ends of the log after each poll.
            "kafka.max.poll.records": "20000",
            "kafka.receive.buffer.bytes": "-1",
        },
        {
            "kafka.batch.size": str(MEGA),
            "kafka.linger.ms": "50",
            "kafka.buffer.memory": str(128 * MEGA),
            "kafka.send.buffer.bytes": "-1",
            "kafka.max.request.size": str(16 * MEGA),
        },
    ),
}


class Scene(NamedTuple):
    """A session, and the far broker."""

    spark: SparkSession
    servers: str
    folder: Path


def read(scene: Scene, contender: Contender, topic: str) -> None:
    """A batch read of the whole topic."""
    servers = {"kafka.bootstrap.servers": scene.servers, "subscribe": topic}
    frame = scene.spark.read.format(contender.format).options(**servers, **contender.read).load()
    frame.write.format("noop").mode("overwrite").save()


def stream(scene: Scene, contender: Contender, topic: str) -> None:
    """A stream of the whole topic, to its end."""
    servers = {"kafka.bootstrap.servers": scene.servers, "subscribe": topic}
    frame = scene.spark.readStream.format(contender.format).options(**servers, **contender.read)
    rows = frame.option("startingOffsets", "earliest").load()
    with TemporaryDirectory(dir=scene.folder) as checkpoint:
        query = (
            rows.writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()


def write(scene: Scene, contender: Contender, _topic: str) -> None:
    """A batch write of rows that Spark makes, by one task for each partition."""
    count = scene.spark.conf.get("spark.pykafka.rows", "0")
    rows = scene.spark.range(0, int(count or 0), 1, PARTITIONS).selectExpr(
        "CAST(id AS STRING) AS key", f"repeat(CAST(rand() AS STRING), {VALUE_BYTES // 20}) AS value"
    )
    options = {"kafka.bootstrap.servers": scene.servers, "topic": "written", **contender.write}
    rows.write.format(contender.format).options(**options).mode("append").save()


def one_record(scene: Scene, contender: Contender, topic: str) -> None:
    """A batch read of one record."""
    servers = {"kafka.bootstrap.servers": scene.servers, "subscribe": topic}
    ends = f'{{"{topic}":{{"0":1,"1":0}}}}'
    frame = scene.spark.read.format(contender.format).options(**servers, endingOffsets=ends)
    frame.load().write.format("noop").mode("overwrite").save()


QUERIES: Final[Mapping[str, Callable[[Scene, Contender, str], None]]] = {
    "read": read,
    "stream": stream,
    "write": write,
    "one record": one_record,
}


@contextmanager
def far_scene(spark: SparkSession, megabytes: int) -> Iterator[Scene]:
    """A far broker with a filled topic, for the queries."""
    rows = rows_of(megabytes * MEGA // PARTITIONS // VALUE_BYTES, VALUE_BYTES)
    spark.conf.set("spark.pykafka.rows", str(len(rows.value) * PARTITIONS))
    config = {"advertised.listeners": f"PLAINTEXT://{HOST}:{{port}}"}
    with KafkaCluster(heap="2g", jvm_flags=(), config=config) as kafka, ExitStack() as stack:
        broker = kafka.brokers[0]
        listen, target = (HOST, broker.port), (broker.host, broker.port)
        servers = f"{HOST}:{broker.port}"
        with far_link(listen, target, Distance(0, 1e12, 1 << 30)), ExitStack() as topics:
            producer = topics.enter_context(new_topic(servers, "far", PARTITIONS))
            topics.enter_context(new_topic(servers, "written", PARTITIONS))
            for batch in batches_of(rows, CompressionCodec.NONE, BATCH_BYTES, MEGA):
                for number in range(PARTITIONS):
                    producer.add(TopicPartition("far", number), batch.data)
                producer.push(8 * MEGA)
            producer.flush()
            topics.pop_all()  # the broker ends with them
        stack.enter_context(far_link(listen, target, DISTANCE))
        folder = stack.enter_context(TemporaryDirectory())
        yield Scene(spark, servers, Path(folder))


def measured(
    scene: Scene, rounds: int, queries: Sequence[str]
) -> dict[str, dict[str, list[float]]]:
    """Seconds by query and contender, after one round that does not count."""
    seconds: dict[str, dict[str, list[float]]] = {name: {} for name in queries}
    for number in range(rounds + 1):
        for query in queries:
            run = QUERIES[query]
            for name in shuffled(CONTENDERS, number):
                before = time.perf_counter()
                run(scene, CONTENDERS[name], "far")
                taken = time.perf_counter() - before
                console.print(f"round {number}: {query}, {name}: {taken:.2f} s")
                if number:
                    seconds[query].setdefault(name, []).append(taken)
    return seconds


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=100, help="of both partitions")
    parser.add_argument("--only", choices=QUERIES, action="append", help="a query")
    arguments = parser.parse_args()
    jars = connector_jars("bench-far")
    with session(jars, Ceiling) as spark, far_scene(spark, arguments.megabytes) as scene:
        seconds = measured(scene, arguments.rounds, arguments.only or [*QUERIES])
    most = PARTITIONS * DISTANCE.most_bytes_per_second / MEGA
    table = Table("query", *CONTENDERS, title=f"Seconds; in brackets the share of {most:.0f} MB/s")
    results: list[dict[str, Any]] = []
    for query, by_name in seconds.items():
        cells = []
        for name in CONTENDERS:
            median = statistics.median(by_name[name])
            share = arguments.megabytes / median / most
            cells.append(f"{median:.2f}" + ("" if query == "one record" else f" ({share:.0%})"))
            result = {"query": query, "contender": name, "seconds": round(median, 3)}
            results.append(result | {"share": round(share, 3)})
        table.add_row(query, *cells)
    console.print(table)
    save(RESULTS / "far.json", {"distance": DISTANCE._asdict(), "results": results})


if __name__ == "__main__":
    main()
