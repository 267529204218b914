"""The command `pykafka lag`.

A checkpoint or a group that cannot be looked at is named with the reason, beside the others' lags.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.errors import KafkaConfigError, KafkaError
from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.exit_codes import BEHIND, ERROR, INCOMPLETE, SUCCESS, Run
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import Show, count, duration, print_rows
from kafka_spark_source.lag.checkpoint import QueryLag, checkpoint_lag
from kafka_spark_source.lag.gauges import lag_seconds, measured
from kafka_spark_source.lag.group import GroupLag, group_lag
from kafka_spark_source.lag.measured import MeasuredLag
from kafka_spark_source.lag.prometheus import render
from kafka_spark_source.tools.positions.checkpoints import read_checkpoint

Lag: TypeAlias = QueryLag | GroupLag

_COLUMNS: Final[Mapping[str, Show]] = {
    "source": str,
    "topic": str,
    "partition": str,
    "committed": count,
    "planned": count,
    "latest": count,
    "records": count,
    "behind_ms": duration,
    "lost": count,
}
# What a row of JSON says of a checkpoint or of a group, by the field that names it.
_FACTS: Final[Mapping[str, Sequence[str]]] = {
    "checkpoint": QueryLag._fields[:-1],
    "group": GroupLag._fields[:-1],
}
_DERIVED: Final = ("records", "lost", "is_beyond")


class _Unknown(NamedTuple):
    """A checkpoint or a group whose lag is not known. `kind` is a key of `_FACTS`."""

    kind: str
    name: str
    reason: str


class _Look(NamedTuple):
    """The lags at one time, and the checkpoints and groups that could not be read."""

    lags: list[Lag]
    unknown: list[_Unknown]


def _run(arguments: argparse.Namespace) -> int:
    if not arguments.checkpoints and not arguments.group:
        raise KafkaConfigError("Name a checkpoint, or a consumer group with --group.")
    look = _look(arguments)
    _print(arguments, look)
    while arguments.watch is not None:
        sleep_ms(arguments.watch * 1000)
        look = _look(arguments)
        console.clear()
        _print(arguments, look)
    if arguments.fail_above is not None and _is_behind(look.lags, arguments):
        return BEHIND
    if not look.unknown:
        return SUCCESS
    return INCOMPLETE if look.lags else ERROR


def _look(arguments: argparse.Namespace) -> _Look:
    look = _Look([], [])
    checkpoints = []
    # One that is named twice has gauges once.
    for location in dict.fromkeys(arguments.checkpoints):
        with _noted(look, "checkpoint", location):
            checkpoints.append(read_checkpoint(location))
    if not checkpoints and not arguments.group:
        return look
    with connected(arguments) as (cluster, _):
        # Each has a deadline of its own: one that is not answered leaves time for the next.
        for checkpoint in checkpoints:
            with _noted(look, "checkpoint", checkpoint.location):
                look.lags.append(checkpoint_lag(checkpoint, cluster, _deadline(arguments)))
        for group in dict.fromkeys(arguments.group):
            with _noted(look, "group", group):
                look.lags.append(group_lag(group, cluster, _deadline(arguments)))
    return look


def _deadline(arguments: argparse.Namespace) -> Deadline:
    return Deadline.after(arguments.timeout * 1000)


@contextmanager
def _noted(look: _Look, kind: str, name: str) -> Iterator[None]:
    """Notes the error of a checkpoint or a group, so that the others are still looked at."""
    try:
        yield
    except KafkaError as error:
        look.unknown.append(_Unknown(kind, name, str(error)))


def _print(arguments: argparse.Namespace, look: _Look) -> None:
    if arguments.prometheus:
        gauges = measured(look.lags, [each.name for each in look.unknown])
        console.print_text(render(gauges).rstrip("\n"))
    elif arguments.output == "json":
        rows = [row for each in look.lags for row in _rows(each)]
        print_rows(arguments, [*rows, *map(_unknown_row, look.unknown)], _COLUMNS)
    else:
        _print_tables(arguments, look.lags)
    for kind, name, reason in look.unknown:
        console.print_error(f"the lag of the {kind} {name} is not known: {reason}")


def _rows(lag: Lag) -> Iterator[dict[str, Any]]:
    facts = lag._asdict()
    facts.pop("partitions")
    for each in lag.partitions:
        derived = {name: getattr(each, name) for name in _DERIVED}
        yield facts | each._asdict() | derived | {"error": None}


def _unknown_row(unknown: _Unknown) -> dict[str, Any]:
    """A row with the same fields, and null where nothing is known."""
    fields = (*_FACTS[unknown.kind], *MeasuredLag._fields, *_DERIVED)
    return dict.fromkeys(fields) | {unknown.kind: unknown.name, "error": unknown.reason}


def _print_tables(arguments: argparse.Namespace, lags: Sequence[Lag]) -> None:
    for each in lags:
        records = sum(lag.records or 0 for lag in each.partitions)
        console.print_sentences(f"{_heading(each)}, {records:,} records behind")
        print_rows(arguments, _rows(each), _COLUMNS)
        beyond = [f"{lag.topic}-{lag.partition}" for lag in each.partitions if lag.is_beyond]
        if beyond:
            console.print_sentences(
                f"Committed beyond the end of the log: {', '.join(beyond)}. The topic was deleted "
                "and created again, or lost records."
            )
        gone = [f"{lag.topic}-{lag.partition}" for lag in each.partitions if lag.is_gone]
        if gone:
            console.print_sentences(
                f"No longer there: {', '.join(gone)}. The topic was deleted, or created again with "
                "fewer partitions; records that were not read are lost."
            )


def _heading(lag: Lag) -> str:
    if isinstance(lag, GroupLag):
        return f"group {lag.group}"
    state = "unfinished" if lag.is_unfinished else "ended"
    return f"{lag.checkpoint}: micro-batch {lag.micro_batch:,} ({state})"


def _is_behind(lags: Sequence[Lag], arguments: argparse.Namespace) -> bool:
    return any(_is_worse(each, arguments.fail_above) for lag in lags for each in lag.partitions)


def _is_worse(lag: MeasuredLag, seconds: float) -> bool:
    return bool(lag.lost) or lag.is_beyond or lag.is_gone or (lag_seconds(lag) or 0) > seconds


COMMANDS: Final[Mapping[str, Run]] = {
    "lag": _run,
}
