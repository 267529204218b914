"""What a micro-batch does with tables that fail; `tests/change_data` has real ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables import micro_batch
from kafka_spark_source.tables.arguments import DEFAULT_METADATA, parse
from kafka_spark_source.tables.checkpoint import PlannedBefore
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.late import LateState, LateTopic
from kafka_spark_source.tables.micro_batch import TablesOfMicroBatch
from kafka_spark_source.tables.progress import Progress, State
from kafka_spark_source.tables.ranges import to_row
from kafka_spark_source.tables.run import Run
from kafka_spark_source.tables.writer import Work

USUAL: dict[str, Any] = {
    **{"options": {}, "table": "lake.{topic}", "provider": "delta", "rows": "append"},
    **dict.fromkeys(("keys", "topic_options", "merge_options")),
    **{"metadata": DEFAULT_METADATA, "partition_by": (), "cluster_by": (), "properties": {}},
}
AT_MS = 1e12


def planned(topic: str, start: int, until: int) -> PlannedRange:
    return PlannedRange(OffsetRange(TopicPartition(topic, 0), start, until), None)


@dataclass
class Lake:
    """The tables and the states of late topics, as lists."""

    written: dict[str, list[int]] = field(default_factory=dict)
    works: list[tuple[str, Work]] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)
    states: list[LateState] = field(default_factory=list)
    now_ms: float = 0.0

    def tables_of(self, topic: str) -> tuple[str, ...]:
        return (f"`{topic}`",)

    def write(self, _spark: object, topic: str, work: Work) -> None:
        self.works.append((topic, work))
        if topic in self.failing:
            raise TableError(f"{topic} is away")
        for each in work.ranges:
            offsets = range(each.wanted.from_offset, each.wanted.until_offset)
            self.written.setdefault(topic, []).extend(offsets)

    def before(self, _spark: object, batch_id: int) -> LateState:
        return max(
            (each for each in self.states if each.batch_id < batch_id),
            key=lambda each: (each.batch_id, each.number),
            default=LateState(),
        )

    def newest(self, _spark: object) -> LateState:
        return self.before(None, 2**31)

    def save(self, _: object, batch_id: int, topics: Mapping[str, LateTopic]) -> LateState:
        self.states.append(LateState(batch_id, topics, 0, len(self.states)))
        return self.states[-1]


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Lake:
    made = Lake()
    monkeypatch.setattr(micro_batch, "TableWriter", lambda _arguments: made)
    monkeypatch.setattr(micro_batch, "LateTopics", lambda _checkpoint: made)
    monkeypatch.setattr(micro_batch, "query_id", lambda *_: "q")
    monkeypatch.setattr(micro_batch, "planned_before", lambda *_: PlannedBefore(4, AT_MS))
    monkeypatch.setattr(micro_batch, "inheritable_thread_target", lambda _: lambda call: call)
    monkeypatch.setattr(micro_batch, "monotonic_ms", lambda: made.now_ms)
    return made


class Query:
    """A run of a query."""

    def __init__(self, on_error: str = "suspend") -> None:
        arguments = parse(**USUAL, on_error=on_error, threads=2)
        self.progress = Progress()
        self.batches = TablesOfMicroBatch(arguments, "/c/", self.progress, Run())
        self.settings: dict[str, str] = {}
        spark: Any = SimpleNamespace(conf=SimpleNamespace(set=self.settings.__setitem__))
        self._spark = spark
        self.batches.catch_up(spark)

    def run(self, batch_id: int, *ranges: PlannedRange) -> None:
        rows: Any = SimpleNamespace(
            sparkSession=self._spark, collect=lambda: [to_row(each) for each in ranges]
        )
        self.batches(rows, batch_id)


def test_each_topic_gets_its_ranges(lake: Lake) -> None:
    query = Query()
    query.run(5, planned("a", 0, 3), planned("b", 0, 1))
    query.run(6, planned("a", 3, 4))
    assert lake.written == {"a": [0, 1, 2, 3], "b": [0]}
    assert lake.states == []
    assert [each.offsets for each in query.progress.tables()] == [4, 1]
    assert query.settings["spark.sql.storeAssignmentPolicy"] == "STRICT"
    assert query.settings["spark.sql.variable.substitute"] == "false"


def test_only_a_micro_batch_of_an_earlier_run_may_be_in_a_table(lake: Lake) -> None:
    query = Query()
    for batch_id in (4, 5):
        query.run(batch_id, planned("a", batch_id, batch_id + 1))
    assert [work.since_ms for _, work in lake.works] == [AT_MS, None]


def test_a_failure_fails_the_query_after_all_others_were_written(lake: Lake) -> None:
    lake.failing = {f"t{number}" for number in range(7)}
    ranges = [planned(topic, 0, 1) for topic in (*sorted(lake.failing), "a")]
    with pytest.raises(TableError, match=r"to 7 of its tables.*t0: t0 is away.*; and 2 more$"):
        Query("fail").run(5, *ranges)
    assert lake.written == {"a": [0]}
    assert lake.states == []


def test_a_late_topic_is_tried_again_ever_more_rarely(lake: Lake) -> None:
    query, lake.failing = Query(), {"a"}
    query.run(5, planned("a", 0, 1))
    tries = []
    for number in range(6, 40):
        lake.now_ms += 30_000
        before = len(lake.works)
        query.run(number, planned("a", number, number + 1), planned("b", number, number + 1))
        tries += [number] * any(topic == "a" for topic, _ in lake.works[before:])
    assert tries == [7, 11, 19, 35]
    assert len(lake.written["b"]) == 34
    (progress, _) = query.progress.tables()
    assert (progress.state, progress.late, progress.reason) == (State.SUSPENDED, 35, "a is away")
    assert lake.newest(None).topics["a"].since == 5


def test_a_late_topic_is_written_at_the_next_start(lake: Lake) -> None:
    lake.failing = {"a"}
    Query().run(5, planned("a", 0, 1))
    Query().run(6, planned("b", 0, 1))
    assert "a" not in lake.written
    lake.failing = set()
    query = Query()
    assert lake.written["a"] == [0]
    assert lake.works[-1][1].late_since == 5
    assert lake.newest(None).topics == {}
    query.run(7, planned("a", 1, 2))
    assert lake.written["a"] == [0, 1]


def test_a_repeated_micro_batch_begins_with_the_state_before_it(lake: Lake) -> None:
    query, lake.failing = Query(), {"a"}
    query.run(5, planned("a", 0, 1))
    query.run(6, planned("a", 1, 2))
    # The driver dies before Spark takes it for done, and the start writes what is late.
    lake.failing = set()
    again = Query()
    assert lake.written["a"] == [0, 1]
    again.run(6, planned("a", 1, 2))
    assert [(work.batch_id, len(work.ranges)) for _, work in lake.works[-2:]] == [(6, 1), (6, 1)]
    assert lake.newest(None).topics == {}


def test_a_topic_that_fails_at_the_start_and_is_in_the_repeated_micro_batch(lake: Lake) -> None:
    query, lake.failing = Query(), {"a"}
    query.run(5, planned("a", 0, 1))
    again = Query()
    again.run(5, planned("a", 0, 1))
    late = lake.newest(None).topics["a"]
    assert late == LateTopic((planned("a", 0, 1),), 5, "a is away", late.at_ms)
