"""The arguments of the command `pykafka lag`."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from kafka_spark_source.cli.exit_codes import BEHIND, INCOMPLETE
from kafka_spark_source.cli.parsers.arguments import add_output, add_path, number_between
from kafka_spark_source.cli.parsers.connection import add_connection

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands


_EPILOG = f"""\
A checkpoint is a folder, or a URI that PyArrow opens: s3://, gs://, abfs://, hdfs://. It may be the
checkpoint of a query with format("kafka"). Nothing is written, and the query need not run.

examples:
  pykafka lag /checkpoints/orders -b localhost:9092
  pykafka lag s3://data/checkpoints/orders --output json
  pykafka lag /checkpoints/* --fail-above 300 || page-somebody
  pykafka lag /checkpoints/orders --watch 5
  pykafka lag --group reports
  pykafka lag /checkpoints/* --prometheus > /var/lib/node_exporter/lag.prom

"behind" is the age of the first record that no finished micro-batch has read; "lost" are offsets
that retention has taken before they were read. A checkpoint or a group that cannot be read is named
on the standard error, with the reason, and in JSON in a row whose "error" is not null.

Exit codes: 0, 1 an error, {BEHIND} above --fail-above, {INCOMPLETE} if only some can be read.
"""


def add_lag(commands: Commands) -> None:
    """Adds the command `lag`."""
    parser = commands.add_parser(
        "lag",
        help="the lag of streaming queries, from their checkpoints",
        description="Compares the checkpoints of streaming queries with the logs of their topics.",
        epilog=_EPILOG,
    )
    add_path(
        parser,
        "checkpoints",
        nargs="*",
        metavar="CHECKPOINT",
        help="the checkpoint folder of a query",
    )
    parser.add_argument(
        "--group", action="append", default=[], help="also a consumer group; may be repeated"
    )
    parser.add_argument(
        "--watch",
        type=number_between(1, 86_400),
        metavar="SECONDS",
        help="look again after so many seconds, until Ctrl-C",
    )
    parser.add_argument(
        "--prometheus", action="store_true", help="print gauges in Prometheus' text format"
    )
    parser.add_argument(
        "--fail-above",
        type=_seconds,
        metavar="SECONDS",
        help=f"exit with {BEHIND} if a partition has a longer lag, has lost records, or is gone",
    )
    add_output(parser)
    add_connection(parser)
    parser.set_defaults(run=("lag", "lag"))


def _seconds(text: str) -> float:
    """A number to compare with: nothing is more than `nan`."""
    seconds = float(text)
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds
