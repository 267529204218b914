"""pykafka on Sail, beside pykafka and Spark's own connector on Spark: the same queries, in turns.

    make bench-sail

Spark and Sail are in two processes, which wait while the other one works. Each round runs each
query once on each side; the table shows medians. Compare figures only within one run. Both have two
cores, if the machine has no more.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from benchmarks.report import RESULTS, broker, console, save
from benchmarks.sail_session import FORMATS
from benchmarks.topics import PARTITIONS, filled_topic, new_topic, rows_of
from tests.jvm_connector import PYSPARK

ROOT = Path(__file__).parents[1]
VENVS = {"pyspark": f".venv-spark-{PYSPARK}", "pysail": ".venv-sail"}
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


WORKLOADS = (
    Workload("read 100 B", "small", SMALL),
    Workload("read 100 B: offset, value", "small", SMALL, "offset long, value binary"),
    Workload("read 1 kB", "large", LARGE),
    Workload("copy 100 B", "small", SMALL, "key binary, value binary", COPIES),
)


class Session:
    """A process of `sail_session`."""

    def __init__(self, kind: str) -> None:
        python = ROOT / VENVS[kind] / "bin" / "python"
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.sail_session", kind],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.version = str(self._response())

    def seconds_of(self, contender: str, workload: Workload, servers: str) -> float:
        """How long a query takes."""
        query = workload._asdict() | {"contender": contender, "servers": servers}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(query) + "\n")
        self._process.stdin.flush()
        return float(self._response())

    def age(self) -> float:
        """Seconds since the process was started."""
        return time.perf_counter() - self._started

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def _response(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("A session ended early: run its module by hand to see why")
        return json.loads(line)


def kind_of(contender: str) -> str:
    return "pysail" if contender.endswith("Sail") else "pyspark"


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
    found = []
    for contender in FORMATS:
        session = Session(kind_of(contender))
        session.seconds_of(contender, query, servers)
        figures = {"contender": contender, "session": session.version, "seconds": session.age()}
        found.append(figures)
        session.close()
    return found


def measure(servers: str) -> dict[tuple[str, str], list[float]]:
    """The seconds of each round, by workload and contender."""
    sessions = {kind: Session(kind) for kind in VENVS}
    seconds: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS + 1):
        for workload in WORKLOADS:
            for contender in FORMATS:
                took = sessions[kind_of(contender)].seconds_of(contender, workload, servers)
                if number:  # the first round warms up
                    seconds.setdefault((workload.name, contender), []).append(took)
        console.print(f"round {number} of {ROUNDS}")
    for session in sessions.values():
        session.close()
    return seconds


def results_of(seconds: dict[tuple[str, str], list[float]]) -> list[dict[str, Any]]:
    rows = []
    for workload in WORKLOADS:
        middle = {name: statistics.median(seconds[workload.name, name]) for name in FORMATS}
        for name in FORMATS:
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
