"""The command `pykafka dead-letters`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.exit_codes import BEHIND, SUCCESS, Run
from kafka_spark_source.cli.terminal.escaping import escaped
from kafka_spark_source.cli.terminal.output import Show, count, moment, print_rows
from kafka_spark_source.tools.positions.positions import parse_position, partitions_of
from kafka_spark_source.tools.records.dead_letters import counted
from kafka_spark_source.tools.records.peek import ranges_from, records_in

_SHOWN_CHARACTERS: Final = 100


def _name(exception: str) -> str:
    """The class without its package or module."""
    return escaped(exception.rpartition(".")[2])


def _begin(text: str) -> str:
    shown = escaped(text[:_SHOWN_CHARACTERS])
    return f"{shown}..." if len(text) > _SHOWN_CHARACTERS else shown


_COLUMNS: Final[Mapping[str, Show]] = {
    "topic": escaped,
    "stage": escaped,
    "exception": _name,
    "records": count,
    "repeated": count,
    "newest_ms": moment,
    "reason": _begin,
}


def _run(arguments: argparse.Namespace) -> int:
    start = parse_position(arguments.start)
    with connected(arguments) as (cluster, deadline):
        partitions = partitions_of(cluster, [arguments.topic], deadline)
        ranges = ranges_from(cluster, partitions, start, deadline)
        kinds = counted(records_in(cluster, ranges, deadline))
    print_rows(arguments, [each._asdict() for each in kinds], _COLUMNS)
    different = sum(each.records - each.repeated for each in kinds)
    limit = arguments.fail_above
    return BEHIND if limit is not None and different > limit else SUCCESS


COMMANDS: Final[Mapping[str, Run]] = {
    "dead-letters": _run,
}
