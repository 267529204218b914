"""The arguments of the command `pykafka txn list | abort`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.parsers.arguments import add_output
from kafka_spark_source.cli.parsers.connection import add_connection
from kafka_spark_source.options.table import Table

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG: Final = """\
Readers of committed records see nothing after the first record of an open transaction. Brokers from
3.0 on list them.

examples:
  pykafka txn list -b localhost:9092
  pykafka txn list --prefix orders-copy
  pykafka txn abort orders-copy-3-0

The driver of a query decides that a transaction is committed, and writes that down. This command
never aborts one whose driver may have done so: start the query again, which commits it.
"""


def add_txn(commands: Commands) -> None:
    """Adds the command `txn`."""
    txn = commands.add_parser(
        "txn",
        help="open transactions, which readers of committed records wait for",
        description="Shows open transactions, and aborts one.",
        epilog=_EPILOG,
    )
    subcommands = txn.add_subparsers(metavar="COMMAND", required=True)
    listed = subcommands.add_parser("list", help="open transactions")
    listed.add_argument("--prefix", default="", help="the beginning of their ids (default: all)")
    abort = subcommands.add_parser("abort", help="abort one whose writer does not end it; asks")
    abort.add_argument("transactional_id", metavar="ID", help="its transactional id")
    abort.add_argument("--yes", action="store_true", help="do not ask")
    for name, parser in subcommands.choices.items():
        parser.add_argument(
            "--commit-log",
            metavar="TOPIC",
            default=Table.COMMIT_LOG_TOPIC.value_in({}),
            help="the topic in which drivers write their decisions (commitLogTopic; default: "
            "%(default)s)",
        )
        add_connection(parser)
        parser.set_defaults(run=("txn", name))
    add_output(listed)
