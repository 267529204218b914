"""The parser of the whole command line."""

from __future__ import annotations

import argparse

from kafka_spark_source.cli.parsers.arguments import Parser
from kafka_spark_source.cli.parsers.broker import add_broker
from kafka_spark_source.cli.parsers.checkpoint import add_checkpoint
from kafka_spark_source.cli.parsers.completion import add_completion
from kafka_spark_source.cli.parsers.context import add_context
from kafka_spark_source.cli.parsers.dashboard import add_dashboard
from kafka_spark_source.cli.parsers.dead_letters import add_dead_letters
from kafka_spark_source.cli.parsers.doctor import add_doctor
from kafka_spark_source.cli.parsers.groups import add_groups
from kafka_spark_source.cli.parsers.lag import add_lag
from kafka_spark_source.cli.parsers.offsets import add_offsets
from kafka_spark_source.cli.parsers.peek import add_peek
from kafka_spark_source.cli.parsers.precompile import add_precompile
from kafka_spark_source.cli.parsers.registry import add_registry
from kafka_spark_source.cli.parsers.topics import add_topics
from kafka_spark_source.cli.parsers.txn import add_txn
from kafka_spark_source.cli.parsers.write import add_write
from kafka_spark_source.version import __version__

# In the order of the help.
_ADD = (
    *(add_doctor, add_lag, add_checkpoint, add_offsets, add_peek, add_write),
    *(
        add_topics,
        add_groups,
        add_txn,
        add_dead_letters,
        add_dashboard,
        add_broker,
        add_registry,
        add_precompile,
        add_context,
        add_completion,
    ),
)


def program() -> argparse.ArgumentParser:
    """The parser of `pykafka`, with all commands."""
    parser = Parser(
        prog="pykafka", description="The tools of pykafka: Kafka for PySpark without a jar."
    )
    parser.add_argument(
        "--version", action="version", version=f"pykafka {__version__}", help="print the version"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in _ADD:
        add(commands)
    _describe(parser)
    return parser


def _describe(parser: argparse.ArgumentParser) -> None:
    """Give each command without a description its line in the list of commands as one."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            lines = {each.dest: each.help or "" for each in action._choices_actions}
            for name, command in action.choices.items():
                command.description = command.description or _sentence(lines[name])
                _describe(command)


def _sentence(text: str) -> str:
    """A line as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."
