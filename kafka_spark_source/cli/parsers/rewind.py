"""The arguments of the command `pykafka checkpoint rewind`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_spark_source.cli.parsers.arguments import add_output, add_path
from kafka_spark_source.cli.parsers.connection import add_connection

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG = """\
Stop the query first. Its whole checkpoint is copied to a folder beside it, and then the offsets of
its last micro-batch are replaced. The query goes on from there with the same code and checkpoint.
Records that it reads again are written again. The query must be without state, and its checkpoint
in a local or mounted folder.

examples:
  pykafka checkpoint rewind /checkpoints/orders --to -2h --dry-run
  pykafka checkpoint rewind /checkpoints/orders --to 2026-11-01T00:00Z
  pykafka checkpoint rewind /checkpoints/orders --to '{"orders":{"0":120}}'

A position is earliest, latest, latest-20, -10m (also ms, s, h, d), a time (UTC without a zone), an
offset, or JSON as in startingOffsets; partitions that it does not name stay where they are.

Spark's checkpoints have no lock. A query that wrote in the last minute is refused. A query that
waits for records looks like one that has ended: make sure that it is stopped.
"""


def add_rewind(commands: Commands) -> None:
    """Adds the command `checkpoint rewind`."""
    parser = commands.add_parser(
        "rewind",
        help="continue a query from another position; asks",
        description="Moves a streaming query to another position, in its own checkpoint.",
        epilog=_EPILOG,
    )
    add_path(parser, "checkpoint", metavar="CHECKPOINT", help="the checkpoint folder of the query")
    parser.add_argument(
        "--to", required=True, metavar="POSITION", help="the position to continue from"
    )
    parser.add_argument(
        "--source",
        metavar="S",
        help="the source to move, if the query has several: `checkpoint show` lists them",
    )
    parser.add_argument(
        "--skip",
        action="store_true",
        help="allow moves forward: the offsets in between are never read",
    )
    parser.add_argument("--dry-run", action="store_true", help="only show the changes")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_output(parser)
    add_connection(parser)
    parser.set_defaults(run=("rewind", "rewind"))
