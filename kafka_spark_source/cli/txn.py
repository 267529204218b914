"""The command `pykafka txn list | abort`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, Final

from kafka_protocol.client.clock import now_ms
from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import Show, count, duration, print_rows
from kafka_spark_source.cli.terminal.question import is_sure
from kafka_spark_source.tools.transactions import (
    OpenTransaction,
    abort_transaction,
    check_undecided,
    list_transactions,
)

_COLUMNS: Final[Mapping[str, Show]] = {
    "transactional_id": str,
    "open_for_ms": duration,
    "ends_in_ms": duration,
    "partitions": count,
    "waiting": count,
    "decided": str,
}
_DECIDED: Final[Mapping[bool | None, str | None]] = {True: "maybe", False: "no", None: None}


def _list(arguments: argparse.Namespace) -> int:
    with connected(arguments) as (cluster, deadline):
        listed = list_transactions(cluster, arguments.prefix, arguments.commit_log, deadline)
    if arguments.output == "json" or listed.transactions:
        print_rows(arguments, [_row(each) for each in listed.transactions], _COLUMNS)
    elif not listed.errors:
        named = f" whose id begins with {arguments.prefix!r}" if arguments.prefix else ""
        console.print_sentences(f"no transaction{named} is open")
    for error in listed.errors:
        console.print_error(str(error))
    return ERROR if listed.errors else SUCCESS


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
    console.print_text(f"aborted {name!r}")
    return SUCCESS


COMMANDS: Final[Mapping[str, Run]] = {
    "list": _list,
    "abort": _abort,
}
