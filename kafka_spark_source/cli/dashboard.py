"""The command `pykafka dashboard`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from kafka_spark_source.cli.exit_codes import SUCCESS, Run
from kafka_spark_source.cli.terminal.output import print_json
from kafka_spark_source.lag.dashboard import alert_rules, dashboard


def _run(arguments: argparse.Namespace) -> int:
    print_json(alert_rules() if arguments.alerts else dashboard())
    return SUCCESS


COMMANDS: Final[Mapping[str, Run]] = {
    "dashboard": _run,
}
