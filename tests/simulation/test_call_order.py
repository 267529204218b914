"""The order in which real Spark calls readers and writers is that of the simulated engine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Literal

import pytest
from pyspark.sql import SparkSession

from tests.simulation.call_order import SPARK_40, SPARK_42, CallOrder, recorded_order
from tests.simulation.recording_source_42 import RecordingSource42
from tests.simulation.run import simulated
from tests.simulation.scenario import INPUT, Part, Scenario, Send, Topic
from tests.simulation.world import World


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.newest
def test_the_order_of_real_spark(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(RecordingSource42)
    assert recorded_order(spark, tmp_path) == SPARK_42


def engine_calls(world: World) -> Iterator[tuple[str, ...]]:
    """The calls of one driver of the simulated engine after the other."""
    for life in count(2):
        before = len(world.history.calls)
        world.scheduler.run(partial(_has_lived, world, life), 1_000_000)
        yield tuple(world.history.calls[before:])


def _has_lived(world: World, lives: int) -> bool:
    return world.outcome.lives >= lives


@pytest.mark.parametrize(("interface", "order"), [("4.0", SPARK_40), ("4.2", SPARK_42)])
def test_the_order_of_the_simulated_engine(
    interface: Literal["4.0", "4.2"], order: CallOrder
) -> None:
    scenario = Scenario(
        seed=1,
        interface=interface,
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
        assert next(calls) == order.new
        world.executors.dies_at_call = 1
        assert next(calls) == order.failed
        world.executors.dies_at_call = None
        assert next(calls) == order.again
