"""Eight readers and eight writers in the threads of one process, with other options each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import duckdb
import polars
import pyarrow as pa
import pytest

from kafka_protocol.arrow_io.table import write_table
from kafka_protocol.arrow_io.topic import create_topic, read_topic
from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic
from tests.witness import produce_repeated, records_of, repeated_value

pytestmark = pytest.mark.integration

PARTITIONS = 4
# Of each partition; responses are above 64 kB, so frames are received in memory of their own.
RECORDS = 2_000
THREADS = 8
ROUNDS = 3


class Variant(NamedTuple):
    """The options of one reader."""

    columns: tuple[str, ...]
    partitions: tuple[int, ...] = (0, 1, 2, 3)
    options: Mapping[str, str] = {}
    first: int = 0


ALL = ("value", "partition", "offset")
VARIANTS = [
    Variant(ALL),
    Variant((*ALL, "key", "timestamp", "headers"), (3, 1)),
    Variant(ALL, (0,), {"max.partition.fetch.bytes": "70000"}),
    Variant(ALL, (2, 3), {"isolation.level": "read_committed"}, first=777),
    Variant(("partition", "offset")),
    Variant(ALL, (1,), {"check.crcs": "false"}),
    Variant(("offset", "value", "topic", "partition"), (0, 2), {"fetch.max.bytes": "300000"}),
    Variant(ALL, (3,), {"max.partition.fetch.bytes": "5000000"}, first=1_500),
]


@pytest.fixture(scope="module")
def options(kafka_cluster: KafkaCluster) -> dict[str, str]:
    return {"bootstrap.servers": kafka_cluster.bootstrap_servers}


@pytest.fixture(scope="module")
def topics(options: dict[str, str]) -> list[str]:
    """Topics that librdkafka wrote, each with another compression codec."""
    codecs = {f"threads-{codec}": codec for codec in ("none", "lz4", "zstd")}
    for topic, codec in codecs.items():
        create_topic(topic, options, partitions=PARTITIONS)
        produce_repeated(options["bootstrap.servers"], topic, PARTITIONS, RECORDS, codec)
    return [*codecs]


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(THREADS) as pool:
        yield pool


def check(topic: str, variant: Variant, table: pa.Table) -> None:
    """The rows are those of the witness' topic, in order."""
    assert table.schema.names == [*variant.columns]
    wanted = [(p, o) for p in sorted(variant.partitions) for o in range(variant.first, RECORDS)]
    found = zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True)
    assert [*found] == wanted
    if "value" in variant.columns:
        values = [repeated_value(topic, p, o).encode() for p, o in wanted]
        assert table["value"].to_pylist() == values
    if "headers" in variant.columns:
        headers = [[{"key": "n", "value": b"%d" % o}] for _, o in wanted]
        assert table["headers"].to_pylist() == headers


def read(topic: str, variant: Variant, options: Mapping[str, str]) -> Any:
    return read_topic(
        topic,
        {**options, **variant.options},
        start=dict.fromkeys(variant.partitions, variant.first),
        partitions=variant.partitions,
        columns=variant.columns,
    )


def test_readers(topics: list[str], options: dict[str, str], threads: ThreadPoolExecutor) -> None:
    def run(number: int) -> None:
        variant, topic = VARIANTS[number % len(VARIANTS)], topics[number % len(topics)]
        check(topic, variant, read(topic, variant, options).read_all())

    for _ in threads.map(run, range(THREADS * ROUNDS)):
        pass


def test_writers(
    make_topic: MakeTopic, options: dict[str, str], threads: ThreadPoolExecutor
) -> None:
    codecs = ["none", "lz4", "zstd", "gzip"]
    topics = [make_topic(partitions=1) for _ in range(THREADS)]

    def run(number: int) -> None:
        topic = topics[number]
        rows = [repeated_value(topic, 0, offset) for offset in range(RECORDS)]
        table = pa.table({"value": pa.array(rows).cast(pa.binary())})
        write_table(table, options | {"compression.type": codecs[number % 4]}, topic=topic)

    for _ in threads.map(run, range(THREADS)):
        pass
    for topic in topics:
        values = [repeated_value(topic, 0, offset) for offset in range(RECORDS)]
        assert records_of(options["bootstrap.servers"], topic, 0) == [*enumerate(values)]


@pytest.mark.slow
def test_duckdb_with_two_readers(topics: list[str], options: dict[str, str]) -> None:
    """DuckDB reads both in threads of its own."""
    first, second = (read(topic, Variant(ALL), options) for topic in topics[:2])
    with duckdb.connect() as db:
        db.register("first", first)
        db.register("second", second)
        rows = db.sql(
            "SELECT f.partition, f.offset, f.value, s.value FROM first f JOIN second s "
            "ON f.partition = s.partition AND f.offset = s.offset ORDER BY 1, 2"
        ).fetchall()
    assert rows == [
        (p, o, *(repeated_value(topic, p, o).encode() for topic in topics[:2]))
        for p in range(PARTITIONS)
        for o in range(RECORDS)
    ]


def test_polars_with_two_readers(
    topics: list[str], options: dict[str, str], threads: ThreadPoolExecutor
) -> None:
    def run(topic: str) -> polars.DataFrame:
        frame = polars.from_arrow(read(topic, Variant(ALL), options))
        assert isinstance(frame, polars.DataFrame)
        return frame

    for topic, frame in zip(topics, threads.map(run, topics), strict=True):
        check(topic, Variant(ALL), frame.to_arrow())
