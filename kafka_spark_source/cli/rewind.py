"""The command `pykafka checkpoint rewind`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, Final

from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.moves import facts_of, print_moves
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import print_json
from kafka_spark_source.cli.terminal.question import is_sure
from kafka_spark_source.tools.positions.checkpoints import read_checkpoint
from kafka_spark_source.tools.positions.moves import parse_target
from kafka_spark_source.tools.positions.rewind import (
    Rewind,
    check_quiet,
    check_skips_nothing,
    plan_rewind,
    rewind,
)


def _run(arguments: argparse.Namespace) -> int:
    target = parse_target(arguments.to)
    checkpoint = read_checkpoint(arguments.checkpoint)
    with connected(arguments) as (cluster, deadline):
        planned = plan_rewind(checkpoint, target, cluster, deadline, arguments.source)
    if not arguments.skip:
        check_skips_nothing(planned)
    if not arguments.dry_run:
        check_quiet(checkpoint)
    if arguments.output == "table":
        _print_plan(arguments, planned)
    is_wanted = not arguments.dry_run and _is_wanted(arguments)
    copy = str(rewind(planned)) if is_wanted else None
    if arguments.output == "json":
        print_json(_facts(planned) | {"copy": copy})
    elif copy:
        console.print_sentences(
            f"The query continues from there. Its checkpoint was copied to {copy}"
        )
    if not is_wanted and not arguments.dry_run:
        console.print_error("nothing was changed: not confirmed (use --yes)")
        return ERROR
    return SUCCESS


def _is_wanted(arguments: argparse.Namespace) -> bool:
    return bool(arguments.yes) or is_sure(
        "Is the query stopped, and do you want to move it to these offsets?", "yes"
    )


def _print_plan(arguments: argparse.Namespace, planned: Rewind) -> None:
    print_moves(arguments, planned, "read and written")
    if planned.is_unfinished:
        console.print_sentences(
            f"Micro-batch {planned.rewritten[-1]:,} has begun and not ended: it runs without "
            "records of the partitions that move, and the next one continues from there."
        )
    cut = [f"{each.topic}-{each.partition}" for each in planned.moves if each.is_at_start]
    if cut:
        console.print_sentences(f"Retention may have taken earlier records of {', '.join(cut)}.")


def _facts(planned: Rewind) -> dict[str, Any]:
    return {
        "checkpoint": planned.checkpoint.location,
        "source": planned.source,
        "micro_batches": list(planned.rewritten),
        "is_unfinished": planned.is_unfinished,
        **facts_of(planned),
    }


COMMANDS: Final[Mapping[str, Run]] = {
    "rewind": _run,
}
