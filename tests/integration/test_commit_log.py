"""The commit log on real brokers: its topic, and decisions of many tasks."""

from __future__ import annotations

import pytest

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.metadata import request_metadata
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.write import Identity
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from kafka_spark_source.testing.processes import waiting
from kafka_spark_source.writing.commit_log import CommitLog
from kafka_spark_source.writing.decision_format import (
    CommitLogError,
    Decision,
    MicroBatch,
    TaskWrite,
)
from tests.integration.clients import connected, soon

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("workers_end")]


def log_of(kafka: KafkaCluster, topic: str, prefix: str = "p", replicas: int = 0) -> CommitLog:
    config = ClientConfig.from_options(kafka.client_options)
    return CommitLog(config, Identity(prefix, topic, replicas or None))


def replicas_of(kafka: KafkaCluster, topic: str) -> int:
    """The number of replicas, as soon as the broker at hand knows the topic."""
    replicas: list[int] = []

    def is_known() -> bool:
        response = client.with_any_broker(
            lambda broker, setup: request_metadata(broker, [topic], setup), soon()
        )
        replicas.extend(len(each.replica_nodes) for each in response.topics[0].partitions)
        return bool(replicas)

    with connected(kafka.client_options) as client:
        assert waiting.Deadline(30).wait_for(is_known)
    return replicas[0]


@pytest.mark.slow
@pytest.mark.parametrize(("wanted", "made"), [(0, 3), (2, 2)], ids=["default", "given"])
def test_the_replicas_of_a_new_topic(three_brokers: KafkaCluster, wanted: int, made: int) -> None:
    topic = f"decisions-{made}"
    assert log_of(three_brokers, topic, replicas=wanted).last_decision() is None
    assert replicas_of(three_brokers, topic) == made


def test_one_broker_has_one_replica_without_a_warning(
    kafka_cluster: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        log_of(kafka_cluster, "decisions-alone").last_decision()
    assert replicas_of(kafka_cluster, "decisions-alone") == 1
    assert "replica" not in caplog.text


def test_a_topic_for_small_messages_is_refused(kafka_cluster: KafkaCluster) -> None:
    configs = {"cleanup.policy": "compact", "max.message.bytes": "100000"}
    with connected(kafka_cluster.client_options) as client:
        create_topic(client, NewTopic("small", configs=configs), soon())
    with pytest.raises(CommitLogError, match=r"max\.message\.bytes=100000, too little"):
        log_of(kafka_cluster, "small").last_decision()


@pytest.mark.slow
@pytest.mark.parametrize("release", [None, "1.1.1"])
def test_a_decision_of_100_000_tasks(
    kafka_cluster_factory: ClusterFactory, kafka_cluster: KafkaCluster, release: str | None
) -> None:
    kafka = kafka_cluster_factory(release) if release else kafka_cluster
    log = log_of(kafka, "decisions-of-many")
    assert log.last_decision() is None
    claim = log.take_over()
    writes = tuple(
        TaskWrite(
            task,
            1_000,
            claim._replace(transactional_id=f"a-usual-prefix-{task}-0", producer_id=task),
            TopicPartition("a-topic-of-usual-length", task % 100),
            10**9 + 7_919 * task,
        )
        for task in range(100_000)
    )
    decision = Decision(claim, MicroBatch("q", 1), writes)
    log.decide(decision)
    log.take_over()  # the markers of the decision are written then
    logged = log.last_decision()
    assert logged is not None
    assert logged.tasks == len(writes)
    assert not logged.is_done
    assert log.read(logged) == decision
    log.note_done(decision)
    logged = log.last_decision()
    assert logged is not None
    assert logged.is_done
