"""`make demo-tables`: twenty topics into tables, by a query that is killed five times.

Debezium writes two of the topics, from a real PostgreSQL. Producers change schemas twice, a table
of the database gets a column, and some topics appear in the middle. At the end each table must be
equal to what was written to its topic, or to the table of the database; then the exit code is 0.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from confluent_kafka.schema_registry import SchemaRegistryClient
from rich.console import Console
from rich.table import Table

from kafka_spark_source.testing import KafkaCluster, LocalBrokerError, SchemaRegistry
from kafka_spark_source.testing.broker.commands import FAST_START_FLAGS
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.change_data.jars import find
from tests.change_data.lake import FORMATS, lake_session
from tests.change_data.server import Server
from tests.change_data.shop_database import Database, database
from tests.change_data.shop_tables import LAYOUTS, Comparison, Tables, compared
from tests.change_data.shop_writers import FIRST, LATE, RECORD_TYPES, TOPICS, Shop, arguments_of

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "topics_to_tables.py"
KILLS: Final = 5
STARTED: Final = "the query has started"
_START_SECONDS: Final = 600
_PAUSE_SECONDS: Final = 0.02
_COMMITS: Final = 3
"""How many commits the tables get at least before a kill."""

console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
Report = Callable[[str], None]


class Demo:
    """A run of the demo: the producers, the query that is killed, and its tables."""

    def __init__(
        self, shop: Shop, base: Database, server: Server, tables: Tables, report: Report
    ) -> None:
        self._shop = shop
        self._base = base
        self._server = server
        self._tables = tables
        self._report = report
        self._events: dict[int, tuple[tuple[str, Callable[[], None]], ...]] = {
            1: (
                ("producers write with new fields and wider types from now on", shop.evolve),
                ("a table of the database gets a column", base.add_column),
            ),
            2: ((f"{len(LATE)} more topics", lambda: shop.create(LATE)),),
            3: (("producers write with one more field from now on", shop.evolve),),
        }
        """After how many kills changes come: a report of each, and the function that makes it."""

    def run(self, command: list[str], seconds: float) -> None:
        """Write for some seconds, while the query is killed again and again."""
        self._shop.create(FIRST)
        # The query needs the schemas of all record types.
        for _ in RECORD_TYPES:
            self._shop.write()
        self._report("starting the query")
        for kills in range(KILLS + 1):
            self._server.start(command)
            self._server.wait(lambda: STARTED in self._server.log, _START_SECONDS)
            self._change(kills)
            # It is killed in the middle of a micro-batch: some of its tables have it.
            self._write_for(seconds / (KILLS + 1), self._commits_more(_COMMITS))
            if kills < KILLS:
                self._server.kill()
                self._report(f"killed (SIGKILL): {kills + 1} of {KILLS}")
        self._report("waiting until Debezium has written all changes")
        self._shop.flush()
        self._base.flush()

    def _change(self, kills: int) -> None:
        """Make the changes that come after so many kills; tables exist by then, and must grow."""
        if kills in self._events:
            self._write_for(0, self._micro_batches_more(1))
        for what, change in self._events.get(kills, ()):
            self._report(what)
            change()

    def _commits_more(self, count: int) -> Callable[[], bool]:
        wanted = self._tables.commits() + count
        return lambda: self._tables.commits() >= wanted

    def _micro_batches_more(self, count: int) -> Callable[[], bool]:
        wanted = self._tables.micro_batches() + count
        return lambda: self._tables.micro_batches() >= wanted

    def _write_for(self, seconds: float, is_enough: Callable[[], bool]) -> None:
        """Write for some seconds, and until it is enough."""
        began = time.monotonic()
        while (past := time.monotonic() - began) < seconds or not is_enough():
            self._server.check()
            if past > _START_SECONDS:
                raise TimeoutError(f"the query writes no table: {self._server.log[-2000:]}")
            self._shop.write()
            self._base.write()
            time.sleep(_PAUSE_SECONDS)

    def compare(self, warehouse: Path) -> list[Comparison]:
        """Compare until all tables are equal, or too much time is over."""
        self._report("comparing the tables")
        sessions = lake_session(warehouse)
        spark = next(sessions)
        found: list[Comparison] = []

        def are_equal() -> bool:
            self._server.check()
            found[:] = compared(spark, self._tables, self._shop, self._base)
            is_done = not any(each.different for each in found)
            if not is_done:
                time.sleep(5)
            return is_done

        try:
            Deadline(_START_SECONDS).wait_for(are_equal)
        finally:
            self._report("the last screen of the query:")
            console.print(last_screen(self._server.log), markup=False)
            for _ in sessions:
                pass
        return found


def last_screen(log: str) -> str:
    """The last whole table that `query.show()` has printed, wherever the log ends."""
    before, _, _ = log.rpartition("└")
    end = log.find("\n", len(before))
    begin = log.rfind("┏", 0, len(before) + 1)
    return log[begin : end if end >= 0 else None] if begin >= 0 else ""


def run(provider: str, seconds: float, report: Report) -> list[Comparison]:
    """Run the demo; each topic beside its table.

    Raises:
        LocalBrokerError: A process ended by itself, or did not start; jars cannot be downloaded.
    """
    with ExitStack() as stack:
        report("starting Apache Kafka and a schema registry")
        cluster = stack.enter_context(KafkaCluster(on_progress=report))
        registry = stack.enter_context(SchemaRegistry())
        client = stack.enter_context(SchemaRegistryClient({"url": registry.url}))
        servers = cluster.bootstrap_servers
        report("starting PostgreSQL and Debezium")
        base = stack.enter_context(database(servers, registry.url))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(Server("query"))
        demo = Demo(Shop(servers, client), base, server, Tables(provider, folder), report)
        demo.run(_command(provider, servers, registry.url, folder), seconds)
        return demo.compare(folder / "tables")


def _command(provider: str, servers: str, registry_url: str, folder: Path) -> list[str]:
    file = folder / "topics.json"
    file.write_text(json.dumps(arguments_of(TOPICS, registry_url)))
    return [
        *(sys.executable, "-u", str(EXAMPLE), "--provider", provider, "--servers", servers),
        *("--folder", str(folder), "--topics", str(file), "--jars", str(find(FORMATS[provider]))),
    ]


def show(provider: str, tables: list[Comparison]) -> int:
    """Print what it has shown; the exit code."""
    table = Table(title=f"After {KILLS} kills", title_justify="left")
    table.add_column("topic")
    for heading in ("records in Kafka", f"rows in {provider.title()}", "different"):
        table.add_column(heading, justify="right")
    for each in tables:
        table.add_row(each.topic, *(f"{count:,}" for count in each[1:]))
    console.print(table)
    if any(each.different for each in tables):
        console.print("[bold red]Tables differ.[/]")
        return 1
    console.print("[bold green]Each table is equal to its topic; everything is stopped again.[/]")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo-tables", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long records are written")
    parser.add_argument("--provider", choices=LAYOUTS, default="delta", help="of the tables")
    arguments = parser.parse_args()
    if arguments.provider not in FORMATS:
        parser.error(f"this release of PySpark has {' and '.join(FORMATS) or 'neither'} only")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("JAVA_TOOL_OPTIONS", " ".join(FAST_START_FLAGS))
    began = time.monotonic()

    def report(what: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:5.0f} s[/] {what}")

    try:
        return show(arguments.provider, run(arguments.provider, arguments.seconds, report))
    except LocalBrokerError as error:
        console.print(f"make demo-tables: {error}", markup=False)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
