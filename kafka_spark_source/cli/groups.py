"""The commands `pykafka groups list | describe | reset | delete`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, Final

from kafka_protocol.client.cluster.group_admin import GroupMember, ListedGroup, list_groups
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.cli.connection import connected
from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.moves import facts_of, print_moves
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import Show, count, print_json, print_rows
from kafka_spark_source.cli.terminal.question import is_sure
from kafka_spark_source.lag.group_report import GroupReport, report_group
from kafka_spark_source.lag.measured import MeasuredLag
from kafka_spark_source.tools.positions.groups import (
    check_skips_nothing,
    check_unused,
    delete,
    plan_reset,
    reset,
)
from kafka_spark_source.tools.positions.moves import parse_target

_GROUPS: Final[Mapping[str, Show]] = {
    "group": str,
    "type": str,
    "state": str,
    "protocol": str,
    "coordinator": str,
}
_GROUP: Final[Mapping[str, Show]] = {
    "group": str,
    "type": str,
    "state": str,
    "assignor": str,
    "coordinator": str,
}
_MEMBERS: Final[Mapping[str, Show]] = {
    "client": str,
    "host": str,
    "instance": str,
    "partitions": lambda names: count(len(names)),
}
_PARTITIONS: Final[Mapping[str, Show]] = {
    "topic": str,
    "partition": str,
    "committed": count,
    "latest": count,
    "records": count,
    "lost": count,
    "client": str,
}


def _list(arguments: argparse.Namespace) -> int:
    with connected(arguments) as (cluster, deadline):
        listed = list_groups(cluster, deadline)
    if arguments.output == "json" or listed.groups:
        print_rows(arguments, [_listed(each) for each in listed.groups], _GROUPS)
    elif not listed.errors:
        console.print_sentences("there is no group that you may describe")
    for error in listed.errors:
        console.print_error(str(error))
    return ERROR if listed.errors else SUCCESS


def _listed(group: ListedGroup) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "type": group.group_type,
        "state": group.state,
        "protocol": group.protocol_type,
        "coordinator": group.coordinator,
    }


def _describe(arguments: argparse.Namespace) -> int:
    with connected(arguments) as (cluster, deadline):
        report = report_group(cluster, arguments.group, deadline)
    facts = _described(arguments.group, report)
    if arguments.output == "json":
        print_json(facts)
        return SUCCESS
    print_rows(arguments, [facts], _GROUP)
    for rows, columns in ((facts["members"], _MEMBERS), (facts["partitions"], _PARTITIONS)):
        if rows:
            console.print_text("")
            print_rows(arguments, rows, columns)
    return SUCCESS


def _described(group_id: str, report: GroupReport) -> dict[str, Any]:
    group = report.group
    return {
        "group": group_id,
        "type": group.group_type if group else None,
        "state": group.state if group else None,
        "assignor": group.assignor if group else None,
        "coordinator": group.coordinator if group else None,
        "members": [_member(each) for each in group.members] if group else [],
        "partitions": [_partition(each, report) for each in report.partitions],
    }


def _member(member: GroupMember) -> dict[str, Any]:
    names = None if member.partitions is None else [str(each) for each in member.partitions]
    return {
        "member": member.member_id,
        "instance": member.instance_id,
        "client": member.client_id,
        "host": member.host,
        "partitions": names,
    }


def _partition(measured: MeasuredLag, report: GroupReport) -> dict[str, Any]:
    reader = report.readers.get(TopicPartition(measured.topic, measured.partition))
    has_position = measured.committed is not None and measured.latest is not None
    return {
        "topic": measured.topic,
        "partition": measured.partition,
        "committed": measured.committed,
        "earliest": measured.earliest,
        "latest": measured.latest,
        "records": measured.records if has_position else None,
        "lost": measured.lost if has_position else None,
        "behind_ms": measured.behind_ms if has_position else None,
        "client": reader.client_id if reader else None,
        "member": reader.member_id if reader else None,
    }


def _reset(arguments: argparse.Namespace) -> int:
    target = parse_target(arguments.to)
    with connected(arguments) as (cluster, deadline):
        planned = plan_reset(cluster, arguments.group, target, arguments.topics, deadline)
    if not arguments.skip:
        check_skips_nothing(planned)
    if arguments.output == "table":
        print_moves(arguments, planned, "read")
    is_wanted = not arguments.dry_run and (
        arguments.yes or is_sure("Write the group's name to move it there", planned.group_id)
    )
    if is_wanted:
        with connected(arguments) as (cluster, deadline):
            reset(cluster, planned, deadline)
    if arguments.output == "json":
        print_json({"group": planned.group_id} | facts_of(planned) | {"is_done": is_wanted})
    elif is_wanted:
        console.print_sentences(f"The group {planned.group_id!r} continues from there.")
    if not is_wanted and not arguments.dry_run:
        console.print_error("nothing was changed: not confirmed (use --yes)")
        return ERROR
    return SUCCESS


def _delete(arguments: argparse.Namespace) -> int:
    with connected(arguments) as (cluster, deadline):
        check_unused(cluster, arguments.group, deadline)
    question = "Write the group's name to delete it with its offsets"
    if not arguments.yes and not is_sure(question, arguments.group):
        console.print_error("nothing was deleted")
        return ERROR
    with connected(arguments) as (cluster, deadline):
        delete(cluster, arguments.group, deadline)
    console.print_sentences(f"deleted the group {arguments.group!r}")
    return SUCCESS


COMMANDS: Final[Mapping[str, Run]] = {
    "list": _list,
    "describe": _describe,
    "reset": _reset,
    "delete": _delete,
}
