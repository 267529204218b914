"""Strategies resolved against a fake cluster."""

from __future__ import annotations

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.strategies import Assign, Strategy, Subscribe, SubscribePattern
from kafka_spark_source.reading.assignment import Assignment, resolve
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import one_partition
from tests.times import shorten

T0, T1, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("u", 0)])
GONE = TopicPartition("gone", 0)


def found_by(client: Cluster, strategy: Strategy) -> Assignment:
    return resolve(client, strategy, Deadline.after(10_000))


def two_topics(cluster: FakeCluster) -> None:
    cluster.add_topic("t", 2)
    cluster.add_topic("u")


def test_topics_and_their_ids() -> None:
    with one_partition() as (cluster, client):
        two_topics(cluster)
        found = found_by(client, Subscribe(("t", "u")))
        assert found.assigned == found.existing == {T0, T1, U0}
        assert found.topic_ids == {
            "t": cluster.topics["t"].topic_id,
            "u": cluster.topics["u"].topic_id,
        }


def test_a_pattern_is_searched_for() -> None:
    with one_partition() as (cluster, client):
        two_topics(cluster)
        assert found_by(client, SubscribePattern("^u")).assigned == {U0}
        assert found_by(client, SubscribePattern("x")).assigned == set()


def test_assigned_partitions_need_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=20)
    with one_partition() as (cluster, client):
        two_topics(cluster)
        missing, nowhere = TopicPartition("t", 7), TopicPartition("nowhere", 0)
        found = found_by(client, Assign((T1, missing, nowhere)))
        assert found.assigned == {T1, missing, nowhere}
        assert found.existing == {T1}


def test_a_topic_that_is_named_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=20)
    with one_partition() as (_, client):
        with pytest.raises(BrokerError, match="'nowhere' of the option 'subscribe'"):
            found_by(client, Subscribe(("t", "nowhere")))


@pytest.mark.parametrize(
    "strategy",
    [Subscribe(("t", "gone")), SubscribePattern("t|gone")],
    ids=["subscribe", "subscribePattern"],
)
def test_a_known_topic_may_be_gone(strategy: Strategy, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=20)
    with one_partition() as (_, client):
        found = resolve(client, strategy, Deadline.after(10_000), known=["gone"])
        assert found.assigned == found.existing == {T0}
        assert found.topic_ids.keys() == {"t"}


@pytest.mark.parametrize("strategy", [Subscribe(("t", "gone")), Assign((T0, GONE))], ids=repr)
def test_a_topic_that_brokers_may_lack_is_not_waited_for(strategy: Strategy) -> None:
    with one_partition() as (cluster, client):
        known = ["gone", "t"]
        found = resolve(client, strategy, Deadline.after(10_000), known, may_lack=known)
        assert found.existing == {T0}
        assert len(cluster.asked(MetadataRequest)) == 1


def test_a_known_topic_does_not_excuse_an_unknown_one(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=20)
    with one_partition() as (_, client):
        with pytest.raises(BrokerError, match="'nowhere' of the option 'subscribe'"):
            resolve(client, Subscribe(("nowhere", "gone")), Deadline.after(10_000), ["gone"])


def test_a_known_topic_may_still_be_forbidden() -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(MetadataRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            resolve(client, Subscribe(("t",)), Deadline.after(10_000), known=["t"])


@pytest.mark.parametrize(
    ("strategy", "option"),
    [
        (Subscribe(("t",)), "subscribe"),
        (SubscribePattern("t"), "subscribePattern"),
        (Assign((T0,)), "assign"),
    ],
    ids=["subscribe", "subscribePattern", "assign"],
)
def test_a_topic_that_may_not_be_read_is_refused(strategy: Strategy, option: str) -> None:
    with one_partition() as (cluster, client):
        cluster.add_fault(MetadataRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        with pytest.raises(BrokerError, match=f"'t' of the option '{option}'") as caught:
            found_by(client, strategy)
        assert caught.value.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_brokers_below_2_8_have_no_topic_ids() -> None:
    with one_partition(release="2.7.0") as (_, client):
        assert found_by(client, Subscribe(("t",))).topic_ids == {}
