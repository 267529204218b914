"""One process, no Spark: our client beside other Python clients on the same topics.

    make bench

Each client reads the same topic and writes the same rows, in turns. The table shows the median of
the rounds and the ratio to confluent-kafka. Rounds alternate between the clients because the load
of the machine changes. Compare figures only within one run. Every client verifies checksums.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import statistics
import time
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import aiokafka
import kafka
import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer
from confluent_kafka import Producer as LibrdkafkaProducer
from confluent_kafka import TopicPartition as LibrdkafkaPartition
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from kafka_protocol.arrow_io.topic import read_topic
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster

RESULTS = Path(__file__).parent / "results"
BASE = "confluent-kafka"
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
LONG_MS = 600_000

console = Console()


class Workload(NamedTuple):
    """Values of `lowest` to `highest` bytes, evenly distributed."""

    name: str
    lowest: int
    highest: int
    codec: str

    @property
    def mean_bytes(self) -> int:
        """The mean size of a value in bytes."""
        return (self.lowest + self.highest) // 2


WORKLOADS = [
    *(Workload("100 B", 100, 100, codec) for codec in ("none", "gzip", "snappy", "lz4", "zstd")),
    Workload("50-150 B", 50, 150, "none"),
    *(Workload("1 kB", 1_000, 1_000, codec) for codec in ("none", "lz4", "zstd")),
]


def rows_of(count: int, workload: Workload) -> RecordColumns:
    """Rows whose values compress about as well as JSON: one half is random."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(workload.lowest, workload.highest + 1, count)
    noise = rng.integers(0, 256, (count, workload.highest // 2), dtype=np.uint8)
    same = b"x" * workload.highest
    return RecordColumns(
        pa.array([b"key %d" % (number % 1000) for number in range(count)], pa.binary()),
        pa.array(
            [
                row.tobytes()[: length // 2] + same[: length - length // 2]
                for row, length in zip(noise, lengths.tolist(), strict=True)
            ],
            pa.binary(),
        ),
        np.full(count, 1_760_000_000_000, dtype=np.int64),
    )


def write_pykafka(servers: str, topic: str, codec: str, rows: RecordColumns) -> None:
    cluster = Cluster(ClientConfig.from_options({"bootstrap.servers": servers}))
    producer = Producer(cluster)
    for batch in encode_batches(rows, CompressionCodec[codec.upper()]):
        producer.add(TopicPartition(topic, 0), batch.data)
    producer.flush()
    cluster.close()


def write_librdkafka(servers: str, topic: str, codec: str, rows: RecordColumns) -> None:
    options = {"bootstrap.servers": servers, "compression.type": codec, "linger.ms": 50}
    producer = LibrdkafkaProducer(
        options | {"batch.size": 1_000_000, "queue.buffering.max.messages": 2_000_000}
    )
    for key, value in zip(rows.key.to_pylist(), rows.value.to_pylist(), strict=True):
        producer.produce(topic, value, key, 0)
    if producer.flush(120):
        raise RuntimeError("not everything was written")


def read_pykafka(servers: str, topic: str, count: int) -> int:
    reader = read_topic(topic, {"bootstrap.servers": servers}, end={0: count}, columns=COLUMNS)
    return sum(batch.num_rows for batch in reader)


def read_librdkafka(servers: str, topic: str, count: int, **options: object) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
        | options
    )
    consumer.assign([LibrdkafkaPartition(topic, 0, 0)])
    seen = 0
    while seen < count:
        for message in consumer.consume(min(10_000, count - seen), timeout=30):
            message.key(), message.value(), message.offset(), message.timestamp()
            seen += 1
    consumer.close()
    return seen


def read_tuned_librdkafka(servers: str, topic: str, count: int) -> int:
    """Without librdkafka's pause of one second when 100,000 messages wait."""
    return read_librdkafka(servers, topic, count, **{"fetch.queue.backoff.ms": 0})


def read_kafka_python(servers: str, topic: str, count: int) -> int:
    consumer = kafka.KafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False)
    consumer.assign([kafka.TopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    seen = 0
    while seen < count:
        for records in consumer.poll(timeout_ms=30_000, max_records=10_000).values():
            seen += len(records)
    consumer.close()
    return seen


def read_aiokafka(servers: str, topic: str, count: int) -> int:
    async def read() -> int:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False)
        await consumer.start()
        partition = aiokafka.TopicPartition(topic, 0)
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        seen = 0
        while seen < count:
            for records in (await consumer.getmany(timeout_ms=30_000, max_records=10_000)).values():
                seen += len(records)
        await consumer.stop()
        return seen

    return asyncio.run(read())


READERS: dict[str, Callable[[str, str, int], int]] = {
    "pykafka": read_pykafka,
    "confluent-kafka": read_librdkafka,
    "confluent-kafka, tuned": read_tuned_librdkafka,
    "aiokafka": read_aiokafka,
    "kafka-python": read_kafka_python,
}
WRITERS: dict[str, Callable[[str, str, str, RecordColumns], None]] = {
    "pykafka": write_pykafka,
    "confluent-kafka": write_librdkafka,
}


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(servers: str, count: int, rounds: int) -> list[dict[str, object]]:
    """A row for each workload and client: the median of its rows per second."""
    results: list[dict[str, object]] = []
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(WORKLOADS) * rounds)
        for number, workload in enumerate(WORKLOADS):
            rows = rows_of(count * 100 // max(100, workload.mean_bytes // 2), workload)
            seconds: dict[tuple[str, str], list[float]] = {}
            for turn in range(rounds):
                progress.update(bar, advance=1, description=f"{workload.name}, {workload.codec}")
                one_round(servers, f"{number}-{turn}", workload, rows, seconds)
            results += summary(workload, len(rows.value), seconds)
    return results


def one_round(
    servers: str,
    name: str,
    workload: Workload,
    rows: RecordColumns,
    seconds: dict[tuple[str, str], list[float]],
) -> None:
    cluster = Cluster(ClientConfig.from_options({"bootstrap.servers": servers}))
    for client, write in WRITERS.items():
        topic = f"{client}-{name}"
        create_topic(cluster, NewTopic(topic), Deadline.after(LONG_MS))
        spent = timed(partial(write, servers, topic, workload.codec, rows))
        seconds.setdefault(("write", client), []).append(spent)
    cluster.close()
    # One topic for all readers, written the same way.
    for client, read in READERS.items():
        spent = timed(partial(read, servers, f"pykafka-{name}", len(rows.value)))
        seconds.setdefault(("read", client), []).append(spent)


def summary(
    workload: Workload, amount: int, seconds: dict[tuple[str, str], list[float]]
) -> list[dict[str, object]]:
    medians = {key: statistics.median(spent) for key, spent in seconds.items()}
    return [
        {
            "what": what,
            "value": workload.name,
            "codec": workload.codec,
            "client": client,
            "rows_per_second": round(amount / median),
            "ratio": round(medians[what, BASE] / median, 2),
        }
        for (what, client), median in medians.items()
    ]


def show(results: list[dict[str, object]]) -> None:
    table = Table("", "value", "codec", "client", "rows/s", f"x {BASE}")
    for row in sorted(results, key=lambda row: str(row["what"])):
        table.add_row(
            str(row["what"]),
            str(row["value"]),
            str(row["codec"]),
            str(row["client"]),
            f"{row['rows_per_second']:,}",
            f"{row['ratio']:.2f}",
        )
    console.print(table)


def plot(results: list[dict[str, object]], file: Path) -> None:
    """Draw rows per second of each client as bars, for each workload that is read."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to import, and only needed here

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    read = [row for row in results if row["what"] == "read"]
    labels = list(dict.fromkeys(f"{row['value']}\n{row['codec']}" for row in read))
    figure, axes = plt.subplots(figsize=(10, 4.5), layout="constrained")
    for i, client in enumerate(READERS):
        heights = [
            int(str(row["rows_per_second"])) / 1e6 for row in read if row["client"] == client
        ]
        places = np.arange(len(labels)) + (i - 2) * 0.16
        axes.bar(places, heights, 0.16, label=client)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylabel("million rows per second")
    axes.set_title("Reading a topic in one Python process, checksums verified")
    axes.legend()
    figure.savefig(file, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000, help="of 100 bytes; a fifth of 1 kB")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    # A broker with enough memory not to be the bottleneck.
    with KafkaCluster(heap="2g", jvm_flags=(), on_progress=console.print) as cluster:
        results = measure(cluster.bootstrap_servers, options.rows, options.rounds)
    show(results)
    RESULTS.mkdir(exist_ok=True)
    plot(results, RESULTS / "clients.png")
    packages = ("confluent-kafka", "aiokafka", "kafka-python", "pyarrow", "numpy")
    versions = {name: metadata.version(name) for name in packages}
    facts = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "versions": versions,
        "rows": options.rows,
        "rounds": options.rounds,
        "results": results,
    }
    (RESULTS / "clients.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
