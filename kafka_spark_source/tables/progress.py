"""What becomes of each table: for people, for logs and for metrics. No Spark."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from enum import Enum

from kafka_protocol.errors import KafkaError


class State(Enum):
    """How a table is."""

    WRITTEN = "written"
    FILLING = "filling"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """What would be done for a topic's table before its first row.

    Attributes:
        topic: The topic.
        table: The table, as SQL spells it; empty if it has no name that can be.
        statements: The statements that make it or let it grow; none if it is as it has to be.
        refusal: Why the topic cannot be written; empty if it can.
    """

    topic: str
    table: str
    statements: tuple[str, ...]
    refusal: str


@dataclass(frozen=True, slots=True)
class TableProgress:
    """One topic and its table, as of the last micro-batch that had to do with it.

    Attributes:
        topic: The topic.
        state: How the table is.
        batch_id: That micro-batch.
        offsets: How many offsets this run of the query has written: at least the records.
        late: How many offsets the query is past, and the table lacks.
        seconds: How long the last write took.
        reason: Why it is suspended; empty if it is not.
        to_fill: How many offsets it still gets because it is filled anew.
        tables: The tables that were written, as SQL spells them; several with record types.
    """

    topic: str
    state: State
    batch_id: int
    offsets: int
    late: int
    seconds: float
    reason: str = ""
    to_fill: int = 0
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Filling:
    """A table that is filled anew: the offsets it lacks, a failure, the tables written so far."""

    to_fill: int = 0
    reason: str = ""
    tables: tuple[str, ...] = ()


class Progress:
    """The progress of all tables of a run. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: dict[str, TableProgress] = {}
        self._fillings: dict[str, _Filling] = {}
        self.failure: KafkaError | None = None
        """Why a micro-batch failed, and with it the query."""

    def tables(self) -> list[TableProgress]:
        """The progress of each table, sorted by topic."""
        with self._lock:
            topics = sorted(self._tables.keys() | self._fillings)
            return [self._of(each) for each in topics]

    def _of(self, topic: str) -> TableProgress:
        table = self._tables.get(topic) or TableProgress(topic, State.WRITTEN, -1, 0, 0, 0.0)
        filling = self._fillings.get(topic, _Filling())
        is_filling = filling.to_fill and table.state is State.WRITTEN
        return replace(
            table,
            state=State.FILLING if is_filling else table.state,
            reason=table.reason or filling.reason,
            to_fill=filling.to_fill,
            tables=table.tables or filling.tables,
        )

    def filling(self, topic: str, to_fill: int, tables: tuple[str, ...] = ()) -> None:
        """A table is filled anew, and lacks so many offsets."""
        with self._lock:
            tables = tables or self._fillings.get(topic, _Filling()).tables
            self._fillings[topic] = _Filling(to_fill, tables=tables)

    def not_filled(self, topic: str, reason: str) -> None:
        """The next slice of a table that is filled anew could not be written."""
        with self._lock:
            self._fillings[topic] = replace(self._fillings[topic], reason=reason)

    def written(
        self,
        topic: str,
        batch_id: int,
        offsets: int,
        seconds: float,
        tables: tuple[str, ...] = (),
    ) -> None:
        """A table has all records of a micro-batch."""
        with self._lock:
            before = self._tables.get(topic)
            offsets += before.offsets if before else 0
            self._tables[topic] = TableProgress(
                topic, State.WRITTEN, batch_id, offsets, 0, seconds, tables=tables
            )

    def suspended(self, topic: str, batch_id: int, late: int, reason: str) -> None:
        """A table waits."""
        with self._lock:
            before = self._tables.get(topic)
            before = before or TableProgress(topic, State.SUSPENDED, batch_id, 0, 0, 0.0)
            self._tables[topic] = replace(
                before, state=State.SUSPENDED, batch_id=batch_id, late=late, reason=reason
            )
