"""The order in which real Spark calls readers and writers is that of the simulated engine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.simulation.recording_source import RecordingSource
from tests.simulation.run import simulated
from tests.simulation.scenario import INPUT, Part, Scenario, Send, Topic
from tests.simulation.world import World

_BEGIN: Final = ("streamReader", "prepare", "getDefaultReadLimit")
_LOOK: Final = ("latestOffset", "reportLatestOffset")
_WRITE: Final = ("streamWriter", "streamWriter")

# Of Spark 4.3, with Trigger.AvailableNow: two micro-batches of a new query, a third one whose tasks
# fail, and the same one by the next driver.
NEW: Final = (
    *_BEGIN,
    "initialOffset",
    *_LOOK,
    "initialOffset",
    "partitions",
    "streamReader",
    *_WRITE,
    "commit",
    *_LOOK,
    "commit offsets",
    "partitions",
    *_WRITE,
    "commit",
    *_LOOK,
)
FAILED: Final = (
    *_BEGIN,
    *_LOOK,
    "commit offsets",
    "partitions",
    "streamReader",
    *_WRITE,
    "abort",
)
AGAIN: Final = (*_BEGIN, "partitions", "streamReader", *_WRITE, "commit", *_LOOK)


def recorded(spark: SparkSession, folder: Path, end: int, **options: str) -> tuple[str, ...]:
    """The calls of one run of real Spark; runs with the same folder are one query."""
    calls = folder / f"calls-{end}-{len(options)}"
    given = {"calls": str(calls), "end": str(end), **options}
    rows = spark.readStream.format("recording").options(**given).load()
    query = (
        rows.writeStream.format("recording")
        .options(**given, checkpointLocation=str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except StreamingQueryException:
        assert options
    return tuple(calls.read_text().split("\n")[:-1])


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.newest
def test_the_order_of_real_spark(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(RecordingSource)
    assert recorded(spark, tmp_path, 6) == NEW
    assert recorded(spark, tmp_path, 9, fails="true") == FAILED
    assert recorded(spark, tmp_path, 9) == AGAIN


def engine_calls(world: World) -> Iterator[tuple[str, ...]]:
    """The calls of one driver of the simulated engine after the other."""
    for life in count(2):
        before = len(world.history.calls)
        world.scheduler.run(partial(_has_lived, world, life), 1_000_000)
        yield tuple(world.history.calls[before:])


def _has_lived(world: World, lives: int) -> bool:
    return world.outcome.lives >= lives


def test_the_order_of_the_simulated_engine() -> None:
    scenario = Scenario(
        seed=1,
        trigger="available now",
        sink="at least once",
        topics=(Topic(INPUT, 1, 3),),
        sends=(
            Send(0, "producer-0", "plain", (Part(INPUT, 0, 0, 6),)),
            Send(30_000, "producer-0", "plain", (Part(INPUT, 0, 6, 3),)),
        ),
        source={"startingOffsets": "earliest", "maxOffsetsPerTrigger": "3"},
        begin_ms=10_000,  # when the first records are there
        restart_ms=40_000,
    )
    with simulated(scenario) as world:
        world.begin()
        world.scheduler.run(lambda: world.outcome.lives == 1, 11_000)
        calls = engine_calls(world)
        assert next(calls) == NEW
        world.executors.dies_at_call = 1
        assert next(calls) == FAILED
        world.executors.dies_at_call = None
        assert next(calls) == AGAIN
