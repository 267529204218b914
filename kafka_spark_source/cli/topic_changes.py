"""The command `pykafka topics alter`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, Final

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import UNKNOWN, print_json, print_rows
from kafka_spark_source.cli.terminal.question import is_sure
from kafka_spark_source.tools.topics.topic_changes import (
    Alteration,
    Change,
    alter,
    plan_alteration,
)

_COLUMNS: Final = dict.fromkeys(("setting", "before", "after"), str)

# Kafka's partitioners take the hash of the key modulo this number.
_KEYS_MOVE: Final = (
    "\nThe number of partitions decides where a key goes: later records of a key may go to another "
    "partition than its earlier ones. Readers then see the records of the key in no order, and "
    "compaction keeps one record in each partition. Partitions cannot be taken away again."
)


def _run(arguments: argparse.Namespace) -> int:
    configs = _configs(arguments)
    with connected(arguments) as (cluster, deadline):
        planned = plan_alteration(cluster, arguments.topic, arguments.partitions, configs, deadline)
    if arguments.output == "table":
        _print_plan(arguments, planned)
    is_wanted = bool(planned.changes) and not arguments.dry_run and _is_wanted(arguments)
    if is_wanted:
        with connected(arguments) as (cluster, deadline):
            alter(cluster, planned, deadline)
    if arguments.output == "json":
        changes = [each._asdict() for each in planned.changes]
        print_json({"topic": planned.topic, "changes": changes, "is_done": is_wanted})
    elif is_wanted:
        console.print_sentences(f"changed {planned.topic!r}")
    if planned.changes and not is_wanted and not arguments.dry_run:
        console.print_error("nothing was changed: not confirmed (use --yes)")
        return ERROR
    return SUCCESS


def _configs(arguments: argparse.Namespace) -> dict[str, str | None]:
    """The new configurations, None for one to take back."""
    configs: dict[str, str | None] = {}
    for name, value in (*arguments.config, *((name, None) for name in arguments.delete_config)):
        if name in configs:
            raise KafkaConfigError(f"{name!r} is given twice.")
        configs[name] = value
    if not configs and arguments.partitions is None:
        raise KafkaConfigError("Give --partitions, --config or --delete-config.")
    return configs


def _print_plan(arguments: argparse.Namespace, planned: Alteration) -> None:
    if not planned.changes:
        console.print_sentences(f"{planned.topic!r} has all that already: nothing to change")
        return
    print_rows(arguments, [_row(each) for each in planned.changes], _COLUMNS)
    if planned.partitions is not None:
        console.print_sentences(_KEYS_MOVE)


def _row(change: Change) -> dict[str, Any]:
    return {
        "setting": change.setting,
        "before": _shown(change.before, is_set=change.was_set),
        "after": _shown(change.after, is_set=change.is_set),
    }


def _shown(value: str | None, *, is_set: bool) -> str:
    text = UNKNOWN if value is None else value
    return text if is_set else f"{text} (default)"


def _is_wanted(arguments: argparse.Namespace) -> bool:
    return bool(arguments.yes) or is_sure("Write the topic's name to change it", arguments.topic)


COMMANDS: Final[Mapping[str, Run]] = {
    "alter": _run,
}
