"""Data that is lost between plan and read, on a real broker: topics, records, transactions.

The numbers are those of the list of faults.
"""

from __future__ import annotations

import json
import logging
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer as Librdkafka

from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import DataLossError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.waiting import Deadline
from tests.fakes.batch_reading import Rows, Task, plan
from tests.fakes.reading import write
from tests.integration.clients import SOON_MS, soon
from tests.integration.conftest import MakeTopic
from tests.integration.topics import delete_records, fill

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("workers_end")]

# How long a topic may be unknown before it counts as deleted.
GONE_SOON = {"kafka_topic_metadata_propagation_max_ms": 500}
LOSSES = pytest.mark.parametrize("fail_on_data_loss", [True, False], ids=["fail", "go on"])


class Plan(NamedTuple):
    """A topic, and a driver that plans reads of it."""

    servers: str
    cluster: Cluster
    topic: str

    def tasks(self, start: int | None = None, **options: Any) -> list[Task]:
        if start is not None:
            options["startingOffsets"] = json.dumps({self.topic: {"0": start}})
        return plan([self.servers], subscribe=self.topic, **options)

    def fill(self, count: int, name: str = "") -> Rows:
        return fill(self.cluster, self.topic, count, name)

    def delete_topic(self) -> None:
        delete_topic(self.cluster, self.topic, soon())


@pytest.fixture
def planned(kafka_cluster: KafkaCluster, cluster: Cluster, make_topic: MakeTopic) -> Plan:
    return Plan(kafka_cluster.bootstrap_servers, cluster, make_topic())


# --- Deleted topics ------------------------------------------------------------------------------


@LOSSES
def test_fault_23_a_topic_is_deleted_between_plan_and_read(
    planned: Plan, caplog: pytest.LogCaptureFixture, fail_on_data_loss: bool
) -> None:
    topic = planned.topic
    planned.fill(3)
    options = GONE_SOON | {"kafka_default_api_timeout_ms": 2_000}
    (task,) = planned.tasks(failOnDataLoss=fail_on_data_loss, **options)
    planned.delete_topic()
    if fail_on_data_loss:
        with pytest.raises(DataLossError, match=rf"PARTITIONS_DELETED.*{topic}-0 .*offset 0"):
            task.rows()
    else:
        with caplog.at_level(logging.WARNING):
            assert task.rows() == []
        assert f"{topic}-0 is unknown to " in caplog.text


@LOSSES
def test_fault_24_a_topic_is_recreated_between_plan_and_read(
    planned: Plan, caplog: pytest.LogCaptureFixture, fail_on_data_loss: bool
) -> None:
    """Found at once by the topic id: the propagation time-out of 30 s does not pass."""
    topic = planned.topic
    planned.fill(3)
    (task,) = planned.tasks(
        failOnDataLoss=fail_on_data_loss, kafka_topic_metadata_propagation_max_ms=30_000
    )
    planned.delete_topic()
    create_topic(planned.cluster, NewTopic(topic), soon())
    planned.fill(5, "other ")
    if fail_on_data_loss:
        with pytest.raises(DataLossError, match=rf"PARTITIONS_DELETED.*{topic}-0.*re-created"):
            task.rows()
    else:
        with caplog.at_level(logging.WARNING):
            assert task.rows() == []
        assert "re-created" in caplog.text


# --- Deleted records -----------------------------------------------------------------------------


@pytest.mark.parametrize("before", [4, 6, 12], ids=["in a batch", "between two", "at the end"])
@LOSSES
def test_fault_27_records_expire_between_plan_and_read(
    planned: Plan, caplog: pytest.LogCaptureFixture, before: int, fail_on_data_loss: bool
) -> None:
    topic = planned.topic
    values = [b"%d" % number for number in range(12)]
    for first in range(0, 12, 3):
        write(planned.cluster, *values[first : first + 3], topic_partition=TopicPartition(topic, 0))
    (fixed,) = planned.tasks(0, failOnDataLoss=fail_on_data_loss)
    (late,) = planned.tasks(failOnDataLoss=fail_on_data_loss)
    delete_records(planned.cluster, topic, before)
    rest = [*enumerate(values)][before:]
    if fail_on_data_loss:
        lost = rf"COULD_NOT_READ_OFFSET_RANGE.*\[0, 12\).*{topic}-0: .*\[{before}, 12\)"
        with pytest.raises(DataLossError, match=lost):
            fixed.rows()
        with pytest.raises(DataLossError, match=lost):
            planned.tasks(0)
    else:
        with caplog.at_level(logging.WARNING):
            assert fixed.rows() == rest
        assert f"the log holds [{before}, 12). Going on without them" in caplog.text
    # A read from the earliest offset lost nothing.
    assert late.rows() == rest


def test_fault_27_records_expire_under_a_task(
    planned: Plan, caplog: pytest.LogCaptureFixture
) -> None:
    """The read goes on at the new log start offset, and reads no record twice."""
    topic = planned.topic
    rows = planned.fill(12)
    (task,) = planned.tasks(failOnDataLoss=False, kafka_max_partition_fetch_bytes=1)
    batches = task.batches()
    found = next(batches)
    delete_records(planned.cluster, topic, 8)
    with caplog.at_level(logging.WARNING):
        for batch in batches:
            found += batch
    read_before = len(found) - 4
    assert read_before in (1, 2)  # one Fetch was in flight
    assert found == rows[:read_before] + rows[8:]
    assert f"[{read_before}, 12)" in caplog.text


# --- Transactions ------------------------------------------------------------------------


def test_fault_36_a_read_ends_before_an_open_transaction(planned: Plan) -> None:
    """It does not wait for the transaction, and reads no record after its first one."""
    topic = planned.topic
    rows = planned.fill(3)
    options = {"bootstrap.servers": planned.servers}
    producer = Librdkafka({**options, "transactional.id": f"open-{topic}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"3")
    assert producer.flush(30) == 0
    write(planned.cluster, b"4", topic_partition=TopicPartition(topic, 0))
    committed: dict[str, Any] = {"kafka_isolation_level": "read_committed"}
    (task,) = planned.tasks(**committed)
    assert task.rows() == rows
    (everything,) = planned.tasks()
    assert everything.rows() == [*rows, (3, b"3"), (4, b"4")]
    beyond = {"endingOffsets": json.dumps({topic: {"0": 5}})}
    with pytest.raises(DataLossError, match=rf"{topic}-0: the log holds \[0, 3\)"):
        planned.tasks(0, **committed, **beyond)
    (cut,) = planned.tasks(0, **committed, **beyond, failOnDataLoss=False)
    assert cut.rows() == rows
    producer.abort_transaction(30)
    # The task finds the end of the log; the broker writes the marker after its response.
    assert Deadline(SOON_MS / 1_000).wait_for(lambda: task.rows() == [*rows, (4, b"4")])
