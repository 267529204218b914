"""What a running query is told of its partitions, by scripted brokers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.planning.strategies import Strategy, Subscribe, SubscribePattern
from kafka_spark_source.streaming import logs as stream_logs
from kafka_spark_source.streaming.logs import StreamLogs
from tests.fakes import faults
from tests.fakes.cluster import ScriptedCluster

T0, T1, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("u", 0)])
ANY = SubscribePattern(".")


def soon() -> Deadline:
    return Deadline.after(10_000)


@contextmanager
def logs_of(
    strategy: Strategy = ANY, *, nodes: int = 1, release: str = "99", **options: Any
) -> Iterator[tuple[ScriptedCluster, StreamLogs]]:
    """t-0 with two records, t-1 with none; what is missing is believed after a moment."""
    with ScriptedCluster(nodes, release) as cluster:
        cluster.add_topic("t", 2)
        cluster.append(T0, b"a", b"b")
        client = cluster.client(**{"topic_propagation_max_ms": 100, **options})
        try:
            yield cluster, StreamLogs(client, strategy)
        finally:
            client.close()


def ends(logs: StreamLogs, *known: TopicPartition) -> tuple[Offsets, set[str]]:
    """Where the logs end, and which topics are others than before."""
    latest, recreated = logs.ends({*known}, soon())
    return latest, {*recreated}


def told_only(times: int, change: Any) -> faults.Fault:
    return faults.only(times, faults.changed(change))


def without_topics(response: MetadataResponse) -> None:
    response.topics.clear()


def test_ends_are_those_of_the_logs_now() -> None:
    with logs_of() as (cluster, logs):
        assert ends(logs) == ({T0: 2, T1: 0}, set())
        cluster.append(T0, b"c")
        assert ends(logs, T0, T1) == ({T0: 3, T1: 0}, set())


def test_fault_36_under_read_committed_a_log_ends_where_the_first_transaction_is_open() -> None:
    with logs_of(isolation_level="read_committed") as (cluster, logs):
        cluster.log(T0).first_unstable_offset = 1
        assert ends(logs) == ({T0: 1, T1: 0}, set())


def test_no_partitions_have_no_ends() -> None:
    with logs_of(SubscribePattern("none")) as (cluster, logs):
        assert ends(logs) == ({}, set())
        assert cluster.asked(ListOffsetsRequest) == []


def test_within_a_second_only_ends_are_asked_for() -> None:
    with logs_of() as (cluster, logs):
        for _ in range(10):
            ends(logs, T0)
        assert len(cluster.asked(ListOffsetsRequest)) == 10
        assert len(cluster.asked(MetadataRequest)) == 1


@pytest.mark.usefixtures("each_trigger_looks_anew")
def test_after_a_second_what_is_new_is_found() -> None:
    with logs_of() as (cluster, logs):
        ends(logs)
        cluster.add_topic("u")
        cluster.append(U0, b"a")
        assert ends(logs, T0, T1)[0] == {T0: 2, T1: 0, U0: 1}


def test_a_topic_that_is_named_must_exist_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_protocol.client.cluster.cluster.TOPIC_GRACE_MS", 20)
    with logs_of(Subscribe(("t", "u"))) as (_, logs):
        with pytest.raises(BrokerError, match="Cannot read topic 'u' of the option 'subscribe'"):
            logs.at_first(soon())
        assert logs.assignment(soon()).existing == {T0, T1}


def test_what_is_odd_is_looked_at_again_at_once() -> None:
    with logs_of() as (cluster, logs):
        ends(logs)
        cluster.add_topic("u")
        assert ends(logs)[0].keys() == {T0, T1}
        logs.look_again()
        assert ends(logs)[0].keys() == {T0, T1, U0}


def test_where_logs_begin() -> None:
    with logs_of() as (cluster, logs):
        cluster.append(T0, b"c")
        cluster.log(T0).delete_before(2)
        assert logs.earliest({T0, U0}, soon()) == {T0: 2}
        assert logs.earliest((), soon()) == {}


def test_ids_are_those_of_the_topics_that_are_read() -> None:
    with logs_of() as (cluster, logs):
        assert logs.topic_ids({T0}, soon()) == {"t": cluster.topics["t"].topic_id}
        logs.topic_ids({T0, T1}, soon())
        assert len(cluster.asked(MetadataRequest)) == 1


def test_brokers_below_2_8_tell_no_ids() -> None:
    with logs_of(release="2.7.0") as (_, logs):
        assert ends(logs, T0) == ({T0: 2, T1: 0}, set())
        assert logs.topic_ids({T0}, soon()) == {}


def test_fault_16_a_leader_that_moved_is_found() -> None:
    with logs_of(nodes=2) as (cluster, logs):
        ends(logs)
        for node in (2, 1):
            cluster.move_leader(T0, node)
            cluster.append(T0, b"c")
            assert ends(logs, T0, T1) == ({T0: 5 - node, T1: 0}, set())


# --- What is missing -----------------------------------------------------------------------------


@pytest.mark.usefixtures("each_trigger_looks_anew")
def test_fault_22_a_topic_that_is_left_out_for_a_moment_is_not_gone() -> None:
    with logs_of() as (cluster, logs):
        ends(logs, T0, T1)
        cluster.spoil(MetadataRequest, told_only(3, without_topics))
        assert ends(logs, T0, T1) == ({T0: 2, T1: 0}, set())


@pytest.mark.usefixtures("each_trigger_looks_anew")
@pytest.mark.parametrize("known", [{T0, T1, U0}, {T0, T1, TopicPartition("t", 7)}])
def test_fault_23_what_stays_unknown_is_gone(known: set[TopicPartition]) -> None:
    with logs_of() as (_, logs):
        waited = Deadline.after(50)
        assert ends(logs, *known) == ({T0: 2, T1: 0}, set())
        assert waited.has_passed, "one broker's word is not enough"


def test_fault_23_what_is_known_to_be_gone_is_not_waited_for() -> None:
    with logs_of(topic_propagation_max_ms=60_000) as (cluster, logs):
        latest, recreated = logs.ends({T0, T1, U0}, soon(), gone={U0})
        assert (latest, [*recreated]) == ({T0: 2, T1: 0}, [])
        cluster.add_topic("u")
        logs.look_again()
        assert logs.ends({T0, T1, U0}, soon(), gone={U0}).latest == {T0: 2, T1: 0, U0: 0}


def test_fault_23_what_was_not_read_yet_is_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kafka_protocol.client.consumer.list_offsets.TOPIC_GRACE_MS", 50)
    with logs_of(topic_propagation_max_ms=60_000) as (cluster, logs):
        cluster.add_topic("u")
        ends(logs, T0)
        del cluster.topics["u"]
        assert ends(logs, T0) == ({T0: 2, T1: 0}, set())


@pytest.mark.usefixtures("each_trigger_looks_anew")
def test_fault_23_a_topic_that_is_named_and_was_read_may_be_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kafka_protocol.client.cluster.cluster.TOPIC_GRACE_MS", 50)
    with logs_of(Subscribe(("t", "u"))) as (cluster, logs):
        cluster.add_topic("u")
        assert ends(logs, T0, T1, U0)[0].keys() == {T0, T1, U0}
        del cluster.topics["t"]
        assert ends(logs, T0, T1, U0) == ({U0: 0}, set())


def test_fault_23_a_leader_that_does_not_know_its_partition_is_asked_again() -> None:
    with logs_of() as (cluster, logs):
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        cluster.push_errors(ListOffsetsRequest, unknown, unknown)
        assert ends(logs, T0, T1) == ({T0: 2, T1: 0}, set())


def test_fault_26_who_may_not_read_is_told_at_once() -> None:
    with logs_of(topic_propagation_max_ms=60_000) as (cluster, logs):
        cluster.spoil(ListOffsetsRequest, faults.refusing(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            logs.ends({T0}, Deadline.after(5_000))


# --- Topics that are re-created ------------------------------------------------------------------


@pytest.mark.usefixtures("each_trigger_looks_anew")
def test_fault_24_another_topic_of_the_same_name_is_told_once() -> None:
    with logs_of(topic_propagation_max_ms=60_000) as (cluster, logs):
        old = logs.topic_ids({T0}, soon())["t"]
        ends(logs, T0, T1)
        cluster.add_topic("t", 2)
        assert ends(logs, T0, T1) == ({T0: 0, T1: 0}, {"t"})
        assert ends(logs, T0, T1) == ({T0: 0, T1: 0}, set())
        assert logs.topic_ids({T0}, soon())["t"] not in (old, None)


@pytest.mark.usefixtures("each_trigger_looks_anew")
def test_fault_24_another_topic_with_fewer_partitions_is_waited_for_no_longer() -> None:
    with logs_of(topic_propagation_max_ms=60_000) as (cluster, logs):
        ends(logs, T0, T1)
        cluster.add_topic("t", 1)
        assert ends(logs, T0, T1) == ({T0: 0}, {"t"})


@pytest.mark.usefixtures("each_trigger_looks_anew")
def test_fault_24_a_topic_that_was_not_read_yet_may_become_another() -> None:
    with logs_of() as (cluster, logs):
        cluster.add_topic("u")
        ends(logs, T0, T1)
        cluster.add_topic("u")
        assert ends(logs, T0, T1)[1] == set()


@pytest.mark.usefixtures("each_trigger_looks_anew")
def test_fault_24_a_topic_that_was_gone_and_is_another_one_now_is_told() -> None:
    with logs_of() as (cluster, logs):
        ends(logs, T0, T1)
        del cluster.topics["t"]
        assert ends(logs, T0, T1) == ({}, set())
        cluster.add_topic("t")
        latest, recreated = logs.ends({T0, T1}, soon(), gone={T0, T1})
        assert (latest, [*recreated]) == ({T0: 0}, ["t"])


@pytest.mark.usefixtures("each_trigger_looks_anew")
def test_fault_24_an_id_that_was_outlived_is_not_believed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_logs, "_ANOTHER_AFTER_MS", 0)
    with logs_of() as (cluster, logs):
        ends(logs, T0, T1)
        outlived = cluster.topics["t"].topic_id
        cluster.add_topic("t", 2)
        assert ends(logs, T0, T1) == ({T0: 0, T1: 0}, {"t"})

        def tell_the_one_before(response: MetadataResponse) -> None:
            for topic in response.topics:
                topic.topic_id = outlived

        cluster.spoil(MetadataRequest, told_only(5, tell_the_one_before))
        assert ends(logs, T0, T1) == ({T0: 0, T1: 0}, set())
        assert logs.topic_ids({T0}, soon())["t"] == cluster.topics["t"].topic_id


@pytest.mark.usefixtures("each_trigger_looks_anew")
def test_fault_24_one_broker_s_old_word_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata that is older than what was read tells the id of the topic before."""
    monkeypatch.setattr(stream_logs, "_ANOTHER_AFTER_MS", 0)
    with logs_of() as (cluster, logs):
        older = cluster.topics["t"].topic_id
        cluster.add_topic("t", 2)
        ends(logs, T0, T1)

        def tell_the_one_before(response: MetadataResponse) -> None:
            for topic in response.topics:
                topic.topic_id = older

        cluster.spoil(MetadataRequest, told_only(2, tell_the_one_before))
        assert ends(logs, T0, T1) == ({T0: 0, T1: 0}, set())


def test_it_prints_how_many_partitions_there_are() -> None:
    with logs_of() as (_, logs):
        assert repr(logs).startswith("<StreamLogs of unknown partitions, ")
        ends(logs)
        assert repr(logs).startswith("<StreamLogs of 2 partitions, ")
