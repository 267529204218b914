"""The command `pykafka lag`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_protocol.client.clock import sleep_ms
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.cli import console
from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.exit_codes import BEHIND, SUCCESS, Run
from kafka_spark_source.cli.output import Show, count, duration, print_rows
from kafka_spark_source.lag.checkpoint import QueryLag, checkpoint_lag
from kafka_spark_source.lag.gauges import lag_seconds, measured
from kafka_spark_source.lag.group import GroupLag, group_lag
from kafka_spark_source.lag.prometheus import render
from kafka_spark_source.tools.checkpoints import read_checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka_spark_source.lag.measured import MeasuredLag

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


def _run(arguments: argparse.Namespace) -> int:
    if not arguments.checkpoints and not arguments.group:
        raise KafkaConfigError("Name a checkpoint, or a consumer group with --group.")
    lags = _look(arguments)
    _print(arguments, lags)
    while arguments.watch is not None:
        sleep_ms(arguments.watch * 1000)
        lags = _look(arguments)
        console.clear()
        _print(arguments, lags)
    return BEHIND if arguments.fail_above is not None and _is_behind(lags, arguments) else SUCCESS


def _look(arguments: argparse.Namespace) -> list[QueryLag | GroupLag]:
    checkpoints = [read_checkpoint(location) for location in arguments.checkpoints]
    with connected(arguments) as (cluster, deadline):
        return [
            *(checkpoint_lag(each, cluster, deadline) for each in checkpoints),
            *(group_lag(each, cluster, deadline) for each in arguments.group),
        ]


def _print(arguments: argparse.Namespace, lags: list[QueryLag | GroupLag]) -> None:
    if arguments.prometheus:
        console.print_text(render(measured(lags)).rstrip("\n"))
    elif arguments.output == "json":
        print_rows(arguments, [row for each in lags for row in _rows(each)], _COLUMNS)
    else:
        _print_tables(arguments, lags)


def _rows(lag: QueryLag | GroupLag) -> Iterator[dict[str, Any]]:
    facts = lag._asdict()
    facts.pop("partitions")
    for each in lag.partitions:
        derived = {"records": each.records, "lost": each.lost, "is_beyond": each.is_beyond}
        yield facts | each._asdict() | derived


def _print_tables(arguments: argparse.Namespace, lags: list[QueryLag | GroupLag]) -> None:
    for each in lags:
        records = sum(lag.records for lag in each.partitions)
        console.print_text(f"{_heading(each)}, {records:,} records behind")
        print_rows(arguments, _rows(each), _COLUMNS)
        beyond = [f"{lag.topic}-{lag.partition}" for lag in each.partitions if lag.is_beyond]
        if beyond:
            console.print_text(
                f"Committed beyond the end of the log: {', '.join(beyond)}. The topic was deleted "
                "and created again, or lost records."
            )


def _heading(lag: QueryLag | GroupLag) -> str:
    if isinstance(lag, GroupLag):
        return f"group {lag.group}"
    state = "unfinished" if lag.is_unfinished else "ended"
    return f"{lag.checkpoint}: micro-batch {lag.micro_batch:,} ({state})"


def _is_behind(lags: list[QueryLag | GroupLag], arguments: argparse.Namespace) -> bool:
    return any(_is_worse(each, arguments.fail_above) for lag in lags for each in lag.partitions)


def _is_worse(lag: MeasuredLag, seconds: float) -> bool:
    return bool(lag.lost) or lag.is_beyond or (lag_seconds(lag) or 0) > seconds


COMMANDS: Final[Mapping[str, Run]] = {
    "lag": _run,
}
