"""The arguments of the command `pykafka dashboard`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG: Final = """\
examples:
  pykafka dashboard > pykafka.json                # Grafana: New, Import
  pykafka dashboard --alerts > pykafka.rules.yml  # Prometheus: rule_files

Both are for the gauges of LagListener (kafka_spark_source.lag). The rules are JSON, which is YAML.
"""


def add_dashboard(commands: Commands) -> None:
    """Adds the command `dashboard`."""
    parser = commands.add_parser(
        "dashboard",
        help="a Grafana dashboard, or Prometheus alert rules",
        description="Prints a Grafana dashboard for the lag of streaming queries.",
        epilog=_EPILOG,
    )
    parser.add_argument("--alerts", action="store_true", help="print alert rules instead")
    parser.set_defaults(run=("dashboard", "dashboard"))
