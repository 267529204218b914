"""A query into files moves between Spark's own connector and ours, with its checkpoint."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.conformance.sides import OURS, THEIRS
from tests.conformance.topics import Topics
from tests.stream_folder import LOGS, StreamFolder
from tests.stream_records import Journal, Offsets, expect_each_once

pytestmark = [pytest.mark.integration, pytest.mark.spark]

MOVES = [(THEIRS, OURS), (OURS, THEIRS)]
ONE_WAY = [MOVES[0], pytest.param(*MOVES[1], marks=pytest.mark.slow)]
LIMIT = "25"  # a batch does not end at the end of a partition
OLD = 3  # records in partition 0 before LATER_MS
LATER_MS = 1_700_000_000_000

_numbers = itertools.count(1)


class Moving:
    """A query that continues through either connector, and all records that it must read."""

    def __init__(self, spark: SparkSession, topics: Topics, folder: Path) -> None:
        self.folder = StreamFolder(folder)
        self.journal = Journal(topics.servers)
        self._spark = spark
        self._topics = topics

    def make_topic(self, partitions: int = 2, prefix: str = "moving") -> str:
        """A topic that no other test uses."""
        return self._topics.make(f"{prefix}-{next(_numbers)}", partitions)

    def load(self, connector: str, **options: str) -> DataFrame:
        """A stream through one connector."""
        reader = self._spark.readStream.format(connector).option("maxOffsetsPerTrigger", LIMIT)
        servers = {"kafka.bootstrap.servers": self._topics.servers}
        return reader.options(**servers, **options).load()

    def run(self, connector: str, **options: str) -> None:
        """Continue through one connector until all records are read."""
        self.folder.run_to(self.load(connector, **options), self.journal.ends())

    def expect_each_once(self, starts: Offsets | None = None) -> None:
        """The files must hold each record from these offsets on, or from the first record on."""
        expect_each_once(self.folder.records(self._spark), self.journal, starts or {})


@pytest.fixture
def moving(spark: SparkSession, topics: Topics, tmp_path: Path) -> Moving:
    return Moving(spark, topics, tmp_path)


def start_at(kind: str, topic: str) -> dict[str, str]:
    """Options of a fixed start: after the old records, except for `earliest`."""
    starts = {
        "earliest": {"startingOffsets": "earliest"},
        "offsets": {"startingOffsets": json.dumps({topic: {"0": OLD, "1": -2}})},
        "timestamp": {"startingTimestamp": str(LATER_MS)},
    }
    return {"subscribe": topic, **starts[kind]}


STARTS: dict[str, dict[int, int]] = {"earliest": {}, "offsets": {0: OLD}, "timestamp": {0: OLD}}


@pytest.mark.parametrize(
    ("start", "first", "second"),
    [
        pytest.param("latest", THEIRS, OURS, marks=pytest.mark.core),
        ("earliest", OURS, THEIRS),
        pytest.param("earliest", THEIRS, OURS, marks=pytest.mark.slow),
        pytest.param("latest", OURS, THEIRS, marks=pytest.mark.slow),
    ],
)
def test_there_and_back_twice(moving: Moving, start: str, first: str, second: str) -> None:
    topic = moving.make_topic()
    moving.journal.write(topic, [0, 1], 5)
    starts: Offsets = {topic: {0: 5, 1: 5}} if start == "latest" else {}
    moving.run(first, subscribe=topic, startingOffsets=start)
    for connector in (first, second) * 2:
        moving.journal.write(topic, [0, 1], 20)
        moving.run(connector, subscribe=topic, startingOffsets=start)
        moving.expect_each_once(starts)


def test_offsets_in_another_order(moving: Moving) -> None:
    """Spark's connector logs topics and partitions in any order; ours sorts them."""
    sizes = {"b": 11, "B": 1, "a.c": 2, "0": 1, "moving_zz": 3}
    topics = {moving.make_topic(size, prefix): size for prefix, size in sizes.items()}
    options = {"subscribe": ",".join(topics), "startingOffsets": "earliest"}
    for connector in (THEIRS, OURS, THEIRS):
        for topic, size in topics.items():
            moving.journal.write(topic, range(size), 1)
        moving.run(connector, **options)
        moving.expect_each_once()
        logged = moving.folder.offsets(moving.folder.batches()[-1])
        order = [(topic, [*partitions]) for topic, partitions in logged.items()]
        assert (order == sorted(order)) == (connector == OURS)


