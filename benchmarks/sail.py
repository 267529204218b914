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
from typing import NamedTuple

from rich.table import Table

from benchmarks.report import RESULTS, broker, console, save
from benchmarks.rounds import Result, ratios, shuffled
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


def first_queries(servers: str) -> list[Result]:
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


def measure(servers: str) -> dict[str, dict[str, list[float]]]:
    """Workload -> contender -> the seconds of each round."""
    sessions = {kind: Session(kind) for kind in VENVS}
    seconds: dict[str, dict[str, list[float]]] = {
        workload.name: {name: [] for name in CONTENDERS} for workload in WORKLOADS
    }
    for number in range(ROUNDS + 1):
        for workload in WORKLOADS:
            for contender in shuffled(CONTENDERS, number):
                kind, format_ = CONTENDERS[contender]
                took = sessions[kind].run(workload.query(format_, servers)).seconds
                if number:  # the first round warms up
                    seconds[workload.name][contender].append(took)
        console.print(f"round {number} of {ROUNDS}")
    for session in sessions.values():
        session.close()
    return seconds


def results_of(seconds: dict[str, dict[str, list[float]]]) -> list[Result]:
    return [
        {
            "workload": workload.name,
            "contender": name,
            "rows_per_second": round(workload.rows / statistics.median(spent)),
            **ratios(of_workload, name, {"to_kafka": "kafka", "to_pykafka": "pykafka"}),
        }
        for workload in WORKLOADS
        for of_workload in [seconds[workload.name]]
        for name, spent in of_workload.items()
    ]


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
