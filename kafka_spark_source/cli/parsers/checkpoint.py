"""The arguments of the commands `pykafka checkpoint show | diff | export | rewind`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.parsers.arguments import add_output, add_path, number_between
from kafka_spark_source.cli.parsers.rewind import add_rewind

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG = """\
A checkpoint is a folder, or a URI that PyArrow opens: s3://, gs://, abfs://, hdfs://. It may be the
checkpoint of a query with format("kafka"). Only rewind writes, and only rewind needs a broker.
Spark keeps the last 100 micro-batches.

examples:
  pykafka checkpoint show /checkpoints/orders
  pykafka checkpoint diff /checkpoints/orders 1203 1204
  pykafka checkpoint export /checkpoints/orders
  pykafka checkpoint rewind /checkpoints/orders --to -2h --dry-run
"""

_CHECKPOINT: Final = "the checkpoint folder of the query"
_MOST: Final = 2**31 - 1


def add_checkpoint(commands: Commands) -> None:
    """Adds the command `checkpoint`."""
    checkpoint = commands.add_parser(
        "checkpoint",
        help="the offsets that micro-batches of a streaming query read",
        description="Reads the checkpoint of a streaming query, or moves the query.",
        epilog=_EPILOG,
    )
    subcommands = checkpoint.add_subparsers(metavar="COMMAND", required=True)
    show = subcommands.add_parser(
        "show", help="the last micro-batches, and the offsets that they read"
    )
    add_path(show, "checkpoint", metavar="CHECKPOINT", help=_CHECKPOINT)
    show.add_argument(
        "-n",
        type=number_between(1, 10_000),
        default=10,
        metavar="N",
        help="how many micro-batches (default: 10)",
    )
    add_output(show)
    show.set_defaults(run=("checkpoint", "show"))
    diff = subcommands.add_parser(
        "diff", help="the offsets that were read between two micro-batches"
    )
    add_path(diff, "checkpoint", metavar="CHECKPOINT", help=_CHECKPOINT)
    diff.add_argument(
        "before",
        type=number_between(0, _MOST),
        metavar="BEFORE",
        help="the number of the earlier micro-batch",
    )
    diff.add_argument(
        "after",
        type=number_between(0, _MOST),
        metavar="AFTER",
        help="the number of the later micro-batch",
    )
    add_output(diff)
    diff.set_defaults(run=("checkpoint", "diff"))
    export = subcommands.add_parser(
        "export", help="print startingOffsets, to continue with a new checkpoint where this one is"
    )
    add_path(export, "checkpoint", metavar="CHECKPOINT", help=_CHECKPOINT)
    export.add_argument(
        "--micro-batch",
        type=number_between(0, _MOST),
        metavar="N",
        help="continue after this micro-batch (default: the last one that ended)",
    )
    export.set_defaults(run=("checkpoint", "export"))
    add_rewind(subcommands)
