"""Open transactions on fake brokers, with and without decisions about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.errors import ErrorCode, KafkaError, UnsupportedVersionError
from kafka_protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_spark_source.options.write import Identity
from kafka_spark_source.tools.transactions import (
    Held,
    OpenTransaction,
    TransactionError,
    abort_transaction,
    check_undecided,
    list_transactions,
)
from kafka_spark_source.writing.commit_log import CommitLog
from kafka_spark_source.writing.decision_format import Decision, MicroBatch, TaskWrite
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import PARTITION
from tests.fakes.transactions import opened, soon
from tests.spark.writing.test_commit_log import LOG, config_of
from tests.times import shorten

NO_LOG = "no-such-log"


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=10)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.add_topic(LOG, config={"cleanup.policy": "compact"})
        cluster.add_topic(PARTITION.topic)
        yield cluster
        close_shared_clusters()


@pytest.fixture
def client(cluster: FakeCluster) -> Iterator[Cluster]:
    with closing(cluster.client()) as client:
        yield client


def decide(cluster: FakeCluster, prefix: str) -> tuple[CommitLog, Decision]:
    """A decision that is not carried out."""
    log = CommitLog(config_of(cluster), Identity(prefix, LOG))
    decision = Decision(log.take_over(), MicroBatch("q", 1), (TaskWrite(0, 1),))
    log.decide(decision)
    return log, decision


def test_those_of_a_prefix(cluster: FakeCluster, client: Cluster) -> None:
    cluster.append(PARTITION, b"before")
    opened(client, b"a", b"b", name="p-0-0")
    opened(client, b"c", name="q-0-0")
    found, errors = list_transactions(client, "p", NO_LOG, soon())
    assert errors == ()
    (transaction,) = found
    entry = cluster.transactions["p-0-0"]
    assert transaction == OpenTransaction(
        "p-0-0",
        entry.producer_id,
        entry.epoch,
        entry.started_ms,
        60_000,
        (Held(*PARTITION, 1, 4),),
        is_decided=False,
    )
    assert transaction.held[0].waiting == 3
    every, _ = list_transactions(client, "", NO_LOG, soon())
    assert [each.transactional_id for each in every] == ["p-0-0", "q-0-0"]


def test_a_name_with_a_line_break_hides_no_transaction(
    cluster: FakeCluster, client: Cluster
) -> None:
    names = ["p-0\n-0", "p.\n", "\n"]
    for name in names:
        opened(client, b"a", name=name)
    every, _ = list_transactions(client, "", NO_LOG, soon())
    assert [each.transactional_id for each in every] == sorted(names)
    of_prefix, _ = list_transactions(client, "p.\n", NO_LOG, soon())
    assert [each.transactional_id for each in of_prefix] == ["p.\n"]


def test_what_cannot_be_found_out_is_named(cluster: FakeCluster, client: Cluster) -> None:
    for name in ("p-0-0", "p-1-0"):
        opened(client, b"a", name=name)
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    cluster.add_fault(DescribeTransactionsRequest, error=denied, count=1)
    cluster.add_fault(ListOffsetsRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, count=1)
    cluster.add_fault(FetchRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, count=1)
    decide(cluster, "p")
    found, errors = list_transactions(client, "p", LOG, soon())
    assert [(each.transactional_id, each.held) for each in found] == [("p-1-0", ())]
    assert "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in str(errors[0])
    assert "TOPIC_AUTHORIZATION_FAILED" in str(errors[1])


def test_what_its_driver_decided_is_not_aborted(cluster: FakeCluster, client: Cluster) -> None:
    opened(client, b"a", name="p-0-0")
    log, decision = decide(cluster, "p")
    (found,), _ = list_transactions(client, "p", LOG, soon())
    assert found.is_decided
    with pytest.raises(TransactionError, match=r"'p-0-0' must not be aborted.*Start its query"):
        check_undecided(client, "p-0-0", LOG, soon())
    log.note_done(decision)
    check_undecided(client, "p-0-0", LOG, soon())
    abort_transaction(client, "p-0-0", soon())
    assert list_transactions(client, "p", LOG, soon()) == ((), ())
    with pytest.raises(TransactionError, match="is not open"):
        check_undecided(client, "p-0-0", LOG, soon())


def test_a_decision_that_is_being_written(cluster: FakeCluster, client: Cluster) -> None:
    opened(client, b"a", name="p-0-0")
    cluster.hold_markers()
    decide(cluster, "p")
    with pytest.raises(TransactionError, match="must not be aborted"):
        check_undecided(client, "p-0-0", LOG, soon())


def test_without_a_readable_log_nothing_is_aborted(cluster: FakeCluster, client: Cluster) -> None:
    opened(client, b"a", name="p-0-0")
    opened(client, b"a", name="another application")
    cluster.add_fault(ListOffsetsRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, count=1)
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        check_undecided(client, "p-0-0", LOG, soon())
    check_undecided(client, "another application", LOG, soon())


def test_brokers_that_do_not_tell() -> None:
    with FakeCluster(release="2.8") as cluster, closing(cluster.client()) as client:
        cluster.add_topic(PARTITION.topic)
        opened(client, b"a", name="p-0-0")
        with pytest.raises(UnsupportedVersionError, match="ListTransactions"):
            list_transactions(client, "p", NO_LOG, soon())
        check_undecided(client, "p-0-0", NO_LOG, soon())
        abort_transaction(client, "p-0-0", soon())
        assert cluster.transactions["p-0-0"].started_ms == -1
