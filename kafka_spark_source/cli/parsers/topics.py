"""The arguments of the commands `pykafka topics list | describe | create | alter | delete`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kafka_spark_source.cli.parsers.arguments import (
    add_output,
    add_topic,
    assignment,
    number_between,
)
from kafka_spark_source.cli.parsers.connection import add_connection

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG = """\
examples:
  pykafka topics list -b localhost:9092
  pykafka topics describe orders
  pykafka topics create orders --partitions 12 --config retention.ms=86400000
  pykafka topics alter orders --partitions 24
  pykafka topics alter orders --config retention.ms=3600000
  pykafka topics alter orders --delete-config retention.ms
  pykafka topics delete orders

"offsets" is the number of offsets in the logs, an upper limit of the records. Sizes need brokers
from 1.0 on and the right to describe the cluster.

"alter" shows the old and the new values, lets the brokers check the new ones, and then asks. More
partitions need brokers from 1.0 on. Configurations need brokers from 2.3 on: older brokers can only
replace all configurations of a topic.
"""


def add_topics(commands: Commands) -> None:
    """Adds the command `topics`."""
    topics = commands.add_parser(
        "topics",
        help="list, describe, create, alter and delete topics",
        description="Lists, describes, creates, alters and deletes topics.",
        epilog=_EPILOG,
    )
    subcommands = topics.add_subparsers(metavar="COMMAND", required=True)
    listing = subcommands.add_parser("list", help="all topics that you may describe")
    listing.add_argument("--internal", action="store_true", help="also Kafka's internal topics")
    form = listing.add_mutually_exclusive_group()
    form.add_argument("--names", action="store_true", help="print only names, one in a line")
    add_output(form)
    describe = subcommands.add_parser("describe", help="partitions, times and configuration")
    add_output(describe)
    create = subcommands.add_parser("create", help="create a topic")
    create.add_argument(
        "--partitions",
        type=number_between(1, 100_000),
        default=1,
        metavar="N",
        help="the number of partitions (default: 1)",
    )
    create.add_argument(
        "--replicas",
        type=number_between(1, 100),
        default=1,
        metavar="N",
        help="the number of replicas of each partition (default: 1)",
    )
    create.add_argument(
        "--config",
        type=assignment,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the topic, such as retention.ms=86400000; may be repeated",
    )
    alter = subcommands.add_parser("alter", help="add partitions, or change configurations; asks")
    _add_changes(alter)
    delete = subcommands.add_parser("delete", help="delete a topic with all its records; asks")
    for parser in (alter, delete):
        parser.add_argument("--yes", action="store_true", help="do not ask")
    for name, parser in subcommands.choices.items():
        if parser is create:
            parser.add_argument("topic", metavar="TOPIC", help="the name of the new topic")
        elif parser is not listing:
            add_topic(parser, "topic", help="the name of the topic")
        add_connection(parser)
        parser.set_defaults(run=("topic_changes" if parser is alter else "topics", name))


def _add_changes(alter: argparse.ArgumentParser) -> None:
    alter.add_argument(
        "--partitions",
        type=number_between(1, 100_000),
        metavar="N",
        help="the new number of partitions; keys move to other partitions",
    )
    alter.add_argument(
        "--config",
        type=assignment,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the topic to set; other options stay; may be repeated",
    )
    alter.add_argument(
        "--delete-config",
        action="append",
        default=[],
        metavar="KEY",
        help="an option to set back to the default of the brokers; may be repeated",
    )
    alter.add_argument("--dry-run", action="store_true", help="only show the changes")
    add_output(alter)
