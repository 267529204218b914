"""A stream as Spark runs it, without Spark: batch by batch, on a checkpoint that outlives it.

A driver, its tasks and the next driver share only JSON, pickles and the checkpoint. Calls follow
the order of Spark's MicroBatchExecution, which differs between PySpark 4.2 and older releases.
"""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final, Literal, TypeAlias, get_args

import pytest
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kafka_protocol.client.config.addresses import Address
from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.streaming.stream_reader import KafkaStreamReader
from tests.fakes.batch_reading import Rows, Task, filled
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import PARTITION

# Options of the source. Any: dicts of them are passed as keyword arguments beside typed ones.
Options: TypeAlias = dict[str, Any]

Trigger: TypeAlias = Literal["default", "once", "available now"]

Moment: TypeAlias = Literal[
    "start found", "end found", "end logged", "committed", "planned", "read", "written", "finished"
]
"""The moments of a trigger at which a driver can die, in order."""
MOMENTS: Final[tuple[Moment, ...]] = get_args(Moment)
DEATHS: Final[tuple[Moment, ...]] = ("end found", "end logged", "written", "finished")
"""Deaths of a driver that leave different checkpoints: without the batch, with its end, with its
rows, and with all of it. The next driver knows nothing else of the other moments."""
AFTER_THE_LOG: Final = DEATHS[1:]

HAS_READ_LIMITS: Final = hasattr(DataSourceStreamReader, "getDefaultReadLimit")
since_4_2 = pytest.mark.skipif(not HAS_READ_LIMITS, reason="PySpark below 4.2 has no read limits")

# Short back-offs; no test waits for one of these timeouts, whatever stands still.
_QUICK: Final = {
    "kafka.retry.backoff.ms": "1",
    "kafka.retry.backoff.max.ms": "10",
    "kafka.socket.connection.setup.timeout.ms": "20000",
    "kafka.topic.metadata.propagation.max.ms": "100",
    "kafka.default.api.timeout.ms": "60000",
    "kafkaConsumer.pollTimeoutMs": "60000",
    "fetchOffset.retryIntervalMs": "5",
    "startingOffsets": "earliest",
}


class Checkpoint:
    """The state that outlives a driver.

    Attributes:
        ends: The log of offsets: the end of each batch, as text.
        finished: The number of batches in the log of commits.
        written: The rows of each batch in an idempotent sink.
    """

    def __init__(self) -> None:
        self.ends: list[str] = []
        self.finished = 0
        self.written: list[Rows] = []

    @property
    def rows(self) -> Rows:
        """All rows of the sink, in the order of batches."""
        return [row for batch in self.written for row in batch]

    @property
    def offsets(self) -> list[dict[str, dict[str, int]]]:
        """The log of offsets, parsed."""
        return [json.loads(end) for end in self.ends]

    def write(self, batch: int, rows: Rows) -> None:
        """Fails if a batch that runs again has other rows than the first time."""
        if batch == len(self.written):
            self.written.append(rows)
        assert self.written[batch] == rows, f"batch {batch} was written with other rows before"


