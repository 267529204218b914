"""The command `pykafka txn list | abort`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_protocol.client.clock import now_ms
from kafka_spark_source.cli.connection import add_connection, connected
from kafka_spark_source.cli.output import Show, add_output, count, duration, print_rows
from kafka_spark_source.cli.question import is_sure
from kafka_spark_source.cli.servers import ERROR, SUCCESS
from kafka_spark_source.options.table import Table

if TYPE_CHECKING:
    from kafka_spark_source.cli.servers import Commands
    from kafka_spark_source.tools.transactions import OpenTransaction

_EPILOG: Final = """\
Readers of committed records see nothing after the first record of an open transaction. Brokers from
3.0 on list them.

examples:
  pykafka txn list -b localhost:9092
  pykafka txn list --prefix orders-copy
  pykafka txn abort orders-copy-3-0

A transaction is decided if its driver may have written that it commits: then start the query again,
which commits it. It is never aborted by this command.
"""
_COLUMNS: Final[Mapping[str, Show]] = {
    "transactional_id": str,
    "open_for_ms": duration,
    "ends_in_ms": duration,
    "partitions": count,
    "waiting": count,
    "decided": str,
}
_DECIDED: Final[Mapping[bool | None, str | None]] = {True: "maybe", False: "no", None: None}


def add_txn(commands: Commands) -> None:
    """Adds the command `txn`."""
    txn = commands.add_parser(
        "txn",
        help="open transactions, and what readers wait for",
        description="Shows open transactions, and aborts one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
    )
    subcommands = txn.add_subparsers(metavar="SUBCOMMAND", required=True)
    listed = subcommands.add_parser("list", help="open transactions")
    listed.add_argument("--prefix", default="", help="the beginning of their ids (default: all)")
    abort = subcommands.add_parser("abort", help="abort one that nobody ends; asks")
    abort.add_argument("transactional_id", metavar="ID")
    abort.add_argument("--yes", action="store_true", help="do not ask")
    for parser, run in ((listed, _list), (abort, _abort)):
        parser.add_argument(
            "--commit-log",
            metavar="TOPIC",
            default=Table.COMMIT_LOG_TOPIC.value_in({}),
            help="the topic of decisions, commitLogTopic (default: %(default)s)",
        )
        add_connection(parser)
        parser.set_defaults(run=run)
    add_output(listed)


def _list(arguments: argparse.Namespace) -> int:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich
    from kafka_spark_source.tools.transactions import list_transactions  # noqa: PLC0415

    with connected(arguments) as (cluster, deadline):
        found = list_transactions(cluster, arguments.prefix, arguments.commit_log, deadline)
    print_rows(arguments, [_row(each) for each in found.transactions], _COLUMNS)
    for error in found.errors:
        console.print_error(str(error))
    return ERROR if found.errors else SUCCESS


def _row(transaction: OpenTransaction) -> dict[str, Any]:
    open_for_ms = max(0, now_ms() - transaction.started_ms)
    return {
        **transaction._asdict(),
        "held": [each._asdict() | {"waiting": each.waiting} for each in transaction.held],
        "open_for_ms": open_for_ms,
        "ends_in_ms": max(0, transaction.timeout_ms - open_for_ms),
        "partitions": len(transaction.held),
        "waiting": sum(each.waiting for each in transaction.held),
        "decided": _DECIDED[transaction.is_decided],
    }


def _abort(arguments: argparse.Namespace) -> int:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich
    from kafka_spark_source.tools.transactions import (  # noqa: PLC0415
        abort_transaction,
        check_undecided,
    )

    name = arguments.transactional_id
    with connected(arguments) as (cluster, deadline):
        check_undecided(cluster, name, arguments.commit_log, deadline)
    question = "Its records are dropped, and its writer fails. Write the transactional id"
    if not arguments.yes and not is_sure(question, name):
        console.print_error("nothing was aborted")
        return ERROR
    with connected(arguments) as (cluster, deadline):
        check_undecided(cluster, name, arguments.commit_log, deadline)
        abort_transaction(cluster, name, deadline)
    return SUCCESS
