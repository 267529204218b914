"""The arguments of the command `pykafka precompile`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG: Final = """\
Spark's Python processes import PySpark from python/lib/pyspark.zip, which has sources only, so each
compiles them again. This adds the bytecode of the Python that runs it. The sources stay as they
are; another Python uses them as before. Run it once, where Spark is installed: in an image, or on
each machine.

examples:
  pykafka precompile
  pykafka precompile --spark-home /opt/spark
"""


def add_precompile(commands: Commands) -> None:
    """Adds the command `precompile`."""
    parser = commands.add_parser(
        "precompile",
        help="let Spark's Python processes start sooner",
        description="Adds bytecode to PySpark's archive. Spark's Python processes start sooner "
        "then, and with them the first query of a session and each stream.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--spark-home",
        metavar="FOLDER",
        help="Spark's folder; by default SPARK_HOME, or PySpark in this Python",
    )
    parser.set_defaults(run=("precompile", "precompile"))
