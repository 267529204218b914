"""The results in short: the table of the README. Knows no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.tables import OURS, Row, results_of, table_of


class _Case(NamedTuple):
    """Times Spark's connector, with its defaults and tuned; None if it was not measured."""

    name: str
    plain: float | None
    tuned: float | None


def summary() -> str:
    """The table of the README: the range of all cases of each benchmark, and the worst of them."""
    groups = {
        "batch read": _cases("read", "results", "workload", "to_kafka", "to_tuned"),
        "100 and 1,000 partitions": _wide(),
        "stream, catching up": _cases("stream", "catch_up", "workload", "to_kafka", "to_tuned"),
        "Avro": _cases("formats", "queries", "workload", "to_kafka", "to_tuned"),
        "write": _writes(),
    }
    rows = [[title, *_ranges(cases)] for title, cases in groups.items()]
    return table_of(["", "against its defaults", "against it tuned", "worst case"], rows)


def _ours(name: str, table: str) -> list[Row]:
    return [row for row in results_of(name)[table] if row["contender"] == OURS]


def _cases(name: str, table: str, label: str, plain: str, tuned: str) -> list[_Case]:
    return [_Case(row[label], row[plain], row[tuned]) for row in _ours(name, table)]


def _wide() -> list[_Case]:
    return [
        _Case(f"{row['workload']}, {row['partitions']:,} partitions", None, row["to_tuned"])
        for row in _ours("wide", "results")
        if row["partitions"] >= 100
    ]


def _writes() -> list[_Case]:
    return [
        _Case(row["workload"], None, row["to_kafka"])
        if row["is_tuned"]
        else _Case(row["workload"], row["to_kafka"], None)
        for row in _ours("write", "write")
    ]


def _ranges(cases: Sequence[_Case]) -> list[str]:
    """The range of both, and the worst case beside the tuned connector."""
    plain = [case.plain for case in cases if case.plain is not None]
    tuned = {case.name: case.tuned for case in cases if case.tuned is not None}
    worst = min(tuned, key=tuned.__getitem__)
    return [_from_to(plain), _from_to([*tuned.values()]), f"{worst}: {tuned[worst]:.1f}"]


def _from_to(times: Sequence[float]) -> str:
    if not times:
        return ""
    lowest, highest = f"{min(times):.1f}", f"{max(times):.1f}"
    return lowest if lowest == highest else f"{lowest} to {highest}"
