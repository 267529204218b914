"""The command `pykafka offsets`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.exit_codes import SUCCESS, Run
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import Show, count, print_rows
from kafka_spark_source.planning.offsets_json import join_partitions, offsets_to_log
from kafka_spark_source.tools.positions.positions import (
    Located,
    locate,
    parse_position,
    partitions_of,
)

if TYPE_CHECKING:
    from kafka_protocol.topic_partition import TopicPartition
    from kafka_spark_source.planning.positions import Bound

_NAMED_PARTITIONS: Final = 5
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
    text = json.dumps(
        offsets_to_log({tp: each.offset for tp, each in located.items()}), separators=(",", ":")
    )
    if arguments.output == "spark":
        console.print_text(text)
    else:
        _print_rows(arguments, located)
    if arguments.output == "table":
        console.print_text(f"\n.option(\"startingOffsets\", '{text}')")
    for note in _moved(located, bound):
        console.print_error(note)
    return SUCCESS


def _print_rows(arguments: argparse.Namespace, located: Mapping[TopicPartition, Located]) -> None:
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


def _moved(located: Mapping[TopicPartition, Located], bound: Bound) -> list[str]:
    """Notes on partitions whose log lacks the requested offset: the nearest one is shown."""
    # The values -2 and -1 are the earliest and the latest offset.
    if not isinstance(bound, int) or bound < 0:
        return []
    before = [tp for tp, each in located.items() if bound < each.log.earliest]
    beyond = [tp for tp, each in located.items() if bound > each.log.latest]
    notes = {
        f"offset {bound:,} is before the start of the log, which is shown instead: ": before,
        f"offset {bound:,} is beyond the end of the log, which is shown instead: ": beyond,
    }
    return [text + _named(places) for text, places in notes.items() if places]


def _named(places: Sequence[TopicPartition]) -> str:
    """The first partitions by name, and the number of the others."""
    more = len(places) - _NAMED_PARTITIONS
    others = f", and {more:,} more" if more > 0 else ""
    return join_partitions(places[:_NAMED_PARTITIONS]) + others


COMMANDS: Final[Mapping[str, Run]] = {
    "offsets": _run,
}
