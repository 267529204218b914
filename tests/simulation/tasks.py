"""The tasks of one micro-batch on simulated executors: attempts, retries, speculation.

A task reads in one Python worker and writes in another, as in Spark; what it gets and returns is
pickled. A worker whose task ended well is used again.
"""

from __future__ import annotations

import pickle
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.taskcontext import TaskContext

from tests.simulation.contents import values_in
from tests.simulation.disk import Disk, Headers, Row
from tests.simulation.processes import Process, Processes, Signal, Strand
from tests.simulation.scheduler import EventScheduler

_MAX_FAILURES: Final = 4  # spark.task.maxFailures
SINK_COLUMNS: Final = ("key", "value", "partition")
_COLUMNS: Final = ("topic", "partition", "offset", "timestamp", "key")


class TaskFailedError(Exception):
    """A task failed as often as it may."""


class Cluster(NamedTuple):
    """The executors of a scenario.

    Attributes:
        hosts: Their names.
        slots: How many tasks run at the same time.
        speculation_ms: When a task gets a second attempt; None for never.
        loser_ms: How long an attempt goes on after another one of its task has won.
    """

    hosts: Sequence[str]
    slots: int
    speculation_ms: float | None
    loser_ms: float


class Work(NamedTuple):
    """What the tasks of a micro-batch do; pickles, as they travel.

    Attributes:
        planned: The reader and its partition, for each task.
        writer: A writer of the product; None for the file sink.
    """

    query_id: str
    batch: int
    planned: Sequence[bytes]
    writer: bytes | None


@dataclass
class _Attempt:
    strand: Strand
    number: int
    attempt: int
    started_ms: float


