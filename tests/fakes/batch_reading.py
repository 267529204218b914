"""A batch read as Spark runs it, without Spark: planned, pickled, and read task by task."""

from __future__ import annotations

import json
import pickle
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa

from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import LATEST
from kafka_spark_source.reading.batch_reader import KafkaBatchReader
from kafka_spark_source.source import KafkaDataSource
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import PARTITION

# Offset and value.
Rows: TypeAlias = list[tuple[int, bytes | None]]

ABC: Rows = [(0, b"a"), (1, b"b"), (2, b"c")]
IN_THREE = ((b"a",), (b"b",), (b"c",))
TWELVE: Rows = [(number, b"%d" % number) for number in range(12)]
IN_TWELVE = [(b"%d" % number,) for number in range(12)]

# A topic with ABC in each partition, which tasks can read beside t.
BESIDE: Final = "beside"

# One batch in each response.
ONE_BY_ONE: Final[dict[str, Any]] = {"kafka_max_partition_fetch_bytes": 1}

# Short pauses and timeouts.
_QUICK = {
    "kafka.retry.backoff.ms": "1",
    "kafka.retry.backoff.max.ms": "10",
    "kafka.socket.connection.setup.timeout.ms": "2000",
    "kafka.topic.metadata.propagation.max.ms": "2000",
    "kafkaConsumer.pollTimeoutMs": "5000",
}


class Task(NamedTuple):
    """A pickled reader and input partition."""

    pickled: bytes

    def arrow(self) -> Iterator[pa.RecordBatch]:
        """The Arrow batches for Spark."""
        reader, partition = pickle.loads(self.pickled)
        yield from reader.read(partition)

    def batches(self) -> Generator[Rows, None, None]:
        """The rows of t in one Arrow batch at a time. In the end, those beside it are whole."""
        _, partition = pickle.loads(self.pickled)
        # Spark runs a read without partitions with an empty one.
        ranges = [each.wanted for each in partition.value or ()]
        beside: dict[TopicPartition, Rows] = {
            each.topic_partition: [] for each in ranges if each.topic_partition.topic == BESIDE
        }
        for batch in self.arrow():
            found: dict[str, Rows] = defaultdict(list)
            columns = (
                batch[name].to_pylist() for name in ("topic", "partition", "offset", "value")
            )
            for topic, number, *row in zip(*columns, strict=True):
                rows = found[topic] if topic != BESIDE else beside[TopicPartition(topic, number)]
                rows.append((row[0], row[1]))
            for rows in found.values():
                yield rows
        for topic_partition, start, until in ranges:
            last = until if until != LATEST else len(ABC)
            if topic_partition in beside:
                assert beside[topic_partition] == ABC[max(start, 0) : last]

    def rows(self) -> Rows:
        """All rows of the task."""
        return [row for batch in self.batches() for row in batch]


def plan(servers: Iterable[Address | str], *, beside: bool = False, **options: Any) -> list[Task]:
    """Plan on the driver.

    Args:
        servers: The bootstrap servers.
        beside: Whether tasks read BESIDE, too.
        options: Options of the source. Underscores in names with the prefix `kafka_` are dots.
    """
    named = {
        name.replace("_", ".") if name.startswith("kafka_") else name: str(value)
        for name, value in options.items()
    }
    defaults = {"kafka.bootstrap.servers": ",".join(map(str, servers)), **_QUICK}
    if "assign" not in named:
        defaults["subscribe"] = PARTITION.topic
    source = KafkaDataSource(_with_beside(defaults | named) if beside else defaults | named)
    reader = source.reader(source.schema())
    assert isinstance(reader, KafkaBatchReader)
    return [Task(pickle.dumps((reader, partition))) for partition in reader.partitions()]


def _with_beside(options: dict[str, str]) -> dict[str, str]:
    """The options of a read of BESIDE, too."""
    given = dict(options)
    if "assign" in given:
        given["assign"] = json.dumps(json.loads(given["assign"]) | {BESIDE: [0]})
    else:
        given["subscribe"] += f",{BESIDE}"
    for name, limit in (("startingOffsets", "earliest"), ("endingOffsets", "latest")):
        if given.get(name, "").startswith("{"):
            given[name] = json.dumps(json.loads(given[name]) | {BESIDE: limit})
    return given


def read(servers: Iterable[Address | str], **options: object) -> Rows:
    """Plan, and run the tasks one after the other."""
    return [row for task in plan(servers, beside=False, **options) for row in task.rows()]


def _add_beside(cluster: FakeCluster, last_node: int) -> None:
    """BESIDE, with one partition at the leader of t-0 and one at the last node."""
    cluster.add_topic(BESIDE, 2)
    cluster.move_leader(TopicPartition(BESIDE, 1), last_node)
    for number in range(2):
        for values in IN_THREE:
            cluster.append(TopicPartition(BESIDE, number), *values)


@contextmanager
def filled(
    *batches: tuple[bytes, ...], nodes: int = 1, beside: bool = False
) -> Iterator[FakeCluster]:
    """A fake cluster with the partition t-0 and these batches, and perhaps BESIDE."""
    with FakeCluster(nodes) as cluster:
        cluster.add_topic(PARTITION.topic)
        for values in batches:
            cluster.append(PARTITION, *values)
        if beside:
            _add_beside(cluster, nodes)
        try:
            yield cluster
        finally:
            close_shared_clusters()


@contextmanager
def planned(
    *batches: tuple[bytes, ...], nodes: int = 3, beside: bool = False, **options: object
) -> Iterator[tuple[FakeCluster, Task]]:
    """A cluster with one partition, and the task that reads it batch by batch."""
    with filled(*batches, nodes=nodes, beside=beside) as cluster:
        (task,) = plan(cluster.bootstrap_servers, beside=beside, **(ONE_BY_ONE | options))
        yield cluster, task
