"""Data that is gone under a batch read, on a real broker: topics, records, what is not committed.

Planned before it goes, and read after. The numbers are those of the list of faults.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer as Librdkafka

from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.errors import DataLossError
from kafka_protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.fakes.batch_reading import Task, plan
from tests.fakes.reading import write
from tests.integration.conftest import SOON_MS, MakeTopic
from tests.integration.test_read_faults import fill, soon

pytestmark = pytest.mark.integration

# How long a topic may be unknown before it counts as deleted.
GONE_SOON = {"kafka_topic_metadata_propagation_max_ms": 500}
# An offset for each end that is not bound late, and none.
STARTS = pytest.mark.parametrize("start", [0, None], ids=["fixed", "earliest"])
LOSSES = pytest.mark.parametrize("fail_on_data_loss", [True, False], ids=["fail", "go on"])


@pytest.fixture(autouse=True)
def _workers_end() -> Iterator[None]:
    yield
    close_shared_clusters()


Planned = Callable[..., list[Task]]


@pytest.fixture
def planned(kafka_cluster: KafkaCluster) -> Planned:
    """`planned(topic, **options)`: what the driver makes of a read."""

    def make(topic: str, start: int | None = None, **options: object) -> list[Task]:
        if start is not None:
            options["startingOffsets"] = json.dumps({topic: {"0": start}})
        return plan([kafka_cluster.bootstrap_servers], subscribe=topic, **options)

    return make


# --- Topics that are gone ------------------------------------------------------------------------


@STARTS
@LOSSES
def test_fault_23_a_topic_that_is_deleted_between_plan_and_read(
    cluster: Cluster,
    make_topic: MakeTopic,
    planned: Planned,
    caplog: pytest.LogCaptureFixture,
    start: int | None,
    fail_on_data_loss: bool,
) -> None:
    topic = make_topic()
    fill(cluster, topic, 3)
    options = GONE_SOON | {"kafka_default_api_timeout_ms": 2_000}
    (task,) = planned(topic, start, failOnDataLoss=fail_on_data_loss, **options)
    delete_topic(cluster, topic, soon())
    if fail_on_data_loss:
        with pytest.raises(DataLossError, match=rf"PARTITIONS_DELETED.*{topic}-0 .*offset 0"):
            task.rows()
    else:
        with caplog.at_level(logging.WARNING):
            assert task.rows() == []
        assert f"{topic}-0 is unknown to the brokers" in caplog.text


@LOSSES
def test_fault_23_a_topic_that_is_deleted_under_a_task(
    cluster: Cluster,
    make_topic: MakeTopic,
    planned: Planned,
    caplog: pytest.LogCaptureFixture,
    fail_on_data_loss: bool,
) -> None:
    """The rows that there were stay rows of the read."""
    topic = make_topic()
    rows = fill(cluster, topic, 6)
    options = GONE_SOON | {"kafka_max_partition_fetch_bytes": 1}
    (task,) = planned(topic, failOnDataLoss=fail_on_data_loss, **options)
    batches = task.batches()
    found = next(batches)
    delete_topic(cluster, topic, soon())
    with caplog.at_level(logging.WARNING):
        if fail_on_data_loss:
            with pytest.raises(DataLossError, match=rf"PARTITIONS_DELETED.*{topic}-0"):
                for batch in batches:
                    found += batch
        else:
            for batch in batches:
                found += batch
            assert f"{topic}-0 is unknown to the brokers" in caplog.text
    # One answer may have been on its way.
    assert found == rows[: len(found)]
    assert len(found) < len(rows)


@STARTS
@LOSSES
@pytest.mark.parametrize("count", [0, 2, 3, 5])
def test_fault_24_a_topic_that_is_created_anew_between_plan_and_read(
    cluster: Cluster,
    make_topic: MakeTopic,
    planned: Planned,
    caplog: pytest.LogCaptureFixture,
    count: int,
    start: int | None,
    fail_on_data_loss: bool,
) -> None:
    """At once, by its id: word of a topic has its default of half a minute here."""
    topic = make_topic()
    fill(cluster, topic, 3)
    (task,) = planned(
        topic,
        start,
        failOnDataLoss=fail_on_data_loss,
        kafka_topic_metadata_propagation_max_ms=30_000,
    )
    delete_topic(cluster, topic, soon())
    create_topic(cluster, NewTopic(topic), soon())
    fill(cluster, topic, count, "other ")
    if fail_on_data_loss:
        with pytest.raises(DataLossError, match=rf"PARTITIONS_DELETED.*{topic}-0.*re-created"):
            task.rows()
    else:
        with caplog.at_level(logging.WARNING):
            assert task.rows() == []
        assert "re-created" in caplog.text


# --- Records that are gone -----------------------------------------------------------------------


def delete_records(cluster: Cluster, topic: str, before: int) -> None:
    """What retention does, at once."""
    Topic = DeleteRecordsRequest.DeleteRecordsTopic
    partition = Topic.DeleteRecordsPartition(partition_index=0, offset=before)
    request = DeleteRecordsRequest(
        topics=[Topic(name=topic, partitions=[partition])], timeout_ms=SOON_MS
    )
    leader, _ = cluster.leader(TopicPartition(topic, 0), soon())
    answer = cluster.broker(leader.node_id, soon()).request(request, DeleteRecordsResponse, soon())
    (done,) = answer.topics[0].partitions
    assert (done.error_code, done.low_watermark) == (0, before)


# In the middle of a batch, between two, and at the end of the log.
@pytest.mark.parametrize("before", [4, 6, 12])
@LOSSES
def test_fault_27_records_that_age_out_between_plan_and_read(
    cluster: Cluster,
    make_topic: MakeTopic,
    planned: Planned,
    caplog: pytest.LogCaptureFixture,
    before: int,
    fail_on_data_loss: bool,
) -> None:
    topic = make_topic()
    values = [b"%d" % number for number in range(12)]
    for first in range(0, 12, 3):
        write(cluster, *values[first : first + 3], topic_partition=TopicPartition(topic, 0))
    (fixed,) = planned(topic, 0, failOnDataLoss=fail_on_data_loss)
    (late,) = planned(topic, failOnDataLoss=fail_on_data_loss)
    delete_records(cluster, topic, before)
    rest = [*enumerate(values)][before:]
    if fail_on_data_loss:
        lost = rf"COULD_NOT_READ_OFFSET_RANGE.*\[0, 12\).*{topic}-0: .*\[{before}, 12\)"
        with pytest.raises(DataLossError, match=lost):
            fixed.rows()
        with pytest.raises(DataLossError, match=lost):
            planned(topic, 0)
    else:
        with caplog.at_level(logging.WARNING):
            assert fixed.rows() == rest
        assert f"the log holds [{before}, 12). Going on without them" in caplog.text
    # Who asked for the earliest, whatever it is, lost nothing.
    assert late.rows() == rest


def test_fault_27_records_that_age_out_under_a_task(
    cluster: Cluster, make_topic: MakeTopic, planned: Planned, caplog: pytest.LogCaptureFixture
) -> None:
    """What was read stays, the rest goes on where the log begins now, and nothing comes twice."""
    topic = make_topic()
    rows = fill(cluster, topic, 12)
    (task,) = planned(topic, failOnDataLoss=False, kafka_max_partition_fetch_bytes=1)
    batches = task.batches()
    found = next(batches)
    delete_records(cluster, topic, 8)
    with caplog.at_level(logging.WARNING):
        for batch in batches:
            found += batch
    read_before = len(found) - 4
    assert read_before in (1, 2)  # one answer was on its way
    assert found == rows[:read_before] + rows[8:]
    assert f"[{read_before}, 12)" in caplog.text


# --- Transactions ------------------------------------------------------------------------


def test_fault_36_a_read_ends_where_a_transaction_is_open(
    kafka_cluster: KafkaCluster, cluster: Cluster, make_topic: MakeTopic, planned: Planned
) -> None:
    """It does not wait for its end, and what comes behind it is not read."""
    topic = make_topic()
    rows = fill(cluster, topic, 3)
    options = {"bootstrap.servers": kafka_cluster.bootstrap_servers}
    producer = Librdkafka({**options, "transactional.id": f"open-{topic}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"3")
    assert producer.flush(30) == 0
    write(cluster, b"4", topic_partition=TopicPartition(topic, 0))
    committed = {"kafka_isolation_level": "read_committed"}
    (task,) = planned(topic, **committed)
    assert task.rows() == rows
    (everything,) = planned(topic)
    assert everything.rows() == [*rows, (3, b"3"), (4, b"4")]
    beyond = {"endingOffsets": json.dumps({topic: {"0": 5}})}
    with pytest.raises(DataLossError, match=rf"{topic}-0: the log holds \[0, 3\)"):
        planned(topic, 0, **committed, **beyond)
    (cut,) = planned(topic, 0, **committed, **beyond, failOnDataLoss=False)
    assert cut.rows() == rows
    producer.abort_transaction(30)
    # The end is that of the log when the task runs; the marker is written behind the answer.
    deadline = soon()
    while (found := task.rows()) == rows:
        assert not deadline.has_passed, "the marker never came"
        time.sleep(0.05)
    assert found == [*rows, (4, b"4")]
