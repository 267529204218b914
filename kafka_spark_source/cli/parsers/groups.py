"""The arguments of the commands `pykafka groups list | describe | reset | delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_spark_source.cli.parsers.arguments import add_output, add_topic
from kafka_spark_source.cli.parsers.connection import add_connection

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG = """\
A streaming query of Spark has no group: its offsets are in its checkpoint, and "checkpoint rewind"
moves it. In a list, brokers from 2.6 on show the state of groups, and brokers from 3.8 on their
type.

examples:
  pykafka groups list -b localhost:9092
  pykafka groups describe reports
  pykafka groups reset reports --to -2h --dry-run
  pykafka groups delete reports
"""
_RESET_EPILOG = """\
Stop the programs of the group first: a group that has members is refused, because they would commit
their own offsets again. Without --topic the group moves in all partitions in which it has
committed offsets, which needs brokers from 0.10.2 on.

examples:
  pykafka groups reset reports --to -2h --dry-run
  pykafka groups reset reports --to 2026-11-01T00:00Z --topic orders
  pykafka groups reset reports --to latest --skip
  pykafka groups reset reports --to '{"orders":{"0":120}}'

A position is earliest, latest, latest-20, -10m (also ms, s, h, d), a time (UTC without a zone), an
offset, or JSON as in startingOffsets; partitions that it does not name stay where they are.
"""


def add_groups(commands: Commands) -> None:
    """Adds the command `groups`."""
    groups = commands.add_parser(
        "groups",
        help="list, describe, reset and delete consumer groups",
        description="Lists, describes, resets and deletes consumer groups.",
        epilog=_EPILOG,
    )
    subcommands = groups.add_subparsers(metavar="COMMAND", required=True)
    listing = subcommands.add_parser("list", help="all groups that you may describe")
    describe = subcommands.add_parser("describe", help="state, members, offsets and lag")
    reset = subcommands.add_parser(
        "reset",
        help="move a group to another position; asks",
        description="Moves a group without members to another position.",
        epilog=_RESET_EPILOG,
    )
    delete = subcommands.add_parser("delete", help="delete a group with its offsets; asks")
    for parser in (describe, reset, delete):
        parser.add_argument("group", metavar="GROUP", help="the name of the group")
    reset.add_argument(
        "--to", required=True, metavar="POSITION", help="the position to continue from"
    )
    add_topic(
        reset,
        "--topic",
        dest="topics",
        action="append",
        default=[],
        help="only this topic, also if the group has no offsets of it; may be repeated",
    )
    reset.add_argument(
        "--skip",
        action="store_true",
        help="allow moves forward: the offsets in between are never read",
    )
    reset.add_argument("--dry-run", action="store_true", help="only show the changes")
    for parser in (reset, delete):
        parser.add_argument("--yes", action="store_true", help="do not ask")
    for parser in (listing, describe, reset):
        add_output(parser)
    for name, parser in subcommands.choices.items():
        add_connection(parser)
        parser.set_defaults(run=("groups", name))
