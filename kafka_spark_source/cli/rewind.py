"""The command `pykafka checkpoint rewind`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_spark_source.cli.arguments import add_path
from kafka_spark_source.cli.connection import add_connection, connected
from kafka_spark_source.cli.output import Show, add_output, count, print_json, print_rows
from kafka_spark_source.cli.question import is_sure
from kafka_spark_source.cli.servers import ERROR, SUCCESS

if TYPE_CHECKING:
    from kafka_spark_source.cli.servers import Commands
    from kafka_spark_source.tools.rewind import Rewind

_EPILOG = """\
Stop the query first. Its whole checkpoint is copied to a folder beside it, and then the offsets of
its last micro-batch are replaced. The query goes on from there with the same code and checkpoint.
What it reads again it writes again. Only a query without state, in a local or mounted folder.

examples:
  pykafka checkpoint rewind /checkpoints/orders --to -2h --dry-run
  pykafka checkpoint rewind /checkpoints/orders --to 2026-11-01T00:00Z
  pykafka checkpoint rewind /checkpoints/orders --to '{"orders":{"0":120}}'

A position is earliest, latest, latest-20, -10m (also ms, s, h, d), a time (UTC without a zone), an
offset, or JSON as in startingOffsets; partitions that it does not name stay where they are.

Spark's checkpoints have no lock. A query that wrote in the last minute is refused; one that waits
for records cannot be told from one that has ended.
"""
_COLUMNS: Final[Mapping[str, Show]] = {
    "topic": str,
    "partition": str,
    "committed": count,
    "offset": count,
    "earliest": count,
    "latest": count,
    "read_again": count,
    "skipped": count,
}


def add_rewind(commands: Commands) -> None:
    """Adds the command `checkpoint rewind`."""
    parser = commands.add_parser(
        "rewind",
        help="continue a query from another position; asks",
        description="Moves a streaming query to another position, in its own checkpoint.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
    )
    add_path(parser, "checkpoint", metavar="CHECKPOINT")
    parser.add_argument("--to", required=True, metavar="POSITION", help="where to continue")
    parser.add_argument("--source", metavar="S", help="which of several, as `show` lists them")
    parser.add_argument(
        "--skip", action="store_true", help="also forward: what is between is never read"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_output(parser)
    add_connection(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich
    from kafka_spark_source.tools.checkpoints import read_checkpoint  # noqa: PLC0415 - PyArrow
    from kafka_spark_source.tools.rewind import (  # noqa: PLC0415 - PyArrow
        check_quiet,
        check_skips_nothing,
        parse_target,
        plan_rewind,
        rewind,
    )

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
        console.print_text(f"The query continues from there. Its checkpoint was copied to {copy}")
    if not is_wanted and not arguments.dry_run:
        console.print_error("nothing was changed: nobody said yes")
        return ERROR
    return SUCCESS


def _is_wanted(arguments: argparse.Namespace) -> bool:
    return bool(arguments.yes) or is_sure("Is the query stopped, and is it to go there?", "yes")


def _print_plan(arguments: argparse.Namespace, planned: Rewind) -> None:
    from kafka_spark_source.cli import console  # noqa: PLC0415 - imports rich

    print_rows(arguments, _rows(planned), _COLUMNS)
    console.print_text(f"\n{planned.read_again:,} records at most are read and written again.")
    if planned.skipped:
        console.print_text(f"{planned.skipped:,} offsets are never read.")
    if planned.is_unfinished:
        console.print_text(
            f"Micro-batch {planned.rewritten[-1]:,} has begun and not ended: it runs without "
            "records of this source, and the next one continues from there."
        )
    cut = [f"{each.topic}-{each.partition}" for each in planned.moves if each.is_at_start]
    if cut:
        console.print_text(f"Retention may have taken records before those of {', '.join(cut)}.")


def _rows(planned: Rewind) -> list[dict[str, Any]]:
    return [
        each._asdict() | {"read_again": each.read_again, "skipped": each.skipped}
        for each in planned.moves
    ]


def _facts(planned: Rewind) -> dict[str, Any]:
    return {
        "checkpoint": planned.checkpoint.location,
        "source": planned.source,
        "micro_batches": list(planned.rewritten),
        "is_unfinished": planned.is_unfinished,
        "read_again": planned.read_again,
        "skipped": planned.skipped,
        "partitions": _rows(planned),
    }
