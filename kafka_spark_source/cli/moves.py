"""Planned moves of a query or of a group, as commands show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import Show, count, print_rows

if TYPE_CHECKING:
    import argparse

    from kafka_spark_source.tools.positions.moves import OffsetPlan

_COLUMNS: Final[Mapping[str, Show]] = {
    "topic": str,
    "partition": str,
    "committed": count,
    "offset": count,
    "earliest": count,
    "latest": count,
    "read_again": count,
    "skipped": count,
}


def print_moves(arguments: argparse.Namespace, planned: OffsetPlan, verb: str) -> None:
    """Print a table of the moves, and how many records are read again or skipped.

    `verb` says what happens to the former: "read", or "read and written".
    """
    print_rows(arguments, _rows(planned), _COLUMNS)
    console.print_sentences(f"\n{planned.read_again:,} records at most are {verb} again.")
    if planned.skipped:
        console.print_sentences(f"{planned.skipped:,} offsets are never read.")


def facts_of(planned: OffsetPlan) -> dict[str, Any]:
    """The moves for programs, as JSON objects."""
    return {
        "read_again": planned.read_again,
        "skipped": planned.skipped,
        "partitions": _rows(planned),
    }


def _rows(planned: OffsetPlan) -> list[dict[str, Any]]:
    return [
        each._asdict() | {"read_again": each.read_again, "skipped": each.skipped}
        for each in planned.moves
    ]
