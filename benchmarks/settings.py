"""What the settings of a session give: the same reads in sessions that differ in them.

    make bench-settings

Each session is a process of its own, which waits while the others work. Rounds alternate between
them because the load of the machine changes. Compare figures only within one run.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from rich.progress import Progress
from rich.table import Table

from benchmarks.connectors import CONNECTORS
from benchmarks.processes import Run
from benchmarks.read import WARM_UP, Workload, topic_of
from benchmarks.report import RESULTS, broker, connector_jars, console, save
from benchmarks.rounds import Result, results_of, shuffled
from benchmarks.session import ARROW_FLAGS, LARGE_BUFFER, TUNED, UNIX_SOCKETS
from benchmarks.session_process import Query
from benchmarks.sessions import Session
from benchmarks.topics import Topic

NONE: Final = "none"
SETTINGS: Final[dict[str, Mapping[str, str]]] = {
    NONE: {},
    "Unix domain sockets": UNIX_SOCKETS,
    "these, and a buffer of 1 MiB": UNIX_SOCKETS | LARGE_BUFFER,
    "these, and Arrow's flags": UNIX_SOCKETS | ARROW_FLAGS,
    "all": TUNED,
}
CONTENDERS: Final = ("kafka, tuned", "pykafka")
EACH: Final = [*itertools.product(SETTINGS, CONTENDERS)]
WORKLOADS: Final = (Workload(), Workload(1_000), Workload(10_000))


def query_of(topic: Topic, contender: str) -> Query:
    name, options = CONNECTORS[contender]
    return Query(name, topic.servers, topic.name, options=options)


def measure(servers: str, options: argparse.Namespace) -> list[Result]:
    """A result for each workload, session and contender."""
    results: list[Result] = []
    with ExitStack() as stack, Progress(console=console, transient=True) as progress:
        bar = progress.add_task("starting sessions", total=len(WORKLOADS) * options.rounds)
        sessions = {
            name: stack.enter_context(closing(Session("pyspark", conf)))
            for name, conf in SETTINGS.items()
        }
        for workload in WORKLOADS:
            progress.update(bar, description=f"{workload.name}: filling the topic")
            with topic_of(servers, workload, options.factor) as topic:
                runs: dict[tuple[str, str], list[Run]] = {}
                for number in range(WARM_UP + options.rounds):
                    progress.update(bar, advance=number >= WARM_UP, description=workload.name)
                    for name, contender in shuffled(EACH, number):
                        run = one(sessions[name], query_of(topic, contender))
                        runs.setdefault((name, contender), []).append(run)
            results += summary(workload, topic.rows, runs)
    return results


def one(session: Session, query: Query) -> Run:
    """Run a query in a session."""
    return Run(session.run(query).seconds, {})


def summary(
    workload: Workload, rows: int, runs: Mapping[tuple[str, str], list[Run]]
) -> list[Result]:
    measured = {each: done[WARM_UP:] for each, done in runs.items()}
    results: list[Result] = []
    for session in SETTINGS:
        compared = {name: measured[session, name] for name in CONTENDERS}
        compared[NONE] = measured[NONE, "pykafka"]
        references = {"to_tuned": "kafka, tuned", "to_none": NONE}
        facts = {"session": session, "value_bytes": workload.value_bytes}
        results += [facts | each for each in results_of(rows, compared, references)[:-1]]
    return results


def show(results: list[Result]) -> None:
    table = Table("session", "bytes", "reader", "rows/s", "x tuned", "quartiles", "x none")
    for row in results:
        table.add_row(
            row["session"],
            f"{row['value_bytes']:,}",
            row["contender"],
            f"{row['rows_per_second']:,}",
            f"{row['to_tuned']:.2f}",
            "..".join(f"{each:.2f}" for each in row["to_tuned_quartiles"]),
            f"{row['to_none']:.2f}",
            end_section=row["contender"] == CONTENDERS[-1],
        )
    console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--factor", type=float, default=1, help="of the numbers of rows")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    connector_jars("bench-settings")
    with broker() as cluster:
        results = measure(cluster.bootstrap_servers, options)
    show(results)
    options.results.mkdir(exist_ok=True, parents=True)
    figures = {
        "rounds": options.rounds,
        "contenders": CONNECTORS,
        "settings": {name: dict(conf) for name, conf in SETTINGS.items()},
    }
    save(options.results / "settings.json", figures | {"results": results})


if __name__ == "__main__":
    main()