@dataclass
class Executors:
    """All executors: they outlive a driver, and so may their tasks."""

    scheduler: EventScheduler
    processes: Processes
    disk: Disk
    random: random.Random
    cluster: Cluster
    idle: dict[str, list[tuple[Process, Process]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    running: dict[str, Strand] = field(default_factory=dict)
    dies_at_call: int | None = None  # of each attempt that is started
    started: int = 0
    errors: list[str] = field(default_factory=list)  # that ended attempts

    def launch(
        self, work: Work, number: int, attempt: int, ended: Callable[[object], None]
    ) -> Strand:
        """Start an attempt; `ended` gets its pickled message or its error, a little later."""
        host = self.cluster.hosts[(number + attempt) % len(self.cluster.hosts)]
        self.started += 1
        pool = self.idle[host]
        # The start of a worker takes some ms.
        reader, writer = pool.pop() if pool else self._new_workers(host)
        name = f"task {work.batch}.{number}.{attempt} ({self.started}) on {host}"
        strand = Strand(name, writer)
        strand.dies_at_call = self.dies_at_call
        self.running[strand.name] = strand

        def over(result: object) -> None:
            self.running.pop(strand.name, None)
            if isinstance(result, BaseException):
                self.errors.append(f"{type(result).__name__}: {result}")
                reader.die()
                writer.die()
            else:
                self.idle[host].append((reader, writer))
            self.scheduler.call_after(self.random.uniform(0.2, 2), lambda: ended(result))

        self.processes.start(strand, lambda: self._run(work, number, attempt, reader), over)
        return strand

    def crash(self, host: str) -> None:
        """Kill all workers of a host."""
        for reader, writer in self.idle.pop(host, []):
            reader.die()
            writer.die()
        for name, strand in [*self.running.items()]:
            if name.endswith(host):
                self.processes.kill(strand)

    def _new_workers(self, host: str) -> tuple[Process, Process]:
        number = self.started
        return Process(f"reader-{number}@{host}", host), Process(f"writer-{number}@{host}", host)

    def _run(self, work: Work, number: int, attempt: int, reader_process: Process) -> bytes:
        self.processes.sleep(self.random.uniform(0.1, 3))
        _set_context(work, number, attempt)
        rows = self._rows(work, number, attempt, reader_process)
        if work.writer is not None:
            return pickle.dumps(pickle.loads(work.writer).write(_selected(rows)))
        name = f"{work.batch}/{number}-{attempt}-{self.started}"
        read = [row for batch in rows for row in rows_of(batch)]
        self.processes.call()
        self.disk.files[name] = read
        return pickle.dumps(name)

    def _rows(
        self, work: Work, number: int, attempt: int, process: Process
    ) -> Iterator[pa.RecordBatch]:
        with self.processes.inside(process):
            _set_context(work, number, attempt)
            reader, partition = pickle.loads(work.planned[number])
            batches = iter(reader.read(partition))
        while True:
            with self.processes.inside(process):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


class Job:
    """The tasks of one micro-batch, on the driver's side."""

    def __init__(self, executors: Executors, work: Work) -> None:
        self._executors = executors
        self._work = work
        self._changed = Signal()
        self._running: list[_Attempt] = []
        self._waiting = [*range(len(work.planned))]
        self._attempts: dict[int, int] = defaultdict(int)
        self._failures: dict[int, int] = defaultdict(int)
        self._fatal: TaskFailedError | None = None
        self.messages: dict[int, bytes] = {}

    def run(self) -> None:
        """Run all tasks; their messages are in `messages`, also if this fails.

        Raises:
            TaskFailedError: One failed too often.
        """
        scheduler, processes = self._executors.scheduler, self._executors.processes
        speculation_ms = self._executors.cluster.speculation_ms
        while len(self.messages) < len(self._work.planned):
            while self._waiting and len(self._running) < self._executors.cluster.slots:
                self._launch(self._waiting.pop(0))
            processes.wait(self._changed, scheduler.now_ms + (speculation_ms or 60_000))
            if self._fatal is not None:
                raise self._fatal
            if speculation_ms is not None:
                self._speculate(scheduler.now_ms - speculation_ms)

    def cancel(self) -> None:
        """Kill what runs."""
        for each in [*self._running]:
            self._executors.processes.kill(each.strand)

    def _launch(self, number: int) -> None:
        attempt = self._attempts[number]
        self._attempts[number] += 1
        each = _Attempt(None, number, attempt, self._executors.scheduler.now_ms)  # type: ignore[arg-type]
        each.strand = self._executors.launch(
            self._work, number, attempt, lambda result: self._ended(each, result)
        )
        self._running.append(each)

    def _speculate(self, started_before_ms: float) -> None:
        for each in [*self._running]:
            attempts = sum(other.number == each.number for other in self._running)
            is_late = each.started_ms < started_before_ms
            if is_late and attempts == 1 and each.number not in self.messages:
                self._launch(each.number)

    def _ended(self, each: _Attempt, result: object) -> None:
        self._running.remove(each)
        number = each.number
        if number in self.messages:
            return
        if isinstance(result, bytes):
            self.messages[number] = result
            self._executors.scheduler.call_after(
                self._executors.cluster.loser_ms, lambda: self._kill_losers(number)
            )
        else:
            self._failures[number] += 1
            self._note_failure(number, result)
        self._executors.processes.set(self._changed)

    def _note_failure(self, number: int, error: object) -> None:
        if self._failures[number] < _MAX_FAILURES:
            if not any(other.number == number for other in self._running):
                self._waiting.append(number)
            return
        self._fatal = TaskFailedError(f"task {number} failed {_MAX_FAILURES} times: {error!r}")
        if isinstance(error, BaseException):
            self._fatal.__cause__ = error

    def _kill_losers(self, number: int) -> None:
        for each in [*self._running]:
            if each.number == number:
                self._executors.processes.kill(each.strand)


def rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    """The rows of a batch with the source's columns."""
    columns = [batch.column(name) for name in _COLUMNS]
    columns[3] = columns[3].cast(pa.int64())
    columns[4] = columns[4].cast(pa.binary())
    topic, partition, offset, timestamp_us, key = (each.to_pylist() for each in columns)
    timestamps = [us // 1000 for us in timestamp_us]
    values, headers = values_in(batch), _headers_of(batch)
    has_ids = "topicId" in batch.schema.names
    ids = batch.column("topicId").to_pylist() if has_ids else [None] * batch.num_rows
    return map(
        Row._make,
        zip(topic, partition, offset, timestamps, key, values, headers, ids, strict=True),
    )


def _headers_of(batch: pa.RecordBatch) -> list[Headers | None]:
    if "headers" not in batch.schema.names:
        return [None] * batch.num_rows
    column = batch.column("headers")
    if pa.types.is_map(column.type):
        return [
            tuple((key.encode(), value) for key, value in headers or ())
            for headers in column.to_pylist()
        ]
    return [
        tuple((each["key"].encode(), each["value"]) for each in headers or ())
        for headers in column.to_pylist()
    ]


def _selected(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        has_headers = "headers" in batch.schema.names
        yield batch.select([*SINK_COLUMNS, *(["headers"] if has_headers else [])])


def _set_context(work: Work, number: int, attempt: int) -> None:
    context: Any = TaskContext._getOrCreate()
    context._partitionId, context._attemptNumber = number, attempt
    context._localProperties = {
        "sql.streaming.queryId": work.query_id,
        "streaming.sql.batchId": str(work.batch),
    }