@pytest.mark.parametrize(("first", "second"), ONE_WAY)
def test_a_partition_is_added_between(moving: Moving, first: str, second: str) -> None:
    """The new partition is read from its first record."""
    topic = moving.make_topic()
    starts = {topic: {0: 5, 1: 5}}
    moving.journal.write(topic, [0, 1], 5)
    moving.run(first, subscribe=topic, startingOffsets="latest")
    for partitions, connector in ((3, second), (4, first)):
        moving.journal.add_partitions(topic, partitions)
        moving.journal.write(topic, range(partitions))
        moving.run(connector, subscribe=topic, startingOffsets="latest")
        moving.expect_each_once(starts)


@pytest.mark.parametrize(("first", "second"), ONE_WAY)
def test_a_pattern_finds_a_topic_between(moving: Moving, first: str, second: str) -> None:
    prefix = f"comes-between-by-{first}"
    for connector in (first, second, first):
        moving.journal.write(moving.make_topic(3, prefix), range(3))
        moving.run(connector, subscribePattern=f"{prefix}-.*", startingOffsets="earliest")
        moving.expect_each_once()
    assert len(moving.journal.ends()) == 3


@pytest.mark.parametrize(("first", "second"), MOVES)
def test_a_batch_failed_before(moving: Moving, first: str, second: str) -> None:
    """The failed batch is logged; the other connector repeats it, and continues."""
    topic = moving.make_topic()
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    records = moving.journal.write(topic, [0, 1], 20)
    value = F.col("value").cast("string")
    bad = F.when(value == records[18].value, F.raise_error(F.lit("poison"))).otherwise(value)
    df = moving.load(first, **options).withColumn("value", bad)
    with pytest.raises(StreamingQueryException, match="poison"):
        moving.folder.run_to(df, moving.journal.ends())
    assert moving.folder.batches("offsets") > moving.folder.batches("commits")
    moving.journal.write(topic, [0, 1], 20)
    moving.run(second, **options)
    moving.expect_each_once()


@pytest.mark.parametrize(("first", "second"), MOVES)
@pytest.mark.parametrize(
    "start",
    [
        "timestamp",
        pytest.param("earliest", marks=pytest.mark.slow),
        pytest.param("offsets", marks=pytest.mark.slow),
    ],
)
def test_a_driver_died_before(moving: Moving, first: str, second: str, start: str) -> None:
    """In any batch, after each file that it writes; the last batch first."""
    topic = moving.make_topic()
    moving.journal.write(topic, [0], OLD, timestamp=LATER_MS - 1)
    moving.journal.write(topic, [0, 1], 20, timestamp=LATER_MS)
    options = start_at(start, topic)
    moving.run(first, **options)
    for state in reversed([(batch, log) for batch in moving.folder.batches() for log in LOGS]):
        moving.folder.rewind(*state)
        moving.journal.write(topic, [0, 1], 5)
        moving.run(second, **options)
        moving.expect_each_once({topic: STARTS[start]})


def test_the_first_batch_of_latest_failed_before(moving: Moving) -> None:
    """In Spark's connector. Ours continues at the end of that batch, which is the start of both."""
    topic = moving.make_topic()
    moving.journal.write(topic, [0, 1], 5)
    moving.run(THEIRS, subscribe=topic, startingOffsets="latest")
    moving.folder.rewind(0, "offsets")
    moving.journal.write(topic, [0, 1], 5)
    moving.run(OURS, subscribe=topic, startingOffsets="latest")
    moving.expect_each_once({topic: {0: 5, 1: 5}})


def test_the_first_batch_of_latest_failed_in_ours(moving: Moving) -> None:
    """Spark's connector needs a file of its own, and fails; ours continues."""
    topic = moving.make_topic()
    moving.journal.write(topic, [0, 1], 5)
    moving.run(OURS, subscribe=topic, startingOffsets="latest")
    moving.folder.rewind(0, "offsets")
    moving.journal.write(topic, [0, 1], 5)
    with pytest.raises(StreamingQueryException, match="offset was changed from 10 to 5"):
        moving.run(THEIRS, subscribe=topic, startingOffsets="latest")
    moving.run(OURS, subscribe=topic, startingOffsets="latest")
    moving.expect_each_once({topic: {0: 5, 1: 5}})
