"""Eight queries at once on one Sail server, where each task is a thread; each has other options."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic, Read, Write
from tests.witness import produce_repeated, repeated_value, values_of

pytestmark = pytest.mark.integration

PARTITIONS = 4
# Responses of each partition are above 64 kB, so that frames have memory of their own.
RECORDS = 2_000
TIMES = 3


class Query(NamedTuple):
    """The options of a read, and where in each partition its rows begin."""

    options: Mapping[str, str]
    columns: tuple[str, ...] = ("value",)
    first: int = 0


QUERIES = (
    Query({}),
    Query({"kafka.max.partition.fetch.bytes": "70000"}),
    Query({"kafka.isolation.level": "read_committed"}, first=777),
    Query({"includeHeaders": "true"}, ("value", "key", "headers")),
    Query({"kafka.check.crcs": "false", "minPartitions": "9"}),
    Query({"kafka.fetch.max.bytes": "300000", "coalescePartitions": "false"}, first=1),
    Query({"maxRecordsPerPartition": "500"}, ("key",)),
    Query({"kafka.client.id": "another", "kafka.request.timeout.ms": "20000"}, first=1_500),
)


def filled(make_topic: MakeTopic, servers: str, codec: str) -> str:
    topic = make_topic(partitions=PARTITIONS)
    produce_repeated(servers, topic, PARTITIONS, RECORDS, codec)
    return topic


def row_of(query: Query, topic: str, partition: int, offset: int) -> tuple[Any, ...]:
    cells = {
        "value": repeated_value(topic, partition, offset).encode(),
        "key": b"%d" % offset,
        "headers": [("n", b"%d" % offset)],
    }
    return (partition, offset, *(cells[column] for column in query.columns))


def test_reads_with_other_options(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, read: Read
) -> None:
    servers = kafka_cluster.bootstrap_servers
    topics = [filled(make_topic, servers, codec) for codec in ("none", "lz4", "zstd")]

    def run(number: int) -> None:
        query, topic = QUERIES[number % len(QUERIES)], topics[number % len(topics)]
        starts = ",".join(f'"{partition}":{query.first}' for partition in range(PARTITIONS))
        options = {"startingOffsets": f'{{"{topic}":{{{starts}}}}}', **query.options}
        rows = read(subscribe=topic, **options).select("partition", "offset", *query.columns)
        found = sorted(tuple(row) for row in rows.collect())
        assert found == [
            row_of(query, topic, partition, offset)
            for partition in range(PARTITIONS)
            for offset in range(query.first, RECORDS)
        ]

    with ThreadPoolExecutor(len(QUERIES)) as threads:
        for _ in threads.map(run, range(TIMES * len(QUERIES))):
            pass


def test_reads_and_writes_with_equal_options(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, read: Read, write: Write
) -> None:
    """A copy reads and writes in one process, and their connections are not the same ones."""
    servers = kafka_cluster.bootstrap_servers
    source = filled(make_topic, servers, "lz4")
    copies = [make_topic(partitions=PARTITIONS) for _ in QUERIES]

    def run(copy: str) -> None:
        write(read(subscribe=source).select("key", "value", "partition"), topic=copy)

    with ThreadPoolExecutor(len(copies)) as threads:
        for _ in threads.map(run, copies):
            pass
    for copy in copies:
        for partition in range(PARTITIONS):
            wanted = [repeated_value(source, partition, offset) for offset in range(RECORDS)]
            assert values_of(servers, copy, partition) == wanted
