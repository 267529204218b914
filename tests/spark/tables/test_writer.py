"""What is learned about a topic's table, and when anew; without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import types as T

from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables import writer as module
from kafka_spark_source.tables.arguments import Rows, parse
from kafka_spark_source.tables.commits import Marker
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.target import Prepared, Target
from kafka_spark_source.tables.topic_table import TopicTable
from kafka_spark_source.tables.writer import TableWriter, Work
from tests.spark.tables.test_micro_batch import USUAL

SPARK: Any = None


def planned(start: int, until: int, partition: int = 0) -> PlannedRange:
    return PlannedRange(OffsetRange(TopicPartition("t", partition), start, until), None)


class World:
    """A registry, a table and its history."""

    def __init__(self) -> None:
        self.columns = [T.StructType([T.StructField("a", T.IntegerType())])]
        self.learned = 0
        self.errors: list[Exception] = []
        self.written: list[Marker] = []
        self.ranges: list[list[tuple[int, int]]] = []
        self.last: Marker | list[Marker] | None = None
        self.kind = Rows.APPEND
        self.record_type = None
        self.is_new = False

    # As TopicTable.

    def table_columns(self, _spark: object) -> T.StructType:
        return self.columns[min(self.learned, len(self.columns)) - 1]

    def members(self) -> dict[str, list[str]]:
        return {}

    def write(self, _target: object, _present: object, ranges: Any, marker: Marker) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.written.append(marker)
        self.ranges.append([each.wanted[1:] for each in ranges])

    def markers(self, *_: object) -> list[Marker]:
        return [self.last] if isinstance(self.last, Marker) else self.last or []

    def learn(self, *_: object) -> list[World]:
        self.learned += 1
        return [self]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(TopicTable, "all_of", made.learn)
    monkeypatch.setattr(Target, "prepare", lambda _self, rows, _: Prepared(rows, made.is_new))
    monkeypatch.setattr(
        module,
        "last_markers",
        lambda *_: [made.last] if isinstance(made.last, Marker) else made.last or [],
    )
    return made


def new_writer() -> TableWriter:
    return TableWriter(parse(**USUAL, on_error="fail", threads=2))


def work(batch_id: int, *ranges: PlannedRange, late_since: int | None = None) -> Work:
    return Work(ranges, "q", batch_id, late_since=late_since)


def test_schemas_and_tables_are_looked_at_once(world: World) -> None:
    writer = new_writer()
    for number in range(3):
        writer.write(SPARK, "t", work(number, planned(number, number + 1)))
    assert world.learned == 1
    assert [each.batch_id for each in world.written] == [0, 1, 2]


def test_after_a_failure_once_more(world: World) -> None:
    writer = new_writer()
    writer.write(SPARK, "t", work(0, planned(0, 1)))
    world.errors = [ValueError("the table was altered")]
    writer.write(SPARK, "t", work(1, planned(1, 2)))
    assert world.learned == 2
    world.errors = [ValueError("one"), ValueError("two")]
    with pytest.raises(ValueError, match="two"):
        writer.write(SPARK, "t", work(2, planned(2, 3)))


def test_as_often_as_there_are_newer_schemas(world: World) -> None:
    world.errors = [ValueError(f"[KAFKA_SCHEMA_EVOLVED] {n}") for n in range(5)]
    new_writer().write(SPARK, "t", work(0, planned(0, 1)))
    assert world.learned == 6
    world.errors = [ValueError(f"[KAFKA_SCHEMA_EVOLVED] {n}") for n in range(50)]
    with pytest.raises(TableError, match="had a newer schema 20 times"):
        new_writer().write(SPARK, "t", work(0, planned(0, 1)))


def test_what_the_newest_schema_cannot_read_either_is_raised_as_it_is(world: World) -> None:
    """The same record fails in the same way again: that is no newer schema."""
    world.errors = [ValueError("[KAFKA_SCHEMA_INCOMPATIBLE] at offset 3")] * 2
    with pytest.raises(ValueError, match="at offset 3"):
        new_writer().write(SPARK, "t", work(0, planned(0, 1)))
    assert world.learned == 2
    # More symbols of an enum, or nulls, need no other column.
    world.errors = [ValueError("[KAFKA_SCHEMA_INCOMPATIBLE] at offset 3")]
    new_writer().write(SPARK, "t", work(0, planned(0, 1)))
    assert len(world.written) == 1


def test_a_micro_batch_that_the_table_has_is_not_written(world: World) -> None:
    world.last = Marker.of("q", 7, [planned(0, 5)])
    for ranges in ([planned(0, 5)], [planned(2, 5)]):  # retention has moved
        new_writer().write(SPARK, "t", work(7, *ranges))
    assert world.written == []
    many = [PlannedRange(OffsetRange(TopicPartition("t", n), 0, 1), None) for n in range(600)]
    world.last = Marker.of("q", 7, many)
    new_writer().write(SPARK, "t", work(7, *many))
    assert world.written == []


@pytest.mark.parametrize(
    "ranges", [[planned(0, 4)], [planned(2, 4)], [], [planned(0, 5), planned(0, 1, 1)]]
)
def test_a_micro_batch_with_other_ends_is_another_one(
    world: World, ranges: list[PlannedRange]
) -> None:
    """As after an older checkpoint: the next one would write the rest again."""
    world.last = Marker.of("q", 7, [planned(0, 5)])
    with pytest.raises(TableError, match="is it an older copy"):
        new_writer().write(SPARK, "t", work(7, *ranges))
    assert world.written == []


def test_a_late_topic_lacks_no_offsets_of_any_commit_since(world: World) -> None:
    """An older checkpoint was restored: the table has micro-batches that it forgets."""
    world.last = [
        Marker.of("q", 9, [planned(20, 30)]),
        Marker.of("q", 8, [planned(10, 20), planned(0, 5, 1)]),
        Marker.of("q", 7, [planned(0, 10)]),
    ]
    late = work(10, planned(10, 40), planned(0, 9, 1), late_since=8)
    new_writer().write(SPARK, "t", late)
    assert world.ranges == [[(30, 40), (5, 9)]]
    world.last[1] = Marker("q", 8, "a digest")
    with pytest.raises(TableError, match="one of its last commits has too many ranges"):
        new_writer().write(SPARK, "t", late)


@pytest.mark.parametrize(("batch_id", "until"), [(7, 6), (6, 5), (6, 6)])
def test_a_table_that_is_ahead_of_the_checkpoint(world: World, batch_id: int, until: int) -> None:
    world.last = Marker.of("q", 7, [planned(0, 5)])
    with pytest.raises(TableError, match="is it an older copy"):
        new_writer().write(SPARK, "t", work(batch_id, planned(0, until)))


def test_a_late_write_that_was_cut_off_is_subtracted(world: World) -> None:
    world.last = Marker.of("q", 7, [planned(0, 5)])
    new_writer().write(SPARK, "t", work(9, planned(0, 8), late_since=4))
    assert world.ranges == [[(5, 8)]]
    # Before the topic was late: these offsets are read again on purpose.
    new_writer().write(SPARK, "t", work(9, planned(0, 8), late_since=8))
    new_writer().write(SPARK, "t", work(9, planned(0, 8)))
    assert world.ranges[1:] == [[(0, 8)], [(0, 8)]]
    world.last = Marker("q", 7, "a digest")
    with pytest.raises(TableError, match="too many ranges"):
        new_writer().write(SPARK, "t", work(9, planned(0, 8), late_since=4))


def test_what_ends_a_late_write_that_was_cut_off_may_be_cut_off_too(world: World) -> None:
    again = work(7, planned(0, 8), late_since=4)
    world.last = Marker.of("q", 6, [planned(0, 5)])
    new_writer().write(SPARK, "t", again)
    world.last = world.written[0]
    new_writer().write(SPARK, "t", again)
    assert world.ranges == [[(5, 8)]]
    new_writer().write(SPARK, "t", work(9, planned(0, 9), late_since=4))
    assert world.ranges == [[(5, 8)], [(8, 9)]]


def test_a_table_that_was_just_made_has_no_history(world: World) -> None:
    world.is_new, world.last = True, Marker.of("q", 7, [planned(0, 5)])
    new_writer().write(SPARK, "t", work(7, planned(0, 5)))
    assert world.ranges == [[(0, 5)]]


def test_a_merge_needs_no_history(world: World) -> None:
    world.kind, world.last = Rows.UPSERT, Marker.of("q", 7, [planned(0, 5)])
    new_writer().write(SPARK, "t", work(7, planned(0, 5)))
    assert len(world.written) == 1


@pytest.mark.parametrize(
    ("batch_id", "start", "is_named"), [(3, 7, True), (0, 7, False), (3, 0, False)]
)
def test_a_new_table_without_old_records_is_named(
    world: World, caplog: pytest.LogCaptureFixture, batch_id: int, start: int, is_named: bool
) -> None:
    """Somebody may have renamed the one before."""
    world.is_new = True
    new_writer().write(SPARK, "t", work(batch_id, planned(start, 9)))
    found = [each for each in caplog.messages if "is new, and gets records from these" in each]
    assert len(found) == is_named
