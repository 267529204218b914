"""The command `pykafka offsets`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Final

from kafka_spark_source.cli import console
from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.exit_codes import SUCCESS, Run
from kafka_spark_source.cli.output import Show, count, print_rows
from kafka_spark_source.planning.offsets_json import offsets_to_log
from kafka_spark_source.tools.positions import locate, parse_position, partitions_of

_COLUMNS: Final[Mapping[str, Show]] = {
    "topic": str,
    "partition": str,
    "earliest": count,
    "latest": count,
    "offsets": count,
}


def _run(arguments: argparse.Namespace) -> int:
    bound = parse_position(arguments.at or "latest")
    with connected(arguments) as (cluster, deadline):
        partitions = partitions_of(cluster, arguments.topics, deadline)
        located = locate(cluster, partitions, bound, deadline)
    rows = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "earliest": log.earliest,
            "latest": log.latest,
            "offsets": log.latest - log.earliest,
            "at": offset,
        }
        for tp, (log, offset) in located.items()
    ]
    at: dict[str, Show] = {"at": count} if arguments.at else {}
    print_rows(arguments, rows, {**_COLUMNS, **at})
    if arguments.output == "table":
        offsets = {tp: each.offset for tp, each in located.items()}
        text = json.dumps(offsets_to_log(offsets), separators=(",", ":"))
        console.print_text(f"\n.option(\"startingOffsets\", '{text}')")
    return SUCCESS


COMMANDS: Final[Mapping[str, Run]] = {
    "offsets": _run,
}
