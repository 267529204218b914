"""The commands `pykafka checkpoint show | diff | export`; `rewind` is a module of its own."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any, Final

from kafka_spark_source.cli.exit_codes import SUCCESS, Run
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import UNKNOWN, Show, count, moment, print_rows
from kafka_spark_source.planning.offsets_json import offsets_to_log
from kafka_spark_source.tools.positions.checkpoints import (
    MicroBatch,
    micro_batch_of,
    moved_between,
    read_checkpoint,
)


def _planned_at(ms: int) -> str:
    return moment(ms) if ms else UNKNOWN


_BATCHES: Final[Mapping[str, Show]] = {
    "micro_batch": count,
    "planned_at_ms": _planned_at,
    "state": str,
    "source": str,
    "topic": str,
    "partitions": count,
    "offsets": count,
}
_MOVES: Final[Mapping[str, Show]] = {
    "source": str,
    "topic": str,
    "partition": str,
    "start": count,
    "end": count,
    "records": count,
}


def _show(arguments: argparse.Namespace) -> int:
    batches = read_checkpoint(arguments.checkpoint).micro_batches
    # The first one that is kept has nothing before it to compare with.
    pairs = [*zip([None, *batches], batches, strict=False)][-arguments.n :]
    rows = [row for before, batch in pairs for row in _rows(before, batch)]
    print_rows(arguments, rows, _BATCHES)
    return SUCCESS


def _rows(before: MicroBatch | None, batch: MicroBatch) -> list[dict[str, Any]]:
    """A row for each topic of a source."""
    topics: dict[tuple[str, str], list[int | None]] = {}
    for each in moved_between(before, batch):
        topics.setdefault((each.source, each.topic), []).append(each.records)
    return [
        {
            "micro_batch": batch.number,
            "planned_at_ms": batch.planned_at_ms,
            "state": "ended" if batch.is_committed else "unfinished",
            "source": source,
            "topic": topic,
            "partitions": len(records),
            "offsets": None if None in records else sum(filter(None, records)),
        }
        for (source, topic), records in topics.items()
    ]


def _diff(arguments: argparse.Namespace) -> int:
    checkpoint = read_checkpoint(arguments.checkpoint)
    before, after = (micro_batch_of(checkpoint, n) for n in (arguments.before, arguments.after))
    rows = [each._asdict() | {"records": each.records} for each in moved_between(before, after)]
    print_rows(arguments, rows, _MOVES)
    return SUCCESS


def _export(arguments: argparse.Namespace) -> int:
    batch = micro_batch_of(read_checkpoint(arguments.checkpoint), arguments.micro_batch)
    for _, ends in sorted(batch.ends.items()):
        console.print_text(json.dumps(offsets_to_log(ends), separators=(",", ":")))
    return SUCCESS


COMMANDS: Final[Mapping[str, Run]] = {
    "show": _show,
    "diff": _diff,
    "export": _export,
}
