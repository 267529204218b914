"""Drivers that die and tasks that are run again: the successor gives the same rows, and the rest.

A driver dies at each moment of a trigger, with more written and more partitions by the time that
its successor starts. The numbers are those of the list of faults.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from pyspark.sql.datasource import DataSourceStreamReader

from kafka_protocol.client.clock import now_ms
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.batch_reading import ABC, IN_THREE, IN_TWELVE, ONE_BY_ONE, TWELVE, Rows
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.log import START_MS, batch_of
from tests.fakes.reading import PARTITION
from tests.fakes.stream_reading import MOMENTS, Moment, Query, streaming, values

HAS_LIMITS = hasattr(DataSourceStreamReader, "getDefaultReadLimit")
LIMITS = pytest.mark.parametrize(
    "limits",
    [{}, {"maxOffsetsPerTrigger": 2}, {"maxBytesPerTrigger": 150}],
    ids=["no limit", "offsets", "bytes"],
)


pytestmark = pytest.mark.usefixtures("each_trigger_looks_anew")

# --- Where a query starts ------------------------------------------------------------------------


class Start(NamedTuple):
    """A start, and the offset that it stands for in a log of twelve records.

    Attributes:
        options: Of the source.
        offset: Where the query starts.
        moves: Whether it stands for the end, wherever that is.
    """

    options: dict[str, object]
    offset: int
    moves: bool = False


GROUP = {"kafka_group_id": "g"}
STARTS = {
    "earliest": Start({"startingOffsets": "earliest"}, 0),
    "latest": Start({"startingOffsets": "latest"}, 12, True),
    "map": Start({"startingOffsets": '{"t":{"0":5}}'}, 5),
    "map of words": Start({"startingOffsets": '{"t":{"0":-1}}'}, 12, True),
    "timestamp": Start({"startingTimestamp": START_MS + 4}, 4),
    "timestamps": Start({"startingOffsetsByTimestamp": f'{{"t":{{"0":{START_MS + 4}}}}}'}, 4),
    "no timestamp": Start(
        {
            "startingTimestamp": 4_102_444_800_000,
            "startingOffsetsByTimestampStrategy": "latest",
        },
        12,
        True,
    ),
}
RELATIVE = {
    "latest-3": Start({"startingOffsets": "latest-3"}, 9),
    "ago": Start({"startingOffsets": "-10m"}, 7),
    "group": Start({"startingOffsets": "group", **GROUP}, 6),
}
if HAS_LIMITS:  # else they are refused
    STARTS |= RELATIVE


def write_history(cluster: ScriptedCluster) -> None:
    """Twelve records, the last five of them young; the group stands at 6."""
    cluster.add_topic("t")
    for offset in range(12):
        timestamp = now_ms() if offset >= 7 else START_MS + offset
        cluster.log(PARTITION).append(batch_of(b"%d" % offset, timestamp=timestamp))
    cluster.committed["g"] = {PARTITION: 6}


def write_more(cluster: ScriptedCluster) -> None:
    end = cluster.log(PARTITION).end_offset
    for offset in range(end, end + 3):
        cluster.append(PARTITION, b"%d" % offset)


def nothing(_: ScriptedCluster) -> None:
    pass


def reset_group(cluster: ScriptedCluster) -> None:
    cluster.committed["g"] = {PARTITION: 2}


def forward_group(cluster: ScriptedCluster) -> None:
    cluster.committed["g"] = {PARTITION: 11}


def add_partition(cluster: ScriptedCluster) -> None:
    topic = cluster.topics["t"]
    topic.partitions[1] = type(topic.partitions[0])(leader=1)
    cluster.append(TopicPartition("t", 1), b"added")


BETWEEN = [nothing, write_more, reset_group, forward_group, add_partition]


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("moment", MOMENTS[MOMENTS.index("end logged") :])
def test_fault_57_a_driver_that_dies_in_the_first_batch(
    name: str,
    moment: Moment,
    between: Callable[[ScriptedCluster], None],
) -> None:
    """From the log of its end on, the start is fixed."""
    start = STARTS[name]
    with streaming(**start.options, maxOffsetsPerTrigger=5) as (cluster, query):
        write_history(cluster)
        query.die_at(moment)
        between(cluster)
        query.restart()
        query.run()
        write_more(cluster)
        query.run()
        expect_from(start.offset, query, cluster)


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("moment", ["start found", "end found"])
def test_fault_57_a_driver_that_dies_before_the_first_batch(name: str, moment: Moment) -> None:
    """Nothing was promised: the successor starts as any other query."""
    start = STARTS[name]
    with streaming(**start.options) as (cluster, query):
        write_history(cluster)
        query.die_at(moment)
        write_more(cluster)
        query.restart()
        query.run()
        write_more(cluster)
        query.run()
        moved = 3 if start.moves or name == "latest-3" else 0
        expect_from(start.offset + moved, query, cluster)


def expect_from(start: int, query: Query, cluster: ScriptedCluster) -> None:
    """Each record from an offset on once, in order; and all of an added partition."""
    rows = [row for row in query.checkpoint.rows if row[1] != b"added"]
    end = cluster.log(PARTITION).end_offset
    assert rows == [(offset, b"%d" % offset) for offset in range(start, end)]
    added = len(query.checkpoint.rows) - len(rows)
    assert added == len(cluster.topics["t"].partitions) - 1


# --- In the middle of a query --------------------------------------------------------------------


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("between", [nothing, write_more, add_partition])
@LIMITS
def test_fault_57_a_driver_that_dies_later(
    moment: Moment, between: Callable[[ScriptedCluster], None], limits: dict[str, int]
) -> None:
    """Again and again, at the same moment of each batch, which ends where it was to end."""
    with streaming(**limits) as (cluster, query):
        write_history(cluster)
        query.trigger()
        for number in range(4):
            if number == 1:
                between(cluster)
            write_more(cluster)
            query.die_at(moment)
            logged = [*query.checkpoint.ends]
            write_more(cluster)
            query.restart()
            query.trigger()
            assert query.checkpoint.ends[: len(logged)] == logged
        query.run()
        expect_from(0, query, cluster)


@pytest.mark.parametrize("trigger", ["once", "available now"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_fault_57_with_triggers_that_end(trigger: Any, moment: Moment) -> None:
    with streaming(trigger=trigger, maxOffsetsPerTrigger=5) as (cluster, query):
        write_history(cluster)
        query.die_at(moment)
        for _ in range(6):
            write_more(cluster)
            query.restart()
            query.run()
        while query.checkpoint.rows[-1][0] < cluster.log(PARTITION).end_offset - 1:
            query.restart()
            assert query.run()
        expect_from(0, query, cluster)


@pytest.mark.parametrize("seed", range(30))
def test_fault_57_drivers_that_die_at_random_moments(seed: int) -> None:
    """While leaders move, records and partitions come, and limits change from run to run."""
    chance = random.Random(seed)
    limits = [{"maxOffsetsPerTrigger": 4}, {"maxBytesPerTrigger": 300}, {"minOffsetsPerTrigger": 2}]
    with streaming(nodes=3) as (cluster, query):
        written: list[str] = []
        for step in range(40):
            match chance.randrange(6):
                case 0 | 1:
                    number = chance.randrange(len(cluster.topics["t"].partitions)) if step else 0
                    written.append(f"{step}")
                    cluster.append(TopicPartition("t", number), written[-1].encode())
                case 2 if len(cluster.topics["t"].partitions) < 5:
                    topic = cluster.topics["t"]
                    number = len(topic.partitions)
                    topic.partitions[number] = type(topic.partitions[0])(chance.randint(1, 3))
                case 3:
                    number = chance.randrange(len(cluster.topics["t"].partitions))
                    cluster.move_leader(TopicPartition("t", number), chance.randint(1, 3))
                case 4:
                    query.trigger()
                case _:
                    moments = query.moments()
                    for _ in range(chance.randrange(len(MOMENTS))):
                        next(moments, None)
                    query.restart(**chance.choice(limits))
        query.restart(minOffsetsPerTrigger=1, maxOffsetsPerTrigger=3)
        query.run()
        assert sorted(values(query.checkpoint.rows)) == sorted(written)


# --- What a group is told ------------------------------------------------------------------------


@pytest.mark.parametrize("moment", MOMENTS)
def test_fault_57_a_group_is_told_of_finished_batches_only(moment: Moment) -> None:
    options = {"commitOffsetsToGroup": True, **GROUP, "maxOffsetsPerTrigger": 2}
    with streaming(*IN_TWELVE, **options) as (cluster, query):
        for _ in range(3):
            query.trigger()
            query.die_at(moment)
            query.restart()
            told = cluster.committed.get("g", {}).get(PARTITION, 0)
            done = query.checkpoint.finished
            assert told <= (query.checkpoint.offsets[done - 1]["t"]["0"] if done else 0)
        query.run()
        query.trigger()
        assert cluster.committed["g"] == {PARTITION: 12}
        assert query.checkpoint.rows == TWELVE


# --- Tasks that are run again --------------------------------------------------------------------


def test_fault_55_a_task_that_fails_in_the_middle_and_is_run_again() -> None:
    """The same rows, however often, also when there is more to read by then."""
    with streaming(*IN_TWELVE, **ONE_BY_ONE) as (cluster, query):
        query.die_at("planned")
        (task,) = query.tasks()
        for count in range(1, 6):
            batches = task.batches()
            found = [row for _ in range(count) for row in next(batches)]
            assert found == TWELVE[:count]
            batches.close()
            cluster.append(PARTITION, b"more %d" % count)
        assert task.rows() == TWELVE


def test_fault_55_two_attempts_at_once() -> None:
    """A slow task and its speculative copy."""
    with streaming(*IN_TWELVE, **ONE_BY_ONE) as (_, query):
        query.die_at("planned")
        (task,) = query.tasks()
        found: list[Rows] = [[], []]
        for number, rows in interleaved(task.batches(), task.batches()):
            found[number] += rows
        assert found == [TWELVE, TWELVE]


def interleaved(*many: Any) -> Any:
    for step in zip(*many, strict=True):
        yield from enumerate(step)


def test_fault_55_a_batch_that_failed_is_planned_again_by_another_driver() -> None:
    with streaming(*IN_THREE) as (cluster, query):
        query.die_at("planned")
        (task,) = query.tasks()
        cluster.append(PARTITION, b"d")
        query.restart()
        (other,) = query.tasks()
        assert task.rows() == other.rows() == ABC
        assert json.loads(query.checkpoint.ends[0]) == {"t": {"0": 3}}
