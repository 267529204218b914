"""The cost of a claim of an exactly-once write, by the number of micro-batches before it.

Ten queries share a commit log on a real broker. Each micro-batch claims, decides and notes, as the
driver of a query does; the tasks' own transactions are left out. In turns, a claim is measured by
its CPU in this process and by the bytes that it receives from the broker.

    python benchmarks/claim.py --micro-batches 100000

`--default-topic` creates the log with the broker's own settings for segments, as a user might.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from rich.console import Console
from rich.progress import track
from rich.table import Table

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.network.transport import Transport
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.write import Identity
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.writing.commit_log import CommitLog
from kafka_spark_source.writing.decision_format import Decision, MicroBatch, TaskWrite

QUERIES = 10
TASKS = 8
TOPIC = "decisions"
# How many claims are measured at each step.
CLAIMS = 30

console = Console()


def micro_batch(log: CommitLog, prefix: str, number: int) -> None:
    """Decide about a micro-batch, and note that it is done."""
    claim = log.take_over()
    log.last_decision()
    writes = tuple(
        TaskWrite(
            task,
            1_000,
            claim._replace(transactional_id=f"{prefix}-{task}-0"),
            TopicPartition("a-topic", task),
            1_000 * number,
        )
        for task in range(TASKS)
    )
    decision = Decision(claim, MicroBatch("a-query-id-of-usual-length", number), writes)
    log.decide(decision)
    log.note_done(decision)


@contextmanager
def counted() -> Iterator[list[int]]:
    """The sizes of all reads from sockets."""
    sizes: list[int] = []
    read, read_into = Transport.read, Transport.read_into

    def counting_read(self: Transport, wanted_bytes: int, deadline: Deadline) -> bytes:
        data = read(self, wanted_bytes, deadline)
        sizes.append(len(data))
        return data

    def counting_read_into(self: Transport, buffer: memoryview, deadline: Deadline) -> int:
        count = read_into(self, buffer, deadline)
        sizes.append(count)
        return count

    Transport.read, Transport.read_into = counting_read, counting_read_into  # type: ignore[method-assign]
    try:
        yield sizes
    finally:
        Transport.read, Transport.read_into = read, read_into  # type: ignore[method-assign]


def measure(logs: dict[str, CommitLog]) -> tuple[list[float], list[int]]:
    """The CPU in ms and the bytes received, of some claims of all queries."""
    cpu_ms, received = [], []
    for claim in range(CLAIMS):
        log = [*logs.values()][claim % QUERIES]
        with counted() as sizes:
            begun = time.process_time()
            log.take_over()
            log.last_decision()
            cpu_ms.append((time.process_time() - begun) * 1_000)
        received.append(sum(sizes))
    return cpu_ms, received


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--micro-batches", type=int, default=20_000)
    parser.add_argument("--default-topic", action="store_true")
    given = parser.parse_args()
    table = Table("micro-batches", "CPU ms, median", "most", "kB received, median", "most")
    with KafkaCluster(on_progress=console.print) as kafka:
        config = ClientConfig.from_options({"bootstrap.servers": kafka.bootstrap_servers})
        if given.default_topic:
            new = NewTopic(TOPIC, configs={"cleanup.policy": "compact"})
            with closing(Cluster(config)) as cluster:
                create_topic(cluster, new, Deadline.after(30_000))
        names = [f"query-{number}" for number in range(QUERIES)]
        logs = {name: CommitLog(config, Identity(name, TOPIC)) for name in names}
        step = max(QUERIES, given.micro_batches // 5)
        for done in range(0, given.micro_batches, step):
            for number in track(range(done, done + step), f"micro-batches to {done + step:,}"):
                name = names[number % QUERIES]
                micro_batch(logs[name], name, number // QUERIES)
            cpu_ms, received = measure(logs)
            row = (
                f"{done + step:,}",
                f"{statistics.median(cpu_ms):.1f}",
                f"{max(cpu_ms):.1f}",
                f"{statistics.median(received) / 1_000:.0f}",
                f"{max(received) / 1_000:.0f}",
            )
            console.print(*row, sep="  ")  # a long run may be interrupted
            table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
