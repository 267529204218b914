"""`pykafka groups` and `pykafka topics alter` on real brokers, with members of other clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.group_admin import delete_group, describe_group, list_groups
from kafka_protocol.client.cluster.groups import commit_offsets, committed_offsets
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.versions.releases import parse_release
from kafka_spark_source import cli
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes import waiting
from tests.integration.clients import soon
from tests.integration.command_line import Command, pykafka, topic
from tests.integration.conftest import MakeTopic
from tests.witness import produce

__all__ = ["pykafka", "topic"]  # fixtures

pytestmark = pytest.mark.integration

_JOIN_SECONDS = 60
PROTOCOLS = ("classic", "consumer")


@contextmanager
def member(servers: str, group: str, topic: str, protocol: str) -> Iterator[Consumer]:
    """A member of a group, which has read a record and so has an assignment."""
    options = {
        "bootstrap.servers": servers,
        "group.id": group,
        "client.id": "reader",
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(options)
    try:
        consumer.subscribe([topic])
        assert consumer.poll(_JOIN_SECONDS) is not None
        yield consumer
    finally:
        consumer.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_with_a_member(
    kafka_cluster: KafkaCluster, pykafka: Command, cluster: Cluster, topic: str, protocol: str
) -> None:
    group = f"{topic}-{protocol}"
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with member(kafka_cluster.bootstrap_servers, group, topic, protocol) as consumer:
        consumer.commit(asynchronous=False)
        listed = {
            each["group"]: each for each in json.loads(pykafka("groups", "list", "-o", "json"))
        }
        assert (listed[group]["type"], listed[group]["protocol"]) == (protocol, "consumer")
        assert listed[group]["state"] == "Stable"
        found = json.loads(pykafka("groups", "describe", group, "-o", "json"))
        assert (found["type"], found["state"]) == (protocol, "Stable")
        (reader,) = found["members"]
        assert (reader["client"], reader["partitions"]) == ("reader", [str(first), str(second)])
        assert [each["client"] for each in found["partitions"]] == ["reader"] * 2
        for command in (("reset", group, "--to", "earliest"), ("delete", group)):
            pykafka("groups", *command, "--yes", code=1)
            assert "is in use: its state is Stable, members: reader on" in pykafka.errors
        with pytest.raises(BrokerError) as refused:
            commit_offsets(cluster, group, {first: 0}, soon())
        assert refused.value.error is ErrorCode.UNKNOWN_MEMBER_ID
        with pytest.raises(BrokerError) as refused:
            delete_group(cluster, group, soon())
        assert refused.value.error is ErrorCode.NON_EMPTY_GROUP

    def is_empty() -> bool:
        left = describe_group(cluster, group, soon())
        return left is not None and not left.is_in_use

    assert waiting.Deadline(_JOIN_SECONDS).wait_for(is_empty)
    pykafka("groups", "reset", group, "--to", "latest-1", "--skip", "--topic", topic, "--yes")
    assert committed_offsets(cluster, group, None, soon()) == {first: 4, second: 2}
    pykafka("groups", "reset", group, "--to", "earliest", code=1)
    assert "not confirmed (use --yes)" in pykafka.errors
    pykafka("groups", "reset", group, "--to", "earliest", "--yes")
    assert committed_offsets(cluster, group, None, soon()) == {first: 0, second: 0}
    pykafka("groups", "delete", group, "--yes")
    assert describe_group(cluster, group, soon()) is None
    pykafka("groups", "delete", group, "--yes", code=1)
    assert "GROUP_ID_NOT_FOUND" in pykafka.errors


def test_a_group_of_offsets_only(pykafka: Command, cluster: Cluster, topic: str) -> None:
    group = f"{topic}-offsets"
    commit_offsets(cluster, group, {TopicPartition(topic, 0): 2}, soon())
    listed = {each.group_id: each for each in list_groups(cluster, soon()).groups}
    assert (listed[group].group_type, listed[group].state) == ("classic", "Empty")
    found = json.loads(pykafka("groups", "describe", group, "-o", "json"))
    assert (found["members"], [each["records"] for each in found["partitions"]]) == ([], [3])
    pykafka("groups", "delete", group, "--yes")
    pykafka("groups", "describe", group, code=1)
    assert "There is no group" in pykafka.errors


def test_topics_alter(pykafka: Command, cluster: Cluster, make_topic: MakeTopic) -> None:
    name = make_topic(1, cleanup_policy="compact")
    given = ["topics", "alter", name, "--partitions", "3", "--config", "retention.ms=9"]
    pykafka(*given, code=1)
    assert len(cluster.topics([name], soon())[name].partitions) == 1
    done = json.loads(pykafka(*given, "--delete-config", "cleanup.policy", "--yes", "-o", "json"))
    assert [(each["setting"], each["before"], each["after"]) for each in done["changes"]] == [
        ("partitions", "1", "3"),
        ("retention.ms", "-1", "9"),  # local brokers keep all records
        ("cleanup.policy", "compact", "delete"),
    ]
    described = json.loads(pykafka("topics", "describe", name, "-o", "json"))
    assert (described["partitions"][2]["leader"], described["configs"]) == (
        1,
        {"retention.ms": "9"},
    )
    pykafka("topics", "alter", name, "--config", "retention.ms=never", "--yes", code=1)
    assert "INVALID_CONFIG" in pykafka.errors
    assert "nothing to change" in pykafka(*given)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.9.0.1", "0.10.2.2", "1.1.1", "2.8.2", "3.9.2"])
def test_older_releases(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that can, do; the others name the release that can."""
    release = parse_release(version)
    with KafkaCluster(version) as brokers:
        servers = ["-b", brokers.bootstrap_servers, "-X", f"broker.version.fallback={version}"]
        if release < (0, 10):
            # Such a broker does not respond to a request for its versions.
            servers += ["-X", "api.version.request=false"]

        def run(*arguments: str) -> tuple[int, str]:
            capsys.readouterr()
            code = cli.main([*arguments, *servers])
            out, errors = capsys.readouterr()
            return code, errors if code else out

        brokers.create_topic("orders", partitions=1)
        produce(brokers.bootstrap_servers, "orders", ["a", "b"], release=release)
        moved = run(
            *("groups", "reset", "readers", "--to", "latest-1", "--topic", "orders", "--yes")
        )
        assert moved[0] == 0, moved
        assert run("groups", "list")[0] == 0
        _, described = run("groups", "describe", "readers")
        assert ("orders" if release >= (0, 10, 2) else "0.10.2") in described
        _, deleted = run("groups", "delete", "readers", "--yes")
        assert ("deleted" if release >= (1, 1) else "Kafka 1.1 or newer") in deleted
        _, grown = run("topics", "alter", "orders", "--partitions", "2", "--yes")
        assert ("changed" if release >= (1, 0) else "Kafka 1.0 or newer") in grown
        _, kept = run("topics", "alter", "orders", "--config", "retention.ms=9", "--yes")
        assert ("changed" if release >= (2, 3) else "Kafka 2.3 or newer") in kept
