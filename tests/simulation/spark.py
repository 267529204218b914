"""Spark's micro-batches: calls readers and writers in the order of MicroBatchExecution.

One `Driver` is one life of a query's driver. What it knows is gone with it; the checkpoint stays.
`test_call_order` compares this order with that of real Spark.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.options.read import parse_stream_options
from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.streaming.reader_40 import KafkaStreamReader40
from tests.simulation.contents import schema_of
from tests.simulation.disk import Disk
from tests.simulation.processes import Process, Processes
from tests.simulation.tasks import SINK_COLUMNS, Executors, Job, TaskFailedError, Work

T = TypeVar("T")

Interface: TypeAlias = Literal["4.0", "4.2"]
Trigger: TypeAlias = Literal["default", "available now", "once"]

DRIVER_HOST: Final = "driver"


class Plan(NamedTuple):
    """A micro-batch as it was planned.

    Attributes:
        life: The number of the driver.
        ranges: Topic, partition, first and next offset, in order.
    """

    life: int
    batch: int
    start: str
    end: str
    ranges: tuple[tuple[str, int, int, int], ...]


@dataclass
class QuerySettings:
    """One query.

    Attributes:
        interface: The release of PySpark whose calls are made.
        sink: Options of the product's sink; None for the file sink.
        pause_ms: The time between two triggers.
        columns: Columns of the source with another type.
    """

    interface: Interface
    trigger: Trigger
    source: dict[str, str]
    sink: dict[str, str] | None
    pause_ms: float
    columns: dict[str, str] = field(default_factory=dict)


@dataclass
class History:
    """What all drivers of a query did.

    Attributes:
        calls: The calls of readers and writers on the driver, by name.
        plans: Each micro-batch, each time that it was planned.
        waits: How long each call took, in virtual time.
        crashes: In which call of a reader or writer a driver dies next, and at which of the calls
            that this makes itself.
        finishes: Is called with each micro-batch when it is committed.
        begins: Is called when the first micro-batch is logged.
    """

    calls: list[str] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    waits: list[tuple[str, float]] = field(default_factory=list)
    crashes: list[tuple[str, int]] = field(default_factory=list)
    finishes: Callable[[int], None] = lambda _: None
    begins: Callable[[], None] = lambda: None


class Driver:
    """One life of a query's driver."""

    def __init__(
        self,
        life: int,
        settings: QuerySettings,
        disk: Disk,
        executors: Executors,
        history: History,
    ) -> None:
        self._life = life
        self._settings = settings
        self._disk = disk
        self._executors = executors
        self._history = history
        self._processes: Processes = executors.processes
        self._reader: Any = None
        self._schema = StructType()
        self._python = Process(f"stream reader {life}", DRIVER_HOST)
        self._limit: Any = None
        self._sent_reader: Any = None
        self.job: Job | None = None

    def run(self) -> None:
        """Run micro-batches, until the trigger ends the query or something fails."""
        self._reader = self._call("streamReader", self._new_reader)
        self._begin()
        is_single = self._settings.trigger == "once" or (
            self._settings.trigger == "available now" and not self._is_told
        )
        while True:
            found = self._micro_batch()
            if is_single or (not found and self._settings.trigger == "available now"):
                return  # Spark does not always call `stop`
            self._processes.sleep(self._settings.pause_ms)

    @property
    def _is_told(self) -> bool:
        """Whether this Spark passes the start of a micro-batch and a limit."""
        return self._settings.interface == "4.2"

    def _micro_batch(self) -> bool:
        disk = self._disk
        if disk.finished == len(disk.ends):
            end = self._latest(self._start_text())
            if disk.ends and end == disk.ends[-1]:
                return False
            self._processes.call()
            disk.ends.append(end)
            if len(disk.ends) == 1:
                self._history.begins()
            if len(disk.ends) > 1:
                previous = json.loads(disk.ends[-2])
                self._call("commit offsets", lambda: self._reader.commit(previous))
        batch = disk.finished
        start = disk.ends[batch - 1] if batch else self._initial()
        self._write(batch, self._partitions(batch, start, disk.ends[batch]))
        self._processes.call()
        self._history.finishes(batch)
        disk.finished += 1
        return True

    # --- The reader -------------------------------------------------------------------------------

    def _new_reader(self) -> object:
        named = dict(self._settings.source)
        source = KafkaDataSource(named)
        self._schema = schema_of(named, self._settings.columns)
        reader = source.streamReader(self._schema)
        if self._is_told:
            return reader
        options = parse_stream_options(named)
        config = ClientConfig.from_options(options.kafka)
        return KafkaStreamReader40(options, config, self._schema, vars(reader)["_reader"].stages)

    def _begin(self) -> None:
        if self._is_told:
            if self._settings.trigger == "available now":
                self._call("prepare", self._reader.prepareForTriggerAvailableNow)
            self._limit = self._call("getDefaultReadLimit", self._reader.getDefaultReadLimit)
            if self._settings.trigger == "once":
                self._limit = ReadAllAvailable()
        elif self._disk.ends:
            last = json.loads(self._disk.ends[-1])
            self._call("partitions", lambda: self._reader.partitions(last, last))

    def _start_text(self) -> str:
        if self._disk.ends:
            return self._disk.ends[-1]
        return self._initial() if self._is_told else ""

    def _initial(self) -> str:
        return json.dumps(self._call("initialOffset", self._reader.initialOffset))

    def _latest(self, start: str) -> str:
        if not self._is_told:
            return json.dumps(self._call("latestOffset", self._reader.latestOffset))
        begin = json.loads(start)
        end = self._call("latestOffset", lambda: self._reader.latestOffset(begin, self._limit))
        self._call("reportLatestOffset", self._reader.reportLatestOffset)
        return json.dumps(end)

    def _partitions(self, batch: int, start: str, end: str) -> list[bytes]:
        planned = self._call(
            "partitions", lambda: self._reader.partitions(json.loads(start), json.loads(end))
        )
        ranges = sorted(
            (*each.wanted.topic_partition, each.wanted.from_offset, each.wanted.until_offset)
            for partition in planned
            for each in partition.value
        )
        self._history.plans.append(Plan(self._life, batch, start, end, tuple(ranges)))
        if self._sent_reader is None:
            # Tasks get a reader of their own, made once in each run.
            new = Process(f"read planner {self._life}", DRIVER_HOST)
            self._sent_reader = self._call("streamReader", self._new_reader, process=new)
            new.die()
        # Spark always runs at least one task.
        sent = planned or [InputPartition(None)]
        return [pickle.dumps((self._sent_reader, each)) for each in sent]

    # --- The writer -------------------------------------------------------------------------------

    def _write(self, batch: int, planned: list[bytes]) -> None:
        sink = self._settings.sink
        writer = None
        if sink is not None:
            new = Process(f"write planner {self._life}.{batch}", DRIVER_HOST)
            source = KafkaDataSource(dict(sink))
            writer = self._call(
                "streamWriter", lambda: pickle.dumps(self._writer(source)), process=new
            )
            new.die()
        work = Work(self._disk.query_id, batch, planned, writer)
        job = self.job = Job(self._executors, work)
        try:
            job.run()
            self._commit(job, work)
        except (Exception, TaskFailedError):
            job.cancel()
            if sink is not None:
                self._end_write("abort", job, work)
            raise

    def _commit(self, job: Job, work: Work) -> None:
        if work.writer is not None:
            self._end_write("commit", job, work)
            return
        names = [pickle.loads(job.messages[number]) for number in range(len(work.planned))]
        self._processes.call()
        self._disk.manifest.setdefault(work.batch, names)

    def _end_write(self, name: Literal["commit", "abort"], job: Job, work: Work) -> None:
        """Commit or abort, in a new process with an unpickled source."""
        assert self._settings.sink is not None
        process = Process(f"{name} {self._life}.{work.batch}", DRIVER_HOST)
        travelling = pickle.dumps(KafkaDataSource(dict(self._settings.sink)))

        def end() -> None:
            messages = [
                pickle.loads(job.messages[number]) if number in job.messages else None
                for number in range(len(work.planned))
            ]
            getattr(writer, name)(messages, work.batch)

        try:
            writer = self._call(
                "streamWriter", lambda: self._writer(pickle.loads(travelling)), process=process
            )
            self._call(name, end, process=process)
        finally:
            process.die()

    @property
    def _sink_columns(self) -> list[str]:
        return [name for name in (*SINK_COLUMNS, "headers") if name in self._schema.names]

    def _writer(self, source: KafkaDataSource) -> Any:
        fields = [self._schema[name] for name in self._sink_columns]
        return source.streamWriter(StructType(fields), overwrite=False)

    # ----------------------------------------------------------------------------------------------

    def _call(self, name: str, call: Callable[[], T], process: Process | None = None) -> T:
        """Call a reader or writer in its Python process; the driver may die before and after."""
        self._processes.sleep(self._executors.random.uniform(0.05, 0.5))
        self._history.calls.append(name)
        for crash in [each for each in self._history.crashes if each[0] == name]:
            self._history.crashes.remove(crash)
            self._processes.current.dies_at_call = self._processes.current.calls + crash[1]
        started_ms = self._executors.scheduler.now_ms
        try:
            with self._processes.inside(process or self._python):
                result = call()
        finally:
            waited_ms = self._executors.scheduler.now_ms - started_ms
            self._history.waits.append((name, waited_ms))
        self._processes.call()
        return result
