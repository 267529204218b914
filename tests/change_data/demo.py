"""A minute of changes in a database, a stream that is killed twice, tables that must be equal."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.change_data import workload
from tests.change_data.debezium import PREFIX, connector, debezium
from tests.change_data.jars import find
from tests.change_data.lake import FORMATS, lake_session
from tests.change_data.postgres import postgres
from tests.change_data.server import Server
from tests.change_data.workload import ADDED, TABLES, Connection, Workload

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "change_data.py"
_STARTED: Final = "the stream has started"
_START_SECONDS: Final = 180
_CATCH_UP_SECONDS: Final = 600
_PAUSE_SECONDS: Final = 0.005

Report = Callable[[str], None]


class Comparison(NamedTuple):
    """A table of the database beside the one that the stream has made.

    Attributes:
        table: Its name.
        database: How many rows the database has.
        rows: How many rows the other one has.
        missing: Keys that only the database has.
        extra: Keys that only the other one has.
        different: Keys with different rows.
    """

    table: str
    database: int
    rows: int
    missing: int
    extra: int
    different: int

    @property
    def is_equal(self) -> bool:
        """Whether all rows are equal."""
        return not (self.missing or self.extra or self.different)


class Outcome(NamedTuple):
    """What a run has shown: the changes by kind, and each table."""

    changes: dict[str, int]
    kills: int
    tables: list[Comparison]


def run(seconds: float, report: Report, seed: int = 1) -> Outcome:
    """Run the demo; the tables are compared until they are equal, or too much time is over.

    Raises:
        StartError: A process ended by itself, or did not start.
    """
    with ExitStack() as stack:
        report("starting PostgreSQL and Apache Kafka")
        cluster = stack.enter_context(KafkaCluster(on_progress=report))
        database = stack.enter_context(postgres())
        connection = stack.enter_context(closing(database.connect()))
        workload.create(connection)
        report("starting Debezium: it reads the tables as they are, then follows their changes")
        stack.enter_context(debezium(cluster.bootstrap_servers, [connector(database, [*TABLES])]))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stream = _Stream(stack.enter_context(Server("stream")), cluster.bootstrap_servers, folder)
        report("starting the stream")
        stream.start()
        stream.server.wait(lambda: _STARTED in stream.server.log, _START_SECONDS)
        report(f"changing rows for {seconds:g} s")
        done = _change(connection, stream, seconds, seed, report)
        report("waiting until Debezium has written all changes")
        wait_for_debezium(connection, PREFIX)
        report("comparing the tables")
        tables = _compare(connection, stream, folder)
    return Outcome(done, stream.kills, tables)


class _Stream:
    """`examples/change_data.py`, in a process of its own. `kills` counts."""

    def __init__(self, server: Server, bootstrap_servers: str, folder: Path) -> None:
        self.server = server
        self.kills = 0
        self._columns = {name: dict(table.types) for name, table in TABLES.items()}
        self._folder = folder
        self._commits: list[int] = []
        self._command = [
            *(sys.executable, "-u", str(EXAMPLE), "--servers", bootstrap_servers),
            *("--folder", str(folder), "--jars", str(find(FORMATS["delta"]))),
        ]

    def add_column(self) -> None:
        """Give the next start the schema with the column."""
        table, name, _, type_ = ADDED
        self._columns[table][name] = type_

    def start(self) -> None:
        """Start it, with the schemas that the tables have now."""
        self._commits = self._count()
        schemas = self._folder / "schemas.json"
        columns = {
            table: ", ".join(f"{name} {type_}" for name, type_ in types.items())
            for table, types in self._columns.items()
        }
        schemas.write_text(json.dumps(columns))
        self.server.start([*self._command, "--schemas", str(schemas)])

    def has_applied_changes(self) -> bool:
        """Whether it has changed each table since its last start."""
        self.server.check()
        return all(now > before for now, before in zip(self._count(), self._commits, strict=True))

    def _count(self) -> list[int]:
        """How many commits each table has."""
        return [len([*(self._folder / each / "_delta_log").glob("*.json")]) for each in TABLES]

    def kill(self) -> None:
        """Kill the driver and its JVM."""
        self.server.check()
        self.server.kill()
        self.kills += 1


def _change(
    connection: Connection, stream: _Stream, seconds: float, seed: int, report: Report
) -> dict[str, int]:
    """Change rows, and kill the stream after a third and after two thirds of the time.

    On a slow machine each part takes until the stream has changed all tables.
    """
    work = Workload(connection, seed)

    def change_for(part: float) -> None:
        begin = time.monotonic()
        while (past := time.monotonic() - begin) < part or not stream.has_applied_changes():
            if past > part + _CATCH_UP_SECONDS:
                raise TimeoutError(
                    f"the stream does not apply changes: {stream.server.log[-2000:]}"
                )
            work.change()
            time.sleep(_PAUSE_SECONDS)

    change_for(seconds / 3)
    report("killing the stream (SIGKILL), and starting it again")
    stream.kill()
    stream.start()
    change_for(seconds / 3)
    report(f"killing it again; meanwhile {ADDED[0]} get a column {ADDED[1]}")
    stream.kill()
    workload.add_column(connection)
    work.use_added_column()
    stream.add_column()
    stream.start()
    change_for(seconds / 3)
    return dict(work.done)


def wait_for_debezium(connection: Connection, slot: str) -> None:
    """Wait until Debezium has told PostgreSQL that it needs nothing of what was written so far.

    Raises:
        TimeoutError: It has not, after a long time.
    """
    (end,) = _one(connection, "SELECT pg_current_wal_lsn()")
    query = (
        "SELECT confirmed_flush_lsn >= %s::pg_lsn FROM pg_replication_slots WHERE slot_name = %s"
    )

    def has_written() -> bool:
        # Only changes move it on.
        connection.execute(
            "UPDATE customers SET name = name WHERE id = (SELECT min(id) FROM customers)"
        )
        return bool(_one(connection, query, end, slot)[0])

    if not Deadline(_CATCH_UP_SECONDS).wait_for(has_written):
        raise TimeoutError(f"Debezium has not written all changes within {_CATCH_UP_SECONDS} s")


def _one(connection: Connection, query: str, *values: object) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = connection.execute(query.encode(), values).fetchone()
    assert row is not None
    return row


def _compare(connection: Connection, stream: _Stream, folder: Path) -> list[Comparison]:
    sessions = lake_session(folder / "warehouse")
    spark = next(sessions)
    found: list[Comparison] = []

    def are_equal() -> bool:
        stream.server.check()
        found[:] = compared(connection, spark, folder)
        return all(each.is_equal for each in found)

    try:
        Deadline(_CATCH_UP_SECONDS).wait_for(are_equal)
    finally:
        _end(sessions)
    return found


def _end(sessions: Iterator[SparkSession]) -> None:
    for _ in sessions:
        pass


def _as_in_spark(value: object) -> object:
    """Spark gives times of the machine's zone, without it."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone().replace(tzinfo=None)
    return value


def compared(connection: Connection, spark: SparkSession, folder: Path) -> Iterator[Comparison]:
    """Each table of the database beside that of Delta in the folder."""
    for name in TABLES:
        frame = spark.read.format("delta").load(str(folder / name)).where("_tombstone IS NOT TRUE")
        yield compare(connection, name, frame)


def compare(connection: Connection, name: str, frame: DataFrame) -> Comparison:
    """A table of the database beside the rows that a frame has."""
    columns, rows = workload.rows_of(connection, name)
    present = [each for each in columns if each in frame.columns]
    found = frame.select(present).collect()
    keys = [columns.index(each) for each in TABLES[name].keys]
    ours = {tuple(row[each] for each in keys): tuple(map(_as_in_spark, row)) for row in rows}
    theirs: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in found:
        values = row.asDict()
        in_order = tuple(values.get(each) for each in columns)
        theirs[tuple(in_order[each] for each in keys)] = in_order
    return Comparison(
        name,
        len(rows),
        len(found),
        len(ours.keys() - theirs.keys()),
        len(theirs.keys() - ours.keys()) + len(found) - len(theirs),
        sum(ours[key] != theirs[key] for key in ours.keys() & theirs.keys()),
    )
