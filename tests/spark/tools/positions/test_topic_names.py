"""Topics that brokers do not know, on fake brokers: which was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_spark_source import cli
from kafka_spark_source.tools.positions.positions import partitions_of
from kafka_spark_source.tools.positions.topic_names import check_known
from kafka_spark_source.tools.topics.topics import list_topics
from tests.fakes.broker import Close, Handler
from tests.fakes.cluster import FakeCluster
from tests.times import shorten


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    shorten(monkeypatch, topic_grace_ms=10)
    with FakeCluster() as cluster:
        cluster.add_topic("orders")
        cluster.add_topic("customers")
        yield cluster


@pytest.fixture
def client(cluster: FakeCluster) -> Iterator[Cluster]:
    client = cluster.client()
    yield client
    client.close()


def refusal(client: Cluster, name: str, code: ErrorCode, ms: int = 30_000) -> str:
    with pytest.raises(BrokerError) as error:
        check_known(client, {name: int(code)}, Deadline.after(ms))
    assert error.value.error is code
    return str(error.value)


def asked_for_all(cluster: FakeCluster) -> int:
    return sum(request.topics is None for _, request, _ in cluster.asked(MetadataRequest))


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ],
)
def test_the_nearest_name(client: Cluster, code: ErrorCode) -> None:
    """Without rights, brokers answer for a name that no topic has as for one that they hide."""
    begin = "Metadata of the topic 'oders' (did you mean 'orders'?): the broker answered "
    assert refusal(client, "oders", code).startswith(begin + code.name)


def test_no_name_is_near(client: Cluster) -> None:
    text = refusal(client, "payments", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert text.startswith("Metadata of the topic 'payments': the broker answered UNKNOWN_TOPIC")


def test_a_topic_is_not_mistaken_for_itself(client: Cluster) -> None:
    """It may not be read, or was created after the error."""
    assert "did you mean" not in refusal(client, "orders", ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def test_all_topics_are_requested_after_such_an_error_only(
    cluster: FakeCluster, client: Cluster
) -> None:
    partitions_of(client, ["orders"], Deadline.after(30_000))
    check_known(client, {"orders": 0}, Deadline.after(30_000))
    refusal(client, "oders", ErrorCode.LEADER_NOT_AVAILABLE)
    assert asked_for_all(cluster) == 0
    refusal(client, "oders", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert asked_for_all(cluster) == 1


def test_the_first_error_stays_if_topics_cannot_be_listed(
    cluster: FakeCluster, client: Cluster
) -> None:
    def without_lists(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            if request.topics is None:
                raise Close
            return handler(request, version)

        return handle

    cluster.add_fault(MetadataRequest, without_lists)
    text = refusal(client, "oders", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ms=100)
    assert text.startswith("Metadata of the topic 'oders': the broker answered UNKNOWN_TOPIC")


@pytest.mark.parametrize("look", [partitions_of, list_topics])
def test_both_ways_to_look_at_a_topic_ask(client: Cluster, look: Callable[..., object]) -> None:
    with pytest.raises(BrokerError, match=r"did you mean 'orders'\?"):
        look(client, ["oders"], Deadline.after(30_000))


@pytest.mark.parametrize(
    "command",
    [
        ["topics", "describe", "oders"],
        ["peek", "oders"],
        ["offsets", "oders"],
        ["write", "oders"],
        ["dead-letters", "oders"],
    ],
)
def test_each_command_with_a_topic_asks(
    cluster: FakeCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: Sequence[str],
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    servers = ",".join(map(str, cluster.bootstrap_servers))
    assert cli.main([*command, "-b", servers]) == 1
    assert "did you mean 'orders'?" in capsys.readouterr().err
