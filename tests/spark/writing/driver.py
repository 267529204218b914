"""A driver and its tasks, which a test runs step by step, as Spark would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from kafka_protocol.arrow_io.row_writer import RowWriter
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.options.partitioners import DEFAULT
from kafka_spark_source.options.write import Identity
from kafka_spark_source.writing.claimed_prefix import ClaimedPrefix
from kafka_spark_source.writing.commit_log import CommitLog
from kafka_spark_source.writing.decision_format import MicroBatch
from kafka_spark_source.writing.delivery import TaskAttempt, Written
from kafka_spark_source.writing.exactly_once import ExactlyOnce, claim_prefix
from tests.fakes.cluster import NEWEST, FakeCluster
from tests.fakes.transactions import committed_values
from tests.simulation.kafka.transactions import State

LOG = "pykafka-commit-log"
IDENTITY = Identity("p", LOG)
COLUMNS = SinkColumns(value=0, key=None, topic=None, partition=None, headers=None, timestamp=None)
TASKS = 3

Rows = Sequence[Sequence[bytes]]


class Spark:
    """A driver and its tasks, in one process, for one query."""

    def __init__(self, cluster: FakeCluster, query: str = "q") -> None:
        self.cluster = cluster
        self.query = query
        servers = ",".join(map(str, cluster.bootstrap_servers))
        self.config = ClientConfig.from_options(
            {"bootstrap.servers": servers, "retry.backoff.ms": "1", "retry.backoff.max.ms": "5"}
        )
        self.rows = RowWriter(COLUMNS, "t", DEFAULT, self.config)

    def plan(self) -> ClaimedPrefix:
        return claim_prefix(self.config, IDENTITY)

    def task(
        self,
        claimed: ClaimedPrefix,
        number: int,
        partition: int,
        values: Sequence[bytes],
        attempt: int = 0,
    ) -> Written:
        task = TaskAttempt(partition, attempt, MicroBatch(self.query, number))
        delivery = ExactlyOnce(self.rows, IDENTITY, claimed)
        return delivery.write(iter([rows(*values)]), task)

    def tasks(self, claimed: ClaimedPrefix, number: int, rows: Rows) -> list[Written]:
        return [self.task(claimed, number, place, each) for place, each in enumerate(rows)]

    def commit(self, written: Sequence[Written]) -> None:
        ExactlyOnce(self.rows, IDENTITY, None).commit(written)

    def abort(self, written: Sequence[Written | None]) -> None:
        ExactlyOnce(self.rows, IDENTITY, None).abort(written)

    def run(self, number: int, rows: Rows) -> None:
        self.commit(self.tasks(self.plan(), number, rows))

    def seen(self) -> list[bytes]:
        """All committed values; no transaction is open."""
        assert not self.open()
        client = self.cluster.client(isolation_level="read_committed")
        try:
            return committed_values(client)
        finally:
            client.close()

    def open(self) -> list[str]:
        kept = self.cluster.transactions.items()
        return sorted(name for name, entry in kept if entry.state is State.ONGOING)

    def decisions(self) -> CommitLog:
        return CommitLog(self.config, IDENTITY)


def rows(*values: bytes) -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, pa.binary())], ["value"])


def rows_of(number: int, tasks: int = TASKS) -> list[list[bytes]]:
    return [[f"{number}-{task}-{row}".encode() for row in range(2)] for task in range(tasks)]


def flat(*batches: Rows) -> list[bytes]:
    return [value for batch in batches for task in batch for value in task]


@contextmanager
def spark_on_fake(query: str = "q", release: str = NEWEST) -> Iterator[Spark]:
    with FakeCluster(release=release) as cluster:
        cluster.add_topic("t")
        cluster.add_topic(LOG, config={"cleanup.policy": "compact"})
        try:
            yield Spark(cluster, query)
        finally:
            close_shared_clusters()
