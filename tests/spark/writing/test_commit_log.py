"""The commit log: decisions are found again, apart from those of other prefixes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import close_shared_clusters, shared_cluster
from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import Transaction, TransactionFencedError, begin
from kafka_protocol.errors import KafkaTimeoutError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.write import Identity
from kafka_spark_source.writing.commit_log import (
    CommitLog,
    CommitLogError,
    Decision,
    LoggedDecision,
    MicroBatch,
    TaskWrite,
)
from tests.fakes.log import batch_of
from tests.fakes.transactions import TransactionalCluster

LOG = "decisions"
LOG_PARTITION = TopicPartition(LOG, 0)

texts = st.text(max_size=20)
counts = st.integers(0, 2**40)
transactions = st.builds(Transaction, texts, counts, st.integers(0, 2**15 - 1), counts)
writes = st.builds(
    TaskWrite,
    counts,
    counts,
    st.none() | transactions,
    st.none() | st.builds(TopicPartition, texts, counts),
)
micro_batches = st.builds(MicroBatch, texts, counts)


@given(st.builds(Decision, transactions, st.none() | micro_batches, st.lists(writes).map(tuple)))
def test_a_decision_is_read_as_it_was_written(decision: Decision) -> None:
    assert Decision.from_json(decision.to_json(), "it") == decision


@pytest.mark.parametrize("text", [b"", b"\xff", b"[]", b"{}", b"null", b'{"version": "x"}'])
def test_an_invalid_decision_is_an_error(text: bytes) -> None:
    with pytest.raises(CommitLogError, match="it is no decision"):
        Decision.from_json(text, "it")


def test_a_decision_of_a_newer_version_is_an_error() -> None:
    with pytest.raises(CommitLogError, match="version 2, and this release of pykafka knows 1"):
        Decision.from_json(b'{"version":2}', "it")


@pytest.fixture
def cluster() -> Iterator[TransactionalCluster]:
    with TransactionalCluster() as cluster:
        cluster.add_topic(LOG)
        yield cluster
        close_shared_clusters()


def config_of(cluster: TransactionalCluster, **options: str) -> ClientConfig:
    servers = ",".join(map(str, cluster.bootstrap_servers))
    named = {name.replace("_", "."): value for name, value in options.items()}
    return ClientConfig.from_options({"bootstrap.servers": servers} | named)


def log_of(cluster: TransactionalCluster, prefix: str = "p", **options: str) -> CommitLog:
    return CommitLog(config_of(cluster, **options), Identity(prefix, LOG))


def decided(log: CommitLog, number: int) -> Decision:
    decision = Decision(log.claim(), MicroBatch("q", number), (TaskWrite(0, number),))
    log.decide(decision)
    return decision


def test_the_last_decision_and_whether_it_is_done(cluster: TransactionalCluster) -> None:
    log = log_of(cluster)
    assert log.last_decision() is None
    for number in range(3):
        decision = decided(log, number)
        assert log.last_decision() == LoggedDecision(decision, is_done=False)
        log.note_done(decision)
        assert log_of(cluster).last_decision() == LoggedDecision(decision, is_done=True)


def test_writers_share_a_topic(cluster: TransactionalCluster) -> None:
    first, second = (decided(log_of(cluster, prefix), 7) for prefix in ("p", "q"))
    log_of(cluster, "q").note_done(second)
    assert log_of(cluster, "p").last_decision() == LoggedDecision(first, is_done=False)
    assert log_of(cluster, "q").last_decision() == LoggedDecision(second, is_done=True)
    assert log_of(cluster, "decided p").last_decision() is None


def test_a_replaced_driver_decides_nothing(cluster: TransactionalCluster) -> None:
    log = log_of(cluster)
    old = log.claim()
    decision = decided(log, 1)
    with pytest.raises(TransactionFencedError):
        log.decide(replace(decision, claim=old))
    assert log.last_decision() == LoggedDecision(decision, is_done=False)


def test_a_late_note_about_an_older_decision_is_harmless(cluster: TransactionalCluster) -> None:
    log = log_of(cluster)
    older, newer = decided(log, 1), decided(log, 2)
    log.note_done(newer)
    log.note_done(older)
    # The newer one is carried out again, which changes nothing.
    assert log.last_decision() == LoggedDecision(newer, is_done=False)


def test_a_read_waits_for_open_transactions_of_other_writers(cluster: TransactionalCluster) -> None:
    quick = {"default_api_timeout_ms": "300", "request_timeout_ms": "200"}
    log = log_of(cluster, **quick)
    client = shared_cluster(config_of(cluster))
    soon = Deadline.after(5_000)
    other = begin(client, "other", soon)
    producer = Producer(client, other)
    producer.add(LOG_PARTITION, batch_of(b"x"))
    producer.flush()
    decision = decided(log, 1)
    with pytest.raises(KafkaTimeoutError):
        log.last_decision()
    end(client, other, committed=False, deadline=soon)
    assert log.last_decision() == LoggedDecision(decision, is_done=False)


def test_records_of_others_are_an_error(cluster: TransactionalCluster) -> None:
    log = log_of(cluster)
    log._write(Producer(shared_cluster(config_of(cluster))), b"decided p", b"garbage")
    with pytest.raises(CommitLogError, match="'p' in decisions-0 is no decision of pykafka's"):
        log.last_decision()
