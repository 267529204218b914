"""The commit log: decisions are found again, apart from those of other prefixes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import close_shared_clusters, shared_cluster
from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import Transaction, TransactionFencedError, begin
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.records.record import decode_records
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.write import Identity
from kafka_spark_source.writing import commit_log_topic
from kafka_spark_source.writing.commit_log import CommitLog
from kafka_spark_source.writing.decision_format import (
    CommitLogError,
    Decision,
    MicroBatch,
    TaskWrite,
)
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import batch_of

LOG = "decisions"
LOG_PARTITION = TopicPartition(LOG, 0)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.add_topic(LOG, config={"cleanup.policy": "compact"})
        yield cluster
        close_shared_clusters()


def config_of(cluster: FakeCluster, **options: str) -> ClientConfig:
    servers = ",".join(map(str, cluster.bootstrap_servers))
    named = {name.replace("_", "."): value for name, value in options.items()}
    return ClientConfig.from_options({"bootstrap.servers": servers} | named)


def log_of(cluster: FakeCluster, prefix: str = "p", **options: str) -> CommitLog:
    return CommitLog(config_of(cluster, **options), Identity(prefix, LOG))


def decided(log: CommitLog, number: int, tasks: int = 1) -> Decision:
    writes = tuple(TaskWrite(task, number) for task in range(tasks))
    decision = Decision(log.take_over(), MicroBatch("q", number), writes)
    log.decide(decision)
    return decision


def last(log: CommitLog) -> tuple[Decision, bool]:
    """The whole of the last decision, and whether it is done."""
    logged = log.last_decision()
    assert logged is not None
    return log.read(logged), logged.is_done


def offsets_read(cluster: FakeCluster) -> int:
    """From how far behind the end the log was read, by Fetch requests so far."""
    asked = cluster.asked(FetchRequest)
    first: int = min(
        partition.fetch_offset
        for _, request, _ in asked
        for topic in request.topics
        for partition in topic.partitions
    )
    for node in cluster.nodes.values():
        node.broker.requests.clear()
    return cluster.log(LOG_PARTITION).end_offset - first


def test_the_last_decision_and_whether_it_is_done(cluster: FakeCluster) -> None:
    log = log_of(cluster)
    assert log.last_decision() is None
    for number in range(3):
        decision = decided(log, number)
        assert last(log) == (decision, False)
        log.note_done(decision)
        assert last(log_of(cluster)) == (decision, True)


def test_writers_share_a_topic(cluster: FakeCluster) -> None:
    first, second = (decided(log_of(cluster, prefix), 7) for prefix in ("p", "q"))
    log_of(cluster, "q").note_done(second)
    assert last(log_of(cluster, "p")) == (first, False)
    assert last(log_of(cluster, "q")) == (second, True)
    assert log_of(cluster, "decided p").last_decision() is None


def test_a_replaced_driver_decides_nothing(cluster: FakeCluster) -> None:
    log = log_of(cluster)
    old = log.take_over()
    decision = decided(log, 1)
    with pytest.raises(TransactionFencedError):
        log.decide(replace(decision, driver_transaction=old))
    assert last(log) == (decision, False)


def test_a_late_note_about_an_older_decision_is_harmless(cluster: FakeCluster) -> None:
    log = log_of(cluster)
    older, newer = decided(log, 1), decided(log, 2)
    log.note_done(newer)
    log.note_done(older)
    # The newer one is carried out again, which changes nothing.
    assert last(log) == (newer, False)


def test_a_decision_of_many_tasks_is_found_whole(cluster: FakeCluster) -> None:
    small, large = log_of(cluster, "p"), log_of(cluster, "q")
    decided(small, 1)
    decision = decided(large, 2, tasks=60_000)
    decided(small, 3)
    logged = large.last_decision()
    assert logged is not None
    assert logged.tasks == 60_000
    assert logged.first_offset < logged.last_offset
    assert last(large) == (decision, False)


# --- Transactions in the log ---------------------------------------------------------------------


@contextmanager
def open_transaction(cluster: FakeCluster, key: bytes = b"x") -> Iterator[Transaction]:
    """Another writer of the log whose transaction is open."""
    client = shared_cluster(config_of(cluster))
    other = begin(client, "other", Deadline.after(5_000))
    log_of(cluster)._write(Producer(client, other), key, b"x")
    yield other


def test_a_claim_does_not_wait_for_other_prefixes(cluster: FakeCluster) -> None:
    """A driver died between its decision and the commit of it."""
    log = log_of(cluster)
    with open_transaction(cluster):
        decision = decided(log, 1)
        assert last(log) == (decision, False)
        for number in range(60):
            log.note_done(decided(log, number))
    assert last(log)[1]


def test_an_open_decision_of_the_own_prefix_is_an_error(cluster: FakeCluster) -> None:
    log = log_of(cluster)
    with (
        open_transaction(cluster, key=b"decided p"),
        pytest.raises(CommitLogError, match="'p' in decisions-0 is in an open transaction"),
    ):
        log.last_decision()


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "aborted"])
def test_a_decision_behind_an_open_transaction(cluster: FakeCluster, committed: bool) -> None:
    """A snapshot is written meanwhile, and leaves the open transaction to be folded again."""
    late = log_of(cluster, "late")
    claim = late.take_over()
    producer = Producer(late._cluster, claim)
    decision = Decision(claim, MicroBatch("q", 1), (TaskWrite(0, 1),))
    late._write(producer, b"decided late", decision.to_json()[0])
    log = log_of(cluster)
    for number in range(60):
        log.note_done(decided(log, number))
    assert last(log)[1]
    assert snapshots_in(cluster) == 1
    end(late._cluster, claim, Deadline.after(5_000), committed=committed)
    found = late.last_decision()
    assert (found is not None) == committed
    if found:
        assert late.read(found) == decision


# --- Snapshots -----------------------------------------------------------------------------------


def snapshots_in(cluster: FakeCluster) -> int:
    batches = cluster.log(LOG_PARTITION).batches
    return sum(each.key == b"snapshot" for batch in batches for each in decode_records(batch))


@pytest.mark.slow
@pytest.mark.no_cover
def test_a_claim_reads_little_of_a_long_log(cluster: FakeCluster) -> None:
    logs = [log_of(cluster, f"query-{number}") for number in range(10)]
    retired = decided(log_of(cluster, "retired"), 1)
    log_of(cluster, "retired").note_done(retired)
    read = []
    for number in range(20):
        for log in logs:
            log.take_over()
            log.last_decision()
            read.append(offsets_read(cluster))
            log.note_done(decided(log, number))
    assert cluster.log(LOG_PARTITION).end_offset > 600
    assert max(read) < 400
    assert last(log_of(cluster, "retired")) == (retired, True)
    assert offsets_read(cluster) > 600  # to read a decision whole, its records are read
    assert log_of(cluster, "new").last_decision() is None
    assert offsets_read(cluster) < 400


def test_a_long_log_without_a_snapshot_is_read_whole_once(cluster: FakeCluster) -> None:
    decision = decided(log_of(cluster), 1)
    log = cluster.log(LOG_PARTITION)
    for _ in range(60):
        log.append(batch_of(*[b"x"] * 100))
    assert last(log_of(cluster)) == (decision, False)
    assert offsets_read(cluster) > 6_000
    assert log_of(cluster).last_decision() is not None
    assert offsets_read(cluster) < 400


def test_a_snapshot_that_cannot_be_written_changes_nothing(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    log = log_of(cluster)
    log._write(Producer(shared_cluster(config_of(cluster))), b"decided q", b"garbage")
    for number in range(60):
        decision = decided(log, number)
        log.note_done(decision)
    with caplog.at_level(logging.INFO):
        assert last(log) == (decision, True)
    assert "Cannot write a snapshot of the commit log decisions-0" in caplog.text


def test_a_retired_prefix_is_forgotten_with_the_next_snapshot(
    cluster: FakeCluster,
) -> None:
    retired, undecided = log_of(cluster, "retired"), log_of(cluster, "undecided")
    retired.note_done(decided(retired, 1))
    decided(undecided, 1)
    log = CommitLog(config_of(cluster), Identity("p", LOG, retention_ms=0))
    for number in range(60):
        log.note_done(decided(log, number))
    log.last_decision()
    assert retired.last_decision() is None
    assert undecided.last_decision() is not None


def test_records_of_others_are_an_error(cluster: FakeCluster) -> None:
    log = log_of(cluster)
    log._write(Producer(shared_cluster(config_of(cluster))), b"decided p", b"garbage")
    with pytest.raises(CommitLogError, match="'p' in decisions-0 is not a decision of pykafka"):
        log.last_decision()


def test_a_decision_that_is_gone_is_an_error(cluster: FakeCluster) -> None:
    log = log_of(cluster)
    decided(log, 1)
    logged = log.last_decision()
    assert logged is not None
    with pytest.raises(CommitLogError, match=r"should be at offset 1, and is not there"):
        log.read(logged._replace(last_offset=1))


@pytest.mark.parametrize(("nodes", "wanted", "made"), [(1, None, 1), (4, None, 3), (3, 2, 2)])
def test_the_replicas_of_a_new_topic(
    nodes: int, wanted: int | None, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    created: list[NewTopic] = []
    monkeypatch.setattr(commit_log_topic, "create_topic", lambda _, new, __: created.append(new))
    with FakeCluster(nodes) as cluster:
        client = shared_cluster(config_of(cluster))
        commit_log_topic.ensure_topic(client, Identity("p", LOG, wanted), Deadline.after(10_000))
        close_shared_clusters()
    assert [(new.partitions, new.replication_factor) for new in created] == [(1, made)]


@pytest.mark.parametrize("nodes", [1, 3])
def test_one_replica_among_several_brokers_is_a_warning(
    nodes: int, caplog: pytest.LogCaptureFixture
) -> None:
    with FakeCluster(nodes) as cluster:
        cluster.add_topic(LOG, replicas=1, config={"cleanup.policy": "compact"})
        for _ in range(2):
            log_of(cluster).last_decision()
        close_shared_clusters()
    assert caplog.text.count(f"has one replica on a cluster of {nodes} brokers") == (nodes > 1)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"cleanup.policy": "delete"}, "brokers would delete them, since it has .*policy=delete"),
        (
            {"cleanup.policy": "compact", "max.message.bytes": "1000"},
            "max.message.bytes=1000, too little for a decision",
        ),
    ],
    ids=["not compacted", "small messages"],
)
def test_a_topic_that_cannot_keep_decisions_is_an_error(
    config: dict[str, str], reason: str
) -> None:
    with FakeCluster() as cluster:
        cluster.add_topic(LOG, config=config)
        with pytest.raises(CommitLogError, match=reason):
            log_of(cluster).last_decision()
        close_shared_clusters()


def test_a_configuration_that_is_not_told_is_a_warning(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.add_fault(DescribeConfigsRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert log_of(cluster).last_decision() is None
    assert "its configuration is not known: DescribeConfigs" in caplog.text
