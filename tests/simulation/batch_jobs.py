"""Batch queries beside the stream: calls readers and writers in the order of Spark's batch plans.

Each job has a driver of its own. What its tasks read is kept for the judge.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from itertools import zip_longest
from typing import Any, Final, TypeVar

import pyarrow as pa
from pyspark.sql import datasource
from pyspark.sql import types as T
from pyspark.sql.datasource import InputPartition

from kafka_protocol.arrow_io.topic import read_topic, topics
from kafka_protocol.errors import KafkaError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.source import KafkaDataSource
from tests.simulation.contents import schema_of
from tests.simulation.disk import Disk, Row
from tests.simulation.processes import Process, ProcessKilledError
from tests.simulation.scenario import INPUT, READERS, WRITTEN, Job
from tests.simulation.spark import DRIVER_HOST
from tests.simulation.tasks import Executors, TaskFailedError, Work, rows_of
from tests.simulation.tasks import Job as TaskSet
from tests.truth.filters import Filter
from tests.truth.groups import Step

R = TypeVar("R")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PREFIX: Final = "batch-writes"
_PARTITIONS: Final = 3
_COMMIT_EVERY: Final = 3
_CHECK_MS: Final = 500.0
FOLLOWS_MS: Final = 150_000.0
"""How long a read that follows may take to reach the ends of the logs."""

_SCHEMA: Final = T.StructType(
    [
        T.StructField("key", T.BinaryType()),
        T.StructField("value", T.BinaryType()),
        T.StructField("partition", T.IntegerType()),
    ]
)
# What may end a query of a real Spark; anything else is a bug.
_EXPECTED: Final = (KafkaError, TaskFailedError, ProcessKilledError)


def written_value(job: int, task: int, number: int) -> bytes:
    """The value of a row that a batch job writes; no other row has it."""
    return b"job %d task %d row %d" % (job, task, number)


class Rows:
    """In place of a reader: makes the rows that the tasks of a write get."""

    @staticmethod
    def read(partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task, in batches of at most 50."""
        job, task, count = partition.value
        for first in range(0, count, 50):
            numbers = range(first, min(count, first + 50))
            yield pa.record_batch(
                {
                    "key": pa.array([b"%d" % number for number in numbers], pa.binary()),
                    "value": pa.array(
                        [written_value(job, task, number) for number in numbers], pa.binary()
                    ),
                    "partition": pa.array([n % _PARTITIONS for n in numbers], pa.int32()),
                }
            )


def spark_filter(wanted: Filter) -> object:
    """The filter of PySpark."""
    name, value = wanted.operator, wanted.value
    if wanted.column == "timestamp":
        value = _EPOCH + timedelta(milliseconds=value)
    value = tuple(value) if name == "In" else value
    made: object = getattr(datasource, name)(attribute=(wanted.column,), value=value)
    return made


