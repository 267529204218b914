"""The partitions of a running query, from fake brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import pytest

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.client.config.times import Times
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.planning.strategies import (
    Assign,
    Strategy,
    Subscribe,
    SubscribePattern,
)
from kafka_spark_source.streaming.logs import StreamLogs
from tests.fakes import changes, faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.stream_loss import with_topic_id
from tests.times import shorten

T0, T1, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("u", 0)])
ANY = SubscribePattern(".")
PATIENT: Final[dict[str, Any]] = {"topic_propagation_max_ms": 30_000, "retry_backoff_max_ms": 1_000}


def soon() -> Deadline:
    return Deadline.after(10_000)


@contextmanager
def logs_of(
    strategy: Strategy = ANY, *, nodes: int = 1, release: str = "99", **options: Any
) -> Iterator[tuple[FakeCluster, StreamLogs]]:
    """t-0 with two records, t-1 with none; a missing topic counts as deleted after 100 ms."""
    with FakeCluster(nodes, release) as cluster:
        cluster.add_topic("t", 2)
        cluster.append(T0, b"a", b"b")
        client = cluster.client(**{"topic_propagation_max_ms": 100, **options})
        try:
            yield cluster, StreamLogs(client, strategy)
        finally:
            client.close()


def ends(logs: StreamLogs, *known: TopicPartition) -> tuple[Offsets, set[str]]:
    """The ends of the logs, and the re-created topics."""
    _, latest, recreated = logs.latest_offsets({*known}, soon())
    return latest, {*recreated}


def without_topics(response: MetadataResponse) -> None:
    response.topics.clear()


def test_the_ends_are_requested_each_time() -> None:
    with logs_of() as (cluster, logs):
        assert ends(logs) == ({T0: 2, T1: 0}, set())
        cluster.append(T0, b"c")
        assert ends(logs, T0, T1) == ({T0: 3, T1: 0}, set())


def test_the_version_changes_with_the_ends_only() -> None:
    with logs_of() as (cluster, logs):
        known = {T0, T1}

        def version() -> int:
            return logs.latest_offsets({*known}, soon()).version  # each time another set

        first = version()
        assert version() == first
        cluster.append(T0, b"c")
        second = version()
        logs.invalidate_partitions()
        assert first < second == version()
        cluster.add_topic("u")
        logs.invalidate_partitions()
        assert version() > second


def test_the_version_changes_when_all_partitions_go() -> None:
    with logs_of(SubscribePattern("t"), topic_propagation_max_ms=0) as (cluster, logs):
        before = logs.latest_offsets(frozenset(), soon())
        cluster.delete_topic("t")
        logs.invalidate_partitions()
        after = logs.latest_offsets(frozenset(), soon())
        assert (before.ends, after.ends) == ({T0: 2, T1: 0}, {})
        assert after.version > before.version


def test_without_partitions_no_request_is_sent() -> None:
    with logs_of(SubscribePattern("none")) as (cluster, logs):
        assert ends(logs) == ({}, set())
        assert cluster.asked(ListOffsetsRequest) == []


def test_partitions_are_requested_again_after_their_ttl() -> None:
    with logs_of() as (cluster, _), closing(cluster.client()) as client, sleeps_take_no_time():
        logs = StreamLogs(client, ANY, partitions_ttl_ms=30_000)
        ends(logs)
        cluster.add_topic("u")
        sleep_ms(29_000)
        assert ends(logs)[0].keys() == {T0, T1}
        sleep_ms(1_500)
        assert ends(logs)[0].keys() == {T0, T1, U0}


def test_a_named_topic_must_exist_when_a_query_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=20)
    with logs_of(Subscribe(("t", "u"))) as (_, logs):
        with pytest.raises(BrokerError, match="Cannot read topic 'u' of the option 'subscribe'"):
            logs.initial_assignment(soon())
        assert logs.assignment(soon()).existing == {T0, T1}


def test_invalidated_partitions_are_requested_again() -> None:
    with logs_of() as (cluster, logs):
        ends(logs)
        cluster.add_topic("u")
        assert ends(logs)[0].keys() == {T0, T1}
        logs.invalidate_partitions()
        assert ends(logs)[0].keys() == {T0, T1, U0}


@pytest.mark.parametrize(
    ("options", "age_seconds"), [({}, 1), ({"metadata_max_age_ms": 300_000}, 300)]
)
def test_metadata_is_requested_at_its_maximum_age(
    options: dict[str, Any], age_seconds: int
) -> None:
    with logs_of(**options) as (cluster, logs), sleeps_take_no_time() as pass_seconds:
        ends(logs)
        for number in range(1, 4):
            for _ in range(3):
                pass_seconds(0.3 * age_seconds)
                ends(logs)
            assert len(cluster.asked(MetadataRequest)) == number
            pass_seconds(0.2 * age_seconds)
            ends(logs)


def test_an_error_asks_for_metadata_whatever_its_age() -> None:
    with logs_of(nodes=2, metadata_max_age_ms=300_000) as (cluster, logs):
        ends(logs)
        before = len(cluster.asked(MetadataRequest))
        cluster.move_leader(T0, 2 if cluster.leader(T0) == 1 else 1)
        assert ends(logs)[0] == {T0: 2, T1: 0}
        # The new leader, and from each broker whether it still is.
        assert len(cluster.asked(MetadataRequest)) == before + 1 + 2


@pytest.mark.usefixtures("partitions_are_never_fresh")
@pytest.mark.parametrize("strategy", [ANY, Subscribe(("t",))])
def test_unchanged_metadata_changes_nothing(strategy: Strategy) -> None:
    """So the requests for the ends of the logs are kept."""
    with logs_of(strategy) as (cluster, logs):
        first = logs.assignment(soon())
        assert logs.assignment(soon()) is first
        cluster.move_leader(T0, 1)
        assert logs.assignment(soon()) is not first


def test_earliest_offsets_of_existing_partitions() -> None:
    with logs_of() as (cluster, logs):
        cluster.append(T0, b"c")
        cluster.log(T0).delete_before(2)
        assert logs.earliest_offsets({T0, U0}, soon()) == {T0: 2}
        assert logs.earliest_offsets((), soon()) == {}


def test_topic_ids_are_requested_once() -> None:
    with logs_of() as (cluster, logs):
        assert logs.topic_ids({T0}, soon()) == {"t": cluster.topics["t"].topic_id}
        logs.topic_ids({T0, T1}, soon())
        assert len(cluster.asked(MetadataRequest)) == 1


# --- Missing topics and partitions ---------------------------------------------------------------


def without_a_partition(response: MetadataResponse) -> None:
    for topic in response.topics:
        topic.partitions = [row for row in topic.partitions if row.partition_index == 0]


def with_another_id(response: MetadataResponse) -> None:
    """The response of a broker that knows an older or a newer topic of this name."""
    for topic in response.topics:
        topic.topic_id = topic.topic_id.__class__(int=99)


@pytest.mark.usefixtures("partitions_are_never_fresh")
@pytest.mark.parametrize(
    "omit", [without_topics, changes.without_topics, without_a_partition, with_another_id]
)
@pytest.mark.parametrize("strategy", [ANY, Subscribe(("t",)), Assign((T0, T1))], ids=repr)
def test_fault_22_stale_metadata_changes_nothing(
    omit: Callable[[MetadataResponse], None], strategy: Strategy
) -> None:
    # Longer than a busy machine stands still: only the broker with old metadata is asked by then.
    with logs_of(strategy, topic_propagation_max_ms=60_000) as (cluster, logs):
        ends(logs, T0, T1)
        for count in range(3):
            cluster.add_fault(MetadataRequest, faults.changed(omit), count=2)
            cluster.append(T1, b"a")
            assert ends(logs, T0, T1) == ({T0: 2, T1: count + 1}, set())


@pytest.mark.usefixtures("partitions_are_never_fresh")
@pytest.mark.parametrize(
    "known", [{T0, T1, U0}, {T0, T1, TopicPartition("t", 7)}], ids=["topic", "partition"]
)
def test_fault_23_a_topic_that_stays_unknown_is_deleted(known: set[TopicPartition]) -> None:
    with logs_of() as (_, logs):
        waited = Deadline.after(50)
        assert ends(logs, *known) == ({T0: 2, T1: 0}, set())
        assert waited.has_passed, "one response is not enough"


@pytest.mark.usefixtures("partitions_are_never_fresh")
@pytest.mark.parametrize("strategy", [ANY, Subscribe(("t", "u")), Assign((T0, U0))], ids=repr)
def test_fault_23_a_topic_that_every_broker_lacks_is_deleted(strategy: Strategy) -> None:
    """Its id was known, so no broker can lack it because the topic is new."""
    with (
        logs_of(strategy, nodes=3, times=Times(), **PATIENT) as (cluster, logs),
        sleeps_take_no_time(),
    ):
        cluster.add_topic("u")
        ends(logs, T0, U0)
        cluster.delete_topic("u")
        early, late = Deadline.after(900), Deadline.after(5_000)
        assert U0 not in ends(logs, T0, U0)[0]
        assert early.has_passed, "brokers may hear of a topic a second later"
        assert not late.has_passed


@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_22_a_topic_that_one_broker_has_exists() -> None:
    """Two of three brokers are behind for a long time."""
    with (
        logs_of(nodes=3, **PATIENT) as (cluster, logs),
        sleeps_take_no_time(),
    ):
        ends(logs, T0, T1)
        for node in (1, 2):
            cluster.add_fault(MetadataRequest, faults.changed(without_topics), node=node)
        for _ in range(5):
            assert ends(logs, T0, T1) == ({T0: 2, T1: 0}, set())


@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_22_waiting_for_metadata_uses_up_no_deadline() -> None:
    with (
        logs_of(**PATIENT, api_timeout_ms=3_000) as (_, logs),
        sleeps_take_no_time(),
    ):
        unseen = TopicPartition("t", 7)
        latest = logs.latest_offsets({T0, T1, unseen}, Deadline.after(3_000)).ends
        assert latest == {T0: 2, T1: 0}


@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_22_a_topic_is_missing_while_one_is_recreated() -> None:
    with logs_of(topic_propagation_max_ms=60_000) as (cluster, logs):
        cluster.add_topic("u")
        ends(logs, T0, T1, U0)
        cluster.add_topic("t", 1)

        def without_u(response: MetadataResponse) -> None:
            response.topics[:] = [topic for topic in response.topics if topic.name != "u"]

        cluster.add_fault(MetadataRequest, faults.changed(without_u), count=40)
        assert ends(logs, T0, T1, U0) == ({T0: 0, U0: 0}, {"t"})


def test_fault_23_a_deleted_topic_is_not_waited_for_again() -> None:
    with logs_of(topic_propagation_max_ms=60_000) as (cluster, logs):
        _, latest, recreated = logs.latest_offsets({T0, T1, U0}, soon(), gone={U0})
        assert (latest, [*recreated]) == ({T0: 2, T1: 0}, [])
        cluster.add_topic("u")
        logs.invalidate_partitions()
        assert logs.latest_offsets({T0, T1, U0}, soon(), gone={U0}).ends == {T0: 2, T1: 0, U0: 0}


def test_fault_23_an_unread_topic_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=50)
    with logs_of(topic_propagation_max_ms=60_000) as (cluster, logs):
        cluster.add_topic("u")
        ends(logs, T0)
        cluster.delete_topic("u")
        assert ends(logs, T0) == ({T0: 2, T1: 0}, set())


def test_fault_23_a_leader_that_does_not_know_its_partition() -> None:
    with logs_of() as (cluster, logs):
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        cluster.add_fault(ListOffsetsRequest, error=unknown, count=2)
        assert ends(logs, T0, T1) == ({T0: 2, T1: 0}, set())


# --- Topics that are re-created ------------------------------------------------------------------


@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_24_a_recreated_topic_is_reported_once() -> None:
    with logs_of(topic_propagation_max_ms=60_000) as (cluster, logs):
        old = logs.topic_ids({T0}, soon())["t"]
        ends(logs, T0, T1)
        cluster.add_topic("t", 2)
        assert ends(logs, T0, T1) == ({T0: 0, T1: 0}, {"t"})
        assert ends(logs, T0, T1) == ({T0: 0, T1: 0}, set())
        assert logs.topic_ids({T0}, soon())["t"] not in (old, None)


@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_24_a_topic_is_recreated_with_fewer_partitions() -> None:
    with logs_of(topic_propagation_max_ms=60_000) as (cluster, logs):
        ends(logs, T0, T1)
        cluster.add_topic("t", 1)
        assert ends(logs, T0, T1) == ({T0: 0}, {"t"})


@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_24_an_unread_topic_may_be_recreated() -> None:
    with logs_of() as (cluster, logs):
        cluster.add_topic("u")
        ends(logs, T0, T1)
        cluster.add_topic("u")
        assert ends(logs, T0, T1)[1] == set()


@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_24_a_deleted_topic_is_recreated_later() -> None:
    with logs_of() as (cluster, logs):
        ends(logs, T0, T1)
        cluster.delete_topic("t")
        assert ends(logs, T0, T1) == ({}, set())
        cluster.add_topic("t")
        _, latest, recreated = logs.latest_offsets({T0, T1}, soon(), gone={T0, T1})
        assert (latest, [*recreated]) == ({T0: 0}, ["t"])


@pytest.mark.usefixtures("partitions_are_never_fresh")
def test_fault_24_a_replaced_id_is_never_believed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_changed_ms=0)
    with logs_of() as (cluster, logs):
        ends(logs, T0, T1)
        replaced = cluster.topics["t"].topic_id
        cluster.add_topic("t", 2)
        assert ends(logs, T0, T1) == ({T0: 0, T1: 0}, {"t"})
        cluster.add_fault(MetadataRequest, with_topic_id(replaced), count=5)
        assert ends(logs, T0, T1) == ({T0: 0, T1: 0}, set())
        assert logs.topic_ids({T0}, soon())["t"] == cluster.topics["t"].topic_id


def test_repr_shows_the_number_of_partitions() -> None:
    with logs_of() as (_, logs):
        assert repr(logs).startswith("<StreamLogs of unknown partitions, ")
        ends(logs)
        assert repr(logs).startswith("<StreamLogs of 2 partitions, ")
