"""One process, no Spark: our client beside confluent-kafka and kafka-python on the same topics.

    make bench

Each reads the same topic, and writes the same rows, in turns; the table shows the median of the
rounds and the ratio to confluent-kafka. Rounds alternate between the clients, since what else runs
on a machine comes and goes. Figures of different runs cannot be compared.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

import kafka
import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer
from confluent_kafka import Producer as LibrdkafkaProducer
from confluent_kafka import TopicPartition as LibrdkafkaPartition
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from kafka_protocol.client.admin import NewTopic, create_topic
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster import Cluster
from kafka_protocol.client.config import ClientConfig
from kafka_protocol.client.fetch import fetch_range
from kafka_protocol.client.produce import Producer
from kafka_protocol.columnar.decode import decode_batches
from kafka_protocol.columnar.encode import RecordColumns, encode_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.testing import KafkaCluster

RESULTS = Path(__file__).parent / "results"
BASE = "confluent-kafka"
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
LONG_MS = 600_000

console = Console()


def rows_of(count: int, value_bytes: int) -> RecordColumns:
    """Values that compress about as well as JSON does: half random, half the same."""
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 256, (count, value_bytes // 2), dtype=np.uint8)
    same = b"x" * (value_bytes - value_bytes // 2)
    return RecordColumns(
        pa.array([b"key %d" % (number % 1000) for number in range(count)], pa.binary()),
        pa.array([row.tobytes() + same for row in noise], pa.binary()),
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
    cluster = Cluster(ClientConfig.from_options({"bootstrap.servers": servers}))
    wanted = OffsetRange(TopicPartition(topic, 0), 0, count)
    seen = 0
    for batches in fetch_range(cluster, wanted, LONG_MS):
        for arrow in decode_batches(batches, wanted, COLUMNS):
            seen += arrow.num_rows
    cluster.close()
    return seen


def read_librdkafka(servers: str, topic: str, count: int) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    consumer.assign([LibrdkafkaPartition(topic, 0, 0)])
    seen = 0
    while seen < count:
        for message in consumer.consume(min(10_000, count - seen), timeout=30):
            message.key(), message.value(), message.offset(), message.timestamp()
            seen += 1
    consumer.close()
    return seen


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


READERS: dict[str, Callable[[str, str, int], int]] = {
    "pykafka": read_pykafka,
    "confluent-kafka": read_librdkafka,
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
    cluster = Cluster(ClientConfig.from_options({"bootstrap.servers": servers}))
    workloads = [(size, codec) for size in (100, 1_000) for codec in ("none", "lz4", "zstd")]
    results: list[dict[str, object]] = []
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(workloads) * rounds)
        for size, codec in workloads:
            rows = rows_of(count if size == 100 else count // 4, size)
            amount = len(rows.value)
            seconds: dict[tuple[str, str], list[float]] = {}
            for number in range(rounds):
                progress.update(bar, advance=1, description=f"{size} bytes, {codec}")
                for client, write in WRITERS.items():
                    topic = f"{client}-{size}-{codec}-{number}"
                    create_topic(cluster, NewTopic(topic), Deadline.after(LONG_MS))
                    spent = timed(lambda: write(servers, topic, codec, rows))  # noqa: B023
                    seconds.setdefault(("write", client), []).append(spent)
                # One topic for all readers, written the same way.
                for client, read in READERS.items():
                    spent = timed(lambda: read(servers, f"pykafka-{size}-{codec}-0", amount))  # noqa: B023
                    seconds.setdefault(("read", client), []).append(spent)
            for (what, client), spent_all in seconds.items():
                base = statistics.median(seconds[what, BASE])
                median = statistics.median(spent_all)
                results.append(
                    {
                        "what": what,
                        "value_bytes": size,
                        "codec": codec,
                        "client": client,
                        "rows_per_second": round(amount / median),
                        "ratio": round(base / median, 2),
                    }
                )
    cluster.close()
    return results


def show(results: list[dict[str, object]]) -> None:
    table = Table("", "value", "codec", "client", "rows/s", f"x {BASE}")
    for row in sorted(results, key=lambda r: (r["what"], r["value_bytes"], r["codec"])):
        table.add_row(
            str(row["what"]),
            f"{row['value_bytes']} B",
            str(row["codec"]),
            str(row["client"]),
            f"{row['rows_per_second']:,}",
            f"{row['ratio']:.2f}",
        )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000, help="of 100 bytes; a quarter of 1 kB")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    # A broker with room to breathe, so that it is not what is measured.
    with KafkaCluster(heap="2g", jvm_flags=(), on_progress=console.print) as cluster:
        results = measure(cluster.bootstrap_servers, options.rows, options.rounds)
    show(results)
    RESULTS.mkdir(exist_ok=True)
    versions = {
        n: metadata.version(n) for n in ("confluent-kafka", "kafka-python", "pyarrow", "numpy")
    }
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
