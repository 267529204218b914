"""The commands `pykafka checkpoint show | diff | export`; `rewind` is a module of its own."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_spark_source.cli.arguments import add_path, number_between
from kafka_spark_source.cli.output import UNKNOWN, Show, add_output, count, moment, print_rows
from kafka_spark_source.cli.rewind import add_rewind
from kafka_spark_source.cli.servers import SUCCESS
from kafka_spark_source.planning.offsets_json import offsets_to_log

if TYPE_CHECKING:
    from kafka_spark_source.cli.servers import Commands
    from kafka_spark_source.tools.checkpoints import MicroBatch

_EPILOG = """\
A checkpoint is a folder, or what PyArrow opens: s3://, gs://, abfs://, hdfs://. It may be that of a
query with format("kafka"). Only rewind writes, and only rewind needs a broker. Spark keeps the last
100 micro-batches.

examples:
  pykafka checkpoint show /checkpoints/orders
  pykafka checkpoint diff /checkpoints/orders 1203 1204
  pykafka checkpoint export /checkpoints/orders
  pykafka checkpoint rewind /checkpoints/orders --to -2h --dry-run
"""
_MOST: Final = 2**31 - 1


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


def add_checkpoint(commands: Commands) -> None:
    """Adds the command `checkpoint`."""
    checkpoint = commands.add_parser(
        "checkpoint",
        help="what the micro-batches of a streaming query read",
        description="Reads the checkpoint of a streaming query, or moves the query.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
    )
    subcommands = checkpoint.add_subparsers(metavar="COMMAND", required=True)
    show = subcommands.add_parser("show", help="the last micro-batches, and what they read")
    add_path(show, "checkpoint", metavar="CHECKPOINT")
    show.add_argument(
        "-n", type=number_between(1, 10_000), default=10, metavar="N", help="default: 10"
    )
    add_output(show)
    show.set_defaults(run=_show)
    diff = subcommands.add_parser("diff", help="what was read between two micro-batches")
    add_path(diff, "checkpoint", metavar="CHECKPOINT")
    diff.add_argument("before", type=number_between(0, _MOST), metavar="BEFORE")
    diff.add_argument("after", type=number_between(0, _MOST), metavar="AFTER")
    add_output(diff)
    diff.set_defaults(run=_diff)
    export = subcommands.add_parser(
        "export", help="startingOffsets for a new checkpoint, where this one is now"
    )
    add_path(export, "checkpoint", metavar="CHECKPOINT")
    export.add_argument(
        "--micro-batch",
        type=number_between(0, _MOST),
        metavar="N",
        help="the one to continue after (default: the last that has ended)",
    )
    export.set_defaults(run=_export)
    add_rewind(subcommands)


def _show(arguments: argparse.Namespace) -> int:
    from kafka_spark_source.tools.checkpoints import read_checkpoint  # noqa: PLC0415 - PyArrow

    batches = read_checkpoint(arguments.checkpoint).micro_batches
    # The first one that is kept has nothing before it to compare with.
    pairs = [*zip([None, *batches], batches, strict=False)][-arguments.n :]
    rows = [row for before, batch in pairs for row in _rows(before, batch)]
    print_rows(arguments, rows, _BATCHES)
    return SUCCESS


def _rows(before: MicroBatch | None, batch: MicroBatch) -> list[dict[str, Any]]:
    """A row for each topic of a source."""
    from kafka_spark_source.tools.checkpoints import moved_between  # noqa: PLC0415 - PyArrow

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
    from kafka_spark_source.tools.checkpoints import (  # noqa: PLC0415 - PyArrow
        micro_batch_of,
        moved_between,
        read_checkpoint,
    )

    found = read_checkpoint(arguments.checkpoint)
    before, after = (micro_batch_of(found, n) for n in (arguments.before, arguments.after))
    rows = [each._asdict() | {"records": each.records} for each in moved_between(before, after)]
    print_rows(arguments, rows, _MOVES)
    return SUCCESS


def _export(arguments: argparse.Namespace) -> int:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich
    from kafka_spark_source.tools.checkpoints import (  # noqa: PLC0415 - PyArrow
        micro_batch_of,
        read_checkpoint,
    )

    batch = micro_batch_of(read_checkpoint(arguments.checkpoint), arguments.micro_batch)
    for _, ends in sorted(batch.ends.items()):
        console.print_text(json.dumps(offsets_to_log(ends), separators=(",", ":")))
    return SUCCESS
