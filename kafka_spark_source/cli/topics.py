"""The commands `pykafka topics list | describe | create | delete`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, Final

from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import (
    UNKNOWN,
    Show,
    count,
    moment,
    print_json,
    print_rows,
    sequence,
)
from kafka_spark_source.cli.terminal.question import is_sure
from kafka_spark_source.tools.topics.topics import ListedTopic, Partition, list_topics, set_configs


def _size(number: int) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.4g} {unit}"
        number /= 1000  # type: ignore[assignment]
    return f"{number:.4g} TB"


_TOPICS: Final[Mapping[str, Show]] = {
    "topic": str,
    "partitions": count,
    "replicas": count,
    "offsets": count,
    "size": _size,
    "under_replicated": count,
    "without_leader": count,
}
_PARTITIONS: Final[Mapping[str, Show]] = {
    "partition": str,
    "leader": str,
    "replicas": sequence,
    "in_sync": sequence,
    "earliest": count,
    "latest": count,
    "size": _size,
    "first_ms": moment,
    "last_ms": moment,
}


def _list(arguments: argparse.Namespace) -> int:
    with connected(arguments) as (cluster, deadline):
        if arguments.names:
            known = cluster.topics(None, deadline).values()
            names = (each.name for each in known if arguments.internal or not each.is_internal)
            console.print_lines(sorted(names))
            return SUCCESS
        topics = list_topics(cluster, None, deadline)
    rows = [_row(each) for each in topics if arguments.internal or not each.is_internal]
    print_rows(arguments, rows, _TOPICS)
    return SUCCESS


def _row(topic: ListedTopic) -> dict[str, Any]:
    partitions = topic.partitions
    return {
        "topic": topic.name,
        "partitions": len(partitions),
        "replicas": max((len(each.replicas) for each in partitions), default=0),
        "offsets": _sum([each.offsets for each in partitions]),
        "size": _sum([each.size for each in partitions]),
        "under_replicated": sum(each.is_under_replicated for each in partitions),
        "without_leader": sum(each.leader is None for each in partitions),
    }


def _sum(values: list[int | None]) -> int | None:
    """The sum; None if a value is not known."""
    known = [each for each in values if each is not None]
    return sum(known) if len(known) == len(values) else None


def _describe(arguments: argparse.Namespace) -> int:
    with connected(arguments) as (cluster, deadline):
        (topic,) = list_topics(cluster, [arguments.topic], deadline, with_times=True)
        configs = set_configs(cluster, arguments.topic, deadline)
    partitions = [_partition(each) for each in topic.partitions]
    if arguments.output == "json":
        print_json(_row(topic) | {"configs": configs, "partitions": partitions})
        return SUCCESS
    print_rows(arguments, [_row(topic)], _TOPICS)
    console.print_text("")
    print_rows(arguments, partitions, _PARTITIONS)
    if configs:
        console.print_text("")
        console.print_properties(
            [(name, value or UNKNOWN) for name, value in sorted(configs.items())]
        )
    return SUCCESS


def _partition(partition: Partition) -> dict[str, Any]:
    return partition._asdict() | {
        "replicas": list(partition.replicas),
        "in_sync": list(partition.in_sync),
    }


def _create(arguments: argparse.Namespace) -> int:
    new = NewTopic(
        arguments.topic, arguments.partitions, arguments.replicas, dict(arguments.config)
    )
    with connected(arguments) as (cluster, deadline):
        create_topic(cluster, new, deadline)
    console.print_sentences(
        f"created {new.name!r}, partitions: {new.partitions}, "
        f"replicas of each: {new.replication_factor}"
    )
    return SUCCESS


def _delete(arguments: argparse.Namespace) -> int:
    with connected(arguments) as (cluster, deadline):
        question = "Write the topic's name to delete it with all its records"
        if not arguments.yes and not is_sure(question, arguments.topic):
            console.print_error("nothing was deleted")
            return ERROR
        delete_topic(cluster, arguments.topic, deadline)
    console.print_sentences(f"deleted {arguments.topic!r}")
    return SUCCESS


COMMANDS: Final[Mapping[str, Run]] = {
    "list": _list,
    "describe": _describe,
    "create": _create,
    "delete": _delete,
}