class BatchJob:
    """One batch query. `number` tells it from others.

    Args:
        is_at_end: Whether positions are the ends of the logs, after all faults.

    Attributes:
        steps: What a read of a group has done.
    """

    def __init__(
        self,
        number: int,
        job: Job,
        options: dict[str, str],
        disk: Disk,
        executors: Executors,
        is_at_end: Callable[[Mapping[TopicPartition, int]], bool] = lambda _: True,
    ) -> None:
        self._number = number
        self._job = job
        self._options = options
        self._disk = disk
        self._executors = executors
        self._is_at_end = is_at_end
        self._tasks: TaskSet | None = None
        self.steps: list[Step] = []

    def run(self) -> list[list[Row]]:
        """Run the query; the rows of each task of a read."""
        kinds = {"read": self._read, "group": self._read_of_group, "follow": self._follow}
        return kinds.get(self._job.kind, self._write)()

    def cancel(self) -> None:
        """Kill its tasks."""
        if self._tasks is not None:
            self._tasks.cancel()

    def _read(self) -> list[list[Row]]:
        def plan() -> list[bytes]:
            source = KafkaDataSource(dict(self._options))
            reader: Any = source.reader(schema_of(self._options, self._job.columns))
            if self._job.filters and hasattr(reader, "pushFilters"):
                [*reader.pushFilters([spark_filter(each) for each in self._job.filters])]
            planned = reader.partitions() or [InputPartition(None)]
            return [pickle.dumps((reader, each)) for each in planned]

        planned = self._call("plan", plan)
        work = Work("batch", -self._number, planned, None)
        tasks = self._run_tasks(work)
        names = [pickle.loads(tasks.messages[number]) for number in range(len(planned))]
        return [self._disk.files[name] for name in names]

    def _read_of_group(self) -> list[list[Row]]:
        """Read without Spark, and commit now and then; the last commit is at the end."""

        def read() -> None:
            count = self._job.readers
            with ExitStack() as stack:
                batches = [
                    self._batches_of_group(stack.enter_context(reader))
                    for reader in (self._reader_of_group(number) for number in range(count))
                ]
                # In turns, as if each had a process of its own.
                for _ in zip_longest(*batches):
                    pass

        self._call("read", read)
        return []

    def _reader_of_group(self, number: int) -> Any:
        """One of the readers of the group; together they have all partitions."""
        count = self._job.readers
        partitions = None if count == 1 else [*range(number, topics(self._options)[INPUT], count)]
        return read_topic(INPUT, self._options, group_id=READERS, partitions=partitions)

    def _batches_of_group(self, reader: Any) -> Iterator[None]:
        for number, batch in enumerate(reader):
            if number % _COMMIT_EVERY == _COMMIT_EVERY - 1:
                self._commit(reader)
            self.steps.append(Step([*rows_of(batch)]))
            yield
        self._commit(reader)

    def _follow(self) -> list[list[Row]]:
        """Read without an end, until somebody stops it."""

        def read() -> None:
            reader: Any = read_topic(INPUT, self._options, follow=True)
            scheduler = self._executors.scheduler
            latest_ms = scheduler.elapsed_ms + self._job.lasts_ms + FOLLOWS_MS
            is_at_end = False

            def check() -> None:
                nonlocal is_at_end
                is_at_end = self._is_at_end(reader.positions)
                if is_at_end or scheduler.elapsed_ms > latest_ms:
                    reader.stop()
                else:
                    scheduler.call_after(_CHECK_MS, check)

            scheduler.call_after(self._job.lasts_ms, check)
            with reader:
                for batch in reader:
                    self.steps.append(Step([*rows_of(batch)]))
                positions = {tuple(each): at for each, at in reader.positions.items()}
                self.steps.append(Step((), positions, is_at_end))

        self._call("read", read)
        return []

    def _commit(self, reader: Any) -> None:
        positions = {tuple(each): at for each, at in reader.positions.items()}
        self.steps.append(Step((), positions))
        reader.commit()
        self.steps[-1] = self.steps[-1]._replace(is_done=True)

    def _write(self) -> list[list[Row]]:
        def plan() -> bytes:
            writer = KafkaDataSource(dict(self._options)).writer(_SCHEMA, overwrite=False)
            return pickle.dumps(writer)

        writer = self._call("plan", plan)
        planned = [
            pickle.dumps((Rows(), InputPartition((self._number, task, count))))
            for task, count in enumerate(self._job.counts)
        ]
        work = Work("batch", -self._number, planned, writer)
        try:
            self._run_tasks(work)
        except TaskFailedError:
            self._end(work, "abort")
            raise
        self._end(work, "commit")
        return []

    def _run_tasks(self, work: Work) -> TaskSet:
        tasks = self._tasks = TaskSet(self._executors, work)
        try:
            tasks.run()
        finally:
            tasks.cancel()
        return tasks

    def _end(self, work: Work, name: str) -> None:
        messages = {} if self._tasks is None else self._tasks.messages

        def end() -> None:
            assert work.writer is not None
            getattr(pickle.loads(work.writer), name)(
                [
                    pickle.loads(messages[number]) if number in messages else None
                    for number in range(len(work.planned))
                ]
            )

        self._call(name, end)

    def _call(self, name: str, call: Callable[[], R]) -> R:
        """Call a reader or writer in a Python process of its own."""
        processes = self._executors.processes
        process = Process(f"{name} of job {self._number}", DRIVER_HOST)
        try:
            with processes.inside(process):
                result = call()
        finally:
            process.die()
        processes.call()
        return result


def options_of(job: Job, servers: str, write: dict[str, str]) -> dict[str, str]:
    """The options of a job's source or sink."""
    if job.kind == "read":
        return {"kafka.bootstrap.servers": servers, **job.options}
    if job.kind in {"group", "follow"}:
        return {"bootstrap.servers": servers, **job.options}
    sink = {"kafka.bootstrap.servers": servers, "topic": WRITTEN, **write, **job.options}
    if job.kind == "write once":
        sink |= {"deliveryGuarantee": "exactly_once", "transactionalIdPrefix": _PREFIX}
    return sink


def is_expected(error: BaseException) -> bool:
    """Whether a query of a real Spark may end with that error."""
    cause = error.__cause__ if isinstance(error, TaskFailedError) else error
    return isinstance(cause, _EXPECTED)


def selected(options: dict[str, str], partition: tuple[str, int]) -> bool:
    """Whether a read has a partition, by `assign`; else topics are selected as a whole."""
    if "assign" not in options:
        return True
    topic, number = partition
    return number in json.loads(options["assign"]).get(topic, [])
