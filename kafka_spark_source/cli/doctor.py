"""The command `pykafka doctor`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.cli.connection import SERVERS, options_of
from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.terminal.console import print_text, progress
from kafka_spark_source.cli.terminal.output import print_json
from kafka_spark_source.diagnosis.diagnosis import Job, diagnose
from kafka_spark_source.diagnosis.environment import environment
from kafka_spark_source.diagnosis.findings import Finding, Result
from kafka_spark_source.diagnosis.report import Place, pasteable, verdict
from kafka_spark_source.planning.strategies import parse_subscribe_pattern
from kafka_spark_source.tools.masking import masked


def _run(arguments: argparse.Namespace) -> int:
    options, source = options_of(arguments)
    pattern = arguments.read_pattern
    job = Job(
        tuple(arguments.read),
        tuple(arguments.write),
        arguments.group,
        arguments.transactional_id_prefix,
        arguments.commit_log,
        pattern and parse_subscribe_pattern("--read-pattern", pattern),
    )
    is_table = arguments.output == "table"
    findings = [Finding("servers", options[SERVERS], Result.GOOD, f"from {source}")]
    with progress(quiet=not is_table) as on_progress:
        for finding in diagnose(ClientConfig.from_options(options), job):
            on_progress(f"{finding.step}: {finding.subject}")
            findings.append(finding)
    place = Place("here", environment(), findings)
    if arguments.report:
        print_text(pasteable([place], masked(options)))
    elif is_table:
        print_text(verdict(place))
    else:
        rows = [finding._asdict() for finding in findings]
        print_json({"environment": place.environment, "findings": rows})
    return SUCCESS if place.is_good else ERROR


COMMANDS: Final[Mapping[str, Run]] = {
    "doctor": _run,
}