class Query:
    """A query: one driver after the other on one checkpoint.

    Args:
        servers: The bootstrap servers.
        trigger: Before PySpark 4.2 "available now" is "once" for a source in Python.
        options: Options of the source; in names that begin with `kafka_` underscores are dots.
    """

    def __init__(
        self, servers: Iterable[Address | str], trigger: Trigger = "default", **options: object
    ) -> None:
        self.checkpoint = Checkpoint()
        self._trigger = trigger
        self._options: dict[str, object] = {
            "kafka.bootstrap.servers": ",".join(map(str, servers)),
            **_QUICK,
        }
        self._readers: list[KafkaStreamReader] = []
        self.restart(**options)

    def restart(self, **options: object) -> None:
        """The driver dies, and another one takes over.

        Args:
            options: Options that change.
        """
        self._options |= {
            name.replace("_", ".") if name.startswith("kafka_") else name: value
            for name, value in options.items()
        }
        named = {name: str(value) for name, value in self._options.items()}
        if not {"assign", "subscribePattern"} & named.keys():
            named.setdefault("subscribe", PARTITION.topic)
        source = KafkaDataSource(named)
        reader = source.streamReader(source.schema())
        assert isinstance(reader, KafkaStreamReader)
        self._readers.append(reader)
        self.reader: Any = reader  # Any: its methods depend on the release of PySpark
        self._is_told = bool(inspect.signature(self.reader.latestOffset).parameters)
        self._is_once = self._trigger == "once" or (
            self._trigger == "available now" and not self._is_told
        )
        self._begin()

    def close(self) -> None:
        """Close the connections of all drivers."""
        for reader in self._readers:
            reader.stop()

    def run(self) -> Rows:
        """Run all triggers, or until there is nothing new; their rows."""
        found = self.trigger() or []
        while not self._is_once and (rows := self.trigger()) is not None:
            found = found + rows
        return found

    def trigger(
        self, moment: Moment | None = None, change: Callable[[], object] | None = None
    ) -> Rows | None:
        """Run one trigger; the rows of its batch, or None if there is no batch.

        Args:
            moment: When to call `change`, if the trigger reaches that moment.
            change: A change of the cluster.
        """
        before = self.checkpoint.finished
        for reached in self.moments():
            if change is not None and reached == moment:
                change()
        return self.checkpoint.written[before] if self.checkpoint.finished > before else None

    def die_at(self, moment: Moment) -> None:
        """Run one trigger up to a moment, which it must reach."""
        assert moment in self.moments(), f"the trigger does not reach {moment!r}"

    def moments(self) -> Iterator[Moment]:
        """Run one trigger, step by step: each iteration goes to the next moment."""
        log = self.checkpoint
        if log.finished == len(log.ends):
            start = log.ends[-1] if log.ends else self._initial() if self._is_told else None
            yield "start found"
            end = self._latest(start)
            yield "end found"
            if log.ends and end == log.ends[-1]:
                return
            log.ends.append(end)
            yield "end logged"
            if len(log.ends) > 1:
                self.reader.commit(json.loads(log.ends[-2]))
            yield "committed"
        tasks = self.tasks()
        yield "planned"
        rows = [row for task in tasks for row in task.rows()]
        yield "read"
        log.write(log.finished, rows)
        yield "written"
        log.finished += 1
        yield "finished"

    def tasks(self) -> Sequence[Task]:
        """The tasks of the batch that is logged and not finished."""
        log = self.checkpoint
        start = log.ends[log.finished - 1] if log.finished else self._initial()
        return self._tasks(start, log.ends[log.finished])

    # --- Calls of the reader -------------------------------------------------------------------

    def _begin(self) -> None:
        log = self.checkpoint
        if self._is_told:
            if self._trigger == "available now":
                self.reader.prepareForTriggerAvailableNow()
            self._limit = self.reader.getDefaultReadLimit()
            if self._trigger == "once":
                self._limit = _read_all()
        elif log.ends:
            self._tasks(log.ends[-1], log.ends[-1])

    def _initial(self) -> str:
        return json.dumps(self.reader.initialOffset())

    def _latest(self, start: str | None) -> str:
        if start is None or not self._is_told:
            return json.dumps(self.reader.latestOffset())
        end = json.dumps(self.reader.latestOffset(json.loads(start), self._limit))
        json.dumps(self.reader.reportLatestOffset())
        return end

    def _tasks(self, start: str, end: str) -> list[Task]:
        planned = self.reader.partitions(json.loads(start), json.loads(end))
        # Spark always runs at least one task.
        sent = planned or [InputPartition(None)]
        return [Task(pickle.dumps((self.reader, partition))) for partition in sent]


@contextmanager
def streaming(
    *batches: tuple[bytes, ...], nodes: int = 1, trigger: Trigger = "default", **options: object
) -> Iterator[tuple[FakeCluster, Query]]:
    """A cluster with the partition t-0 and these batches, and a query before its first trigger.

    The options are as for Query; it reads from the earliest offset.
    """
    with filled(*batches, nodes=nodes) as cluster:
        with closing(Query(cluster.bootstrap_servers, trigger, **options)) as query:
            yield cluster, query


def values(rows: Rows) -> list[str]:
    """The values of rows."""
    return [(value or b"").decode() for _, value in rows]


def _read_all() -> Any:
    from pyspark.sql.streaming.datasource import ReadAllAvailable  # noqa: PLC0415 -- since 4.2

    return ReadAllAvailable()
