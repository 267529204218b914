"""Tasks on simulated executors: retries, speculation, workers that are used again."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator
from datetime import datetime, timezone

import pyarrow as pa
import pytest
from pyspark.taskcontext import TaskContext

from kafka_protocol.client import clock
from tests.simulation.clocks import SimulatedSource
from tests.simulation.disk import Disk
from tests.simulation.processes import Process, Processes, Strand
from tests.simulation.scheduler import EventScheduler
from tests.simulation.tasks import Cluster, Executors, Job, TaskFailedError, Work
from tests.simulation.trace import Trace

ZERO = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Reader:
    """Reads one row; what it does before depends on the partition and the attempt."""

    def read(self, partition: dict[str, object]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        attempt = context.attemptNumber()
        fails, slow_ms = partition.get("fails", 0), partition.get("slow_ms", 0)
        assert isinstance(fails, int)
        assert isinstance(slow_ms, int)
        if attempt < fails:
            raise ValueError(f"attempt {attempt} fails")
        if attempt == 0:
            clock.sleep_ms(slow_ms)
        yield pa.record_batch(
            {
                "topic": ["in"],
                "partition": [context.partitionId()],
                "offset": [attempt],
                "timestamp": pa.array([ZERO], pa.timestamp("us", "UTC")),
                "key": pa.array([None], pa.binary()),
                "value": pa.array([b"v"], pa.binary()),
            }
        )


class Spark:
    """Executors, and a driver that runs one job."""

    def __init__(self, speculation_ms: float | None = None, slots: int = 2) -> None:
        self.scheduler = EventScheduler(1)
        self.processes = Processes(self.scheduler, Trace(self.scheduler))
        self.disk = Disk("query")
        cluster = Cluster(("one", "two"), slots, speculation_ms, loser_ms=10)
        self.executors = Executors(
            self.scheduler, self.processes, self.disk, random.Random(1), cluster
        )
        self.ended_ms = 0.0

    def run(self, *partitions: dict[str, object], during: Callable[[], None] | None = None) -> Job:
        work = Work("query", 7, [pickle.dumps((Reader(), each)) for each in partitions], None)
        job, results = Job(self.executors, work), list[object]()

        def ended(result: object) -> None:
            self.ended_ms = self.scheduler.elapsed_ms
            results.append(result)

        with clock.use(SimulatedSource(self.scheduler, self.processes, 1)):
            self.processes.start(Strand("driver", Process("driver", "driver")), job.run, ended)
            if during is not None:
                self.scheduler.call_after(50, during)
            self.scheduler.run(lambda: False, 1_000_000)
            self.processes.close()
        if isinstance(results[0], Exception):
            raise results[0]
        return job

    def rows_of(self, job: Job, number: int) -> list[tuple[int, int]]:
        """Partition and attempt of the rows of a task that counts."""
        name = pickle.loads(job.messages[number])
        return [(row.partition, row.offset) for row in self.disk.files[name]]


def test_each_task_has_a_message() -> None:
    spark = Spark()
    job = spark.run({}, {}, {})
    assert [spark.rows_of(job, number) for number in range(3)] == [[(0, 0)], [(1, 0)], [(2, 0)]]
    assert spark.executors.started == 3


def test_workers_are_used_again() -> None:
    spark = Spark(slots=1)
    spark.run({}, {}, {}, {})
    assert {host: len(workers) for host, workers in spark.executors.idle.items()} == {
        "one": 1,
        "two": 1,
    }


def test_a_task_that_fails_is_tried_again() -> None:
    spark = Spark()
    job = spark.run({"fails": 3}, {})
    assert spark.rows_of(job, 0) == [(0, 3)]


def test_a_task_fails_too_often() -> None:
    with pytest.raises(TaskFailedError, match="task 0 failed 4 times: ValueError") as caught:
        Spark().run({"fails": 4}, {})
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_slow_task_gets_a_second_attempt_which_wins() -> None:
    spark = Spark(speculation_ms=100)
    job = spark.run({"slow_ms": 50_000}, {})
    assert spark.rows_of(job, 0) == [(0, 1)]
    assert spark.ended_ms < 1_000
    assert len(spark.disk.files) == 2  # the first attempt was killed


def test_without_speculation_a_slow_task_is_waited_for() -> None:
    spark = Spark()
    job = spark.run({"slow_ms": 50_000}, {})
    assert spark.rows_of(job, 0) == [(0, 0)]
    assert spark.ended_ms > 50_000


def test_tasks_of_a_crashed_executor_run_elsewhere() -> None:
    spark = Spark()
    job = spark.run({"slow_ms": 1_000}, {}, during=lambda: spark.executors.crash("one"))
    assert spark.rows_of(job, 0) == [(0, 1)]
