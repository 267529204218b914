"""pykafka on Sail, beside pykafka and Spark's own connector on Spark: the same queries, in turns.

    make bench-sail

Spark and Sail are in two processes, which wait while the other one works. Each round runs each
query once on each side; the table shows medians. Compare figures only within one run. Both have two
cores, if the machine has no more.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from rich.table import Table

from benchmarks.report import RESULTS, broker, console, save
from benchmarks.session_process import Query
from benchmarks.sessions import VENVS, Session
from benchmarks.topics import PARTITIONS, filled_topic, new_topic, rows_of

# The session and the format of each.
CONTENDERS = {
    "kafka": ("pyspark", "kafka"),
    "pykafka": ("pyspark", "pykafka"),
    "pykafka on Sail": ("pysail", "pykafka"),
}
ROUNDS = 5
SMALL, LARGE = 2_000_000, 400_000
COPIES = "copies"


class Workload(NamedTuple):
    """A query: the topic that it reads, which columns, and the topic that it writes to."""

    name: str
    topic: str
    rows: int
    columns: str = ""
    to: str = ""

    def query(self, format_: str, servers: str) -> Query:
        """The query of a contender."""
        return Query(format_, servers, self.topic, self.columns, self.to)


WORKLOADS = (
    Workload("read 100 B", "small", SMALL),
    Workload("read 100 B: offset, value", "small", SMALL, "offset long, value binary"),
    Workload("read 1 kB", "large", LARGE),
    Workload("copy 100 B", "small", SMALL, "key binary, value binary", COPIES),
)


@contextmanager
def topics(servers: str) -> Iterator[None]:
    with ExitStack() as stack:
        for name, rows, value_bytes in (("small", SMALL, 100), ("large", LARGE, 1_000)):
            each = rows_of(rows // PARTITIONS, value_bytes)
            stack.enter_context(filled_topic(servers, name, each, batch_rows=1_000))
        stack.enter_context(new_topic(servers, COPIES))
        yield


def first_queries(servers: str) -> list[dict[str, Any]]:
    """The time from the start of each process to the end of its first query."""
    query = Workload("first", "small", SMALL, "offset long")
    results = []
    for contender, (kind, format_) in CONTENDERS.items():
        session = Session(kind)
        session.run(query.query(format_, servers))
        figures = {"contender": contender, "session": session.version, "seconds": session.age()}
        results.append(figures)
        session.close()
    return results


def measure(servers: str) -> dict[tuple[str, str], list[float]]:
    """The seconds of each round, by workload and contender."""
    sessions = {kind: Session(kind) for kind in VENVS}
    seconds: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS + 1):
        for workload in WORKLOADS:
            for contender, (kind, format_) in CONTENDERS.items():
                took = sessions[kind].run(workload.query(format_, servers)).seconds
                if number:  # the first round warms up
                    seconds.setdefault((workload.name, contender), []).append(took)
        console.print(f"round {number} of {ROUNDS}")
    for session in sessions.values():
        session.close()
    return seconds


def results_of(seconds: dict[tuple[str, str], list[float]]) -> list[dict[str, Any]]:
    rows = []
    for workload in WORKLOADS:
        middle = {name: statistics.median(seconds[workload.name, name]) for name in CONTENDERS}
        for name in CONTENDERS:
            figures = {"workload": workload.name, "contender": name}
            rate = round(workload.rows / middle[name])
            ratios = {f"to_{other}": middle[other] / middle[name] for other in ("kafka", "pykafka")}
            rows.append(figures | {"rows_per_second": rate} | ratios)
    return rows


def main() -> None:
    with broker() as kafka, topics(kafka.bootstrap_servers):
        first = first_queries(kafka.bootstrap_servers)
        results = results_of(measure(kafka.bootstrap_servers))
    table = Table("", "contender", "rows/s", "to kafka", "to pykafka")
    for row in results:
        table.add_row(
            row["workload"],
            row["contender"],
            f"{row['rows_per_second']:,}",
            f"{row['to_kafka']:.2f}",
            f"{row['to_pykafka']:.2f}",
        )
    console.print(table)
    console.print(first)
    figures = {"rounds": ROUNDS, "results": results, "first_query": first}
    save(RESULTS / "sail.json", figures)


if __name__ == "__main__":
    main()
