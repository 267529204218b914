"""`pykafka topics alter` on fake brokers: values before and after, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_spark_source import cli
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.times import shorten

WEEK, DAY = "604800000", "86400000"


@pytest.fixture(autouse=True)
def _no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    shorten(monkeypatch, topic_grace_ms=10)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """The topic `orders` with two partitions, which is compacted."""
    with FakeCluster() as cluster:
        cluster.add_topic("orders", partitions=2, config={"cleanup.policy": "compact"})
        yield cluster


class Alter:
    """Runs `pykafka topics alter orders` in this process."""

    def __init__(self, cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
        self._cluster = cluster
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """The output; of a command that fails, its errors."""
        servers = ",".join(map(str, self._cluster.bootstrap_servers))
        self._capsys.readouterr()
        assert cli.main(["topics", "alter", "orders", *arguments, "-b", servers]) == code
        out, errors = self._capsys.readouterr()
        return errors if code else out

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "-o", "json"))


@pytest.fixture
def alter(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Alter:
    return Alter(cluster, capsys)


def changed(cluster: FakeCluster, kind: Any) -> list[Any]:
    """The requests of a kind that were more than a check."""
    return [request for _, request, _ in cluster.asked(kind) if not request.validate_only]


def test_old_and_new_values(cluster: FakeCluster, alter: Alter) -> None:
    given = ["--config", f"retention.ms={DAY}", "--delete-config", "cleanup.policy"]
    lines = alter(*given, "--partitions", "6", "--dry-run").splitlines()
    assert [" ".join(line.split()) for line in lines[:4]] == [
        "setting before after",
        "partitions 2 6",
        f"retention.ms {WEEK} (default) {DAY}",
        "cleanup.policy compact delete (default)",
    ]
    assert "later records of a key may go to another partition" in " ".join(lines)
    assert not changed(cluster, IncrementalAlterConfigsRequest)
    assert not changed(cluster, CreatePartitionsRequest)


def test_it_asks(cluster: FakeCluster, alter: Alter) -> None:
    assert "not confirmed (use --yes)" in alter("--partitions", "3", code=1)
    assert len(cluster.topics["orders"].partitions) == 2


def test_changes_are_made(cluster: FakeCluster, alter: Alter) -> None:
    given = ["--config", f"retention.ms={DAY}", "--delete-config", "cleanup.policy"]
    found = alter.json(*given, "--partitions", "6", "--yes")
    assert found["is_done"] is True
    assert [(each["setting"], each["before"], each["after"]) for each in found["changes"]] == [
        ("partitions", "2", "6"),
        ("retention.ms", WEEK, DAY),
        ("cleanup.policy", "compact", "delete"),
    ]
    assert len(cluster.topics["orders"].partitions) == 6
    assert cluster.topics["orders"].config == {"retention.ms": DAY}
    assert alter("--config", f"retention.ms={WEEK}", "--yes").endswith("changed 'orders'\n")
    assert cluster.topics["orders"].config == {"retention.ms": WEEK}


def test_what_is_so_already_is_not_sent(cluster: FakeCluster, alter: Alter) -> None:
    given = ["--partitions", "2", "--config", "cleanup.policy=compact"]
    shown = alter(*given, "--delete-config", "retention.ms", "--yes")
    assert shown == "'orders' has all that already: nothing to change\n"
    assert not cluster.asked(IncrementalAlterConfigsRequest)
    assert not cluster.asked(CreatePartitionsRequest)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "Give --partitions, --config or --delete-config"),
        (["--partitions", "1"], "has 2 partitions, and Kafka can only add some"),
        (["--config", "retension.ms=1"], "did you mean 'retention.ms'?"),
        (["--config", "retention.ms="], "INVALID_CONFIG"),
        (["--config", "retention.ms=1", "--delete-config", "retention.ms"], "is given twice"),
    ],
)
def test_what_cannot_be_is_refused_before_the_question(
    cluster: FakeCluster, alter: Alter, arguments: list[str], reason: str
) -> None:
    assert reason in alter(*arguments, "--yes", code=1)
    assert not changed(cluster, IncrementalAlterConfigsRequest)
    assert not changed(cluster, CreatePartitionsRequest)


def test_brokers_check_the_partitions_first(cluster: FakeCluster, alter: Alter) -> None:
    cluster.add_fault(CreatePartitionsRequest, error=ErrorCode.POLICY_VIOLATION, count=1)
    error = alter("--partitions", "9", "--config", f"retention.ms={DAY}", "--yes", code=1)
    assert "POLICY_VIOLATION" in error
    assert cluster.topics["orders"].config == {"cleanup.policy": "compact"}


def test_half_of_the_changes(cluster: FakeCluster, alter: Alter) -> None:
    for denied in (ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED):
        cluster.add_fault(CreatePartitionsRequest, error=denied, count=1)
    error = alter("--partitions", "9", "--config", f"retention.ms={DAY}", "--yes", code=1)
    assert "The configurations of 'orders' were changed, and partitions were not added" in error
    assert cluster.topics["orders"].config["retention.ms"] == DAY
    assert len(cluster.topics["orders"].partitions) == 2


def test_topics_of_kafka_keep_their_partitions(cluster: FakeCluster, alter: Alter) -> None:
    def internal(response: MetadataResponse) -> None:
        for each in response.topics:
            each.is_internal = True

    cluster.add_fault(MetadataRequest, faults.changed(internal))
    assert "it must keep them" in alter("--partitions", "9", "--yes", code=1)
    assert "not a configuration of topics" in alter("--config", "x.y=1", "--yes", code=1)


@pytest.mark.parametrize(
    ("release", "arguments", "reason"),
    [
        ("0.11", ("--partitions", "3"), "Kafka 1.0 or newer"),
        ("2.2", ("--config", f"retention.ms={DAY}"), "Kafka 2.3 or newer"),
        ("2.2", ("--config", f"retention.ms={DAY}"), "replaces all configurations of a topic"),
        ("0.10.2", ("--config", f"retention.ms={DAY}"), "Kafka 2.3 or newer"),
    ],
)
def test_old_brokers_say_what_they_cannot(
    capsys: pytest.CaptureFixture[str], release: str, arguments: tuple[str, ...], reason: str
) -> None:
    with FakeCluster(release=release) as cluster:
        cluster.add_topic("orders", partitions=2)
        assert reason in Alter(cluster, capsys)(*arguments, "--yes", code=1)
