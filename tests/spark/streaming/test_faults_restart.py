"""Drivers that die and tasks that run again: the next driver reads the same rows, and the rest.

A driver dies at each moment of a trigger that leaves another checkpoint. Records and partitions may
be added before the next one starts. docs/faults.md lists the numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.batch_reading import IN_TWELVE, ONE_BY_ONE, TWELVE, Rows
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.log import START_MS, batch_of
from tests.fakes.reading import PARTITION
from tests.fakes.stream_reading import (
    AFTER_THE_LOG,
    DEATHS,
    HAS_READ_LIMITS,
    MOMENTS,
    Moment,
    Options,
    Query,
    streaming,
    values,
)

pytestmark = [pytest.mark.no_cover, pytest.mark.usefixtures("partitions_are_never_fresh")]

# --- Where a query starts ------------------------------------------------------------------------


class Start(NamedTuple):
    """A start, and its offset in a log of twelve records; it moves if it is the log's end."""

    options: Options
    offset: int
    moves: bool = False


GROUP: Options = {"kafka_group_id": "g"}
# One of each kind: `test_micro_batches` has the others.
STARTS = {
    "earliest": Start({"startingOffsets": "earliest"}, 0),
    "latest": Start({"startingOffsets": "latest"}, 12, True),
    "timestamp": Start({"startingTimestamp": START_MS + 4}, 4),
}
if HAS_READ_LIMITS:  # below PySpark 4.2 relative starts are refused
    STARTS["group"] = Start({"startingOffsets": "group", **GROUP}, 6)


def write_history(cluster: ScriptedCluster) -> None:
    """Twelve records; the group's offset is 6."""
    cluster.add_topic("t")
    for offset in range(12):
        batch = batch_of(b"%d" % offset, timestamp=START_MS + offset)
        cluster.log(PARTITION).append(batch)
    cluster.committed["g"] = {PARTITION: 6}


def write_more(cluster: ScriptedCluster) -> None:
    end = cluster.log(PARTITION).end_offset
    for offset in range(end, end + 3):
        cluster.append(PARTITION, b"%d" % offset)


def add_partition(cluster: ScriptedCluster) -> None:
    topic = cluster.topics["t"]
    topic.partitions[1] = type(topic.partitions[0])(leader=1)
    cluster.append(TopicPartition("t", 1), b"added")


def nothing(_: ScriptedCluster) -> None:
    pass


def grow_and_reset_the_group(cluster: ScriptedCluster) -> None:
    write_more(cluster)
    add_partition(cluster)
    cluster.committed["g"] = {PARTITION: 2}


def grow_and_forward_the_group(cluster: ScriptedCluster) -> None:
    write_more(cluster)
    add_partition(cluster)
    cluster.committed["g"] = {PARTITION: 11}


BETWEEN = [nothing, grow_and_reset_the_group, grow_and_forward_the_group]


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("moment", AFTER_THE_LOG)
def test_fault_57_a_driver_dies_in_the_first_batch(
    name: str, moment: Moment, between: Callable[[ScriptedCluster], None]
) -> None:
    """Once its end is logged, the start is fixed."""
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
def test_fault_57_a_driver_dies_before_the_first_batch(name: str) -> None:
    """Nothing was logged: the next driver starts as a new query."""
    start = STARTS[name]
    with streaming(**start.options) as (cluster, query):
        write_history(cluster)
        query.die_at("end found")
        write_more(cluster)
        query.restart()
        query.run()
        write_more(cluster)
        query.run()
        expect_from(start.offset + (3 if start.moves else 0), query, cluster)


def expect_from(start: int, query: Query, cluster: ScriptedCluster) -> None:
    """Each record from an offset on was read once, in order; and all of an added partition."""
    rows = [row for row in query.checkpoint.rows if row[1] != b"added"]
    end = cluster.log(PARTITION).end_offset
    assert rows == [(offset, b"%d" % offset) for offset in range(start, end)]
    added = len(query.checkpoint.rows) - len(rows)
    assert added == len(cluster.topics["t"].partitions) - 1


# --- In the middle of a query --------------------------------------------------------------------


@pytest.mark.parametrize("moment", DEATHS)
@pytest.mark.parametrize("between", [nothing, add_partition])
@pytest.mark.parametrize(
    "limits",
    [{}, {"maxOffsetsPerTrigger": 2}, {"maxBytesPerTrigger": 150}],
    ids=["no limit", "offsets", "bytes"],
)
def test_fault_57_a_driver_dies_in_a_later_batch(
    moment: Moment, between: Callable[[ScriptedCluster], None], limits: Options
) -> None:
    """At the same moment of each batch; each batch keeps its logged end."""
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
@pytest.mark.parametrize("moment", DEATHS)
def test_fault_57_a_driver_dies_with_a_trigger_that_ends(trigger: Any, moment: Moment) -> None:
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


@pytest.mark.parametrize("seed", range(12))
def test_fault_57_drivers_die_at_random_moments(seed: int) -> None:
    """While leaders move, records and partitions are added, and limits change between runs."""
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


# --- Offsets of the consumer group ---------------------------------------------------------------


@pytest.mark.parametrize("moment", MOMENTS)
def test_fault_57_only_finished_batches_are_committed_to_the_group(moment: Moment) -> None:
    options: Options = {"commitOffsetsToGroup": True, **GROUP, "maxOffsetsPerTrigger": 2}
    with streaming(*IN_TWELVE, **options) as (cluster, query):
        for _ in range(3):
            query.trigger()
            query.die_at(moment)
            query.restart()
            committed = cluster.committed.get("g", {}).get(PARTITION, 0)
            done = query.checkpoint.finished
            assert committed <= (query.checkpoint.offsets[done - 1]["t"]["0"] if done else 0)
        query.run()
        query.trigger()
        assert cluster.committed["g"] == {PARTITION: 12}
        assert query.checkpoint.rows == TWELVE


# --- Tasks that run again ------------------------------------------------------------------------


def test_fault_55_a_failed_task_is_run_again() -> None:
    """It reads the same rows each time, also after records were added."""
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


def test_fault_55_two_attempts_run_at_once() -> None:
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
