"""The bounds of a log whose topic may be deleted or re-created."""

from __future__ import annotations

import pytest

from kafka_protocol.client.consumer.errors import TopicGoneError
from kafka_protocol.client.consumer.log_bounds import list_log_bounds_of_topic
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import LogBounds, TopicPartition
from tests.fakes.reading import PARTITION, one_partition
from tests.fakes.skipping_time import sleeps_take_no_time


def test_the_bounds_are_current() -> None:
    with one_partition((b"a", b"b"), (b"c",)) as (cluster, client):
        assert list_log_bounds_of_topic(client, PARTITION, None) == LogBounds(0, 3)
        cluster.log(PARTITION).delete_before(2)
        cluster.append(PARTITION, b"d")
        assert list_log_bounds_of_topic(
            client, PARTITION, cluster.topics["t"].topic_id
        ) == LogBounds(2, 4)


def test_fault_22_a_broker_that_does_not_know_the_topic_yet() -> None:
    with one_partition((b"a",)) as (cluster, client):
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        cluster.add_fault(MetadataRequest, error=unknown, count=3)
        assert list_log_bounds_of_topic(client, PARTITION, None) == LogBounds(0, 1)


def test_fault_23_a_deleted_partition() -> None:
    with one_partition((b"a",), topic_propagation_max_ms=200) as (_, client):
        unknown = "t-7 is unknown to the brokers for 200 ms"
        with pytest.raises(TopicGoneError, match=unknown), sleeps_take_no_time():
            list_log_bounds_of_topic(client, TopicPartition("t", 7), None)


def test_fault_24_a_re_created_empty_topic_is_detected() -> None:
    with one_partition((b"a",)) as (cluster, client):
        planned_id = cluster.topics["t"].topic_id
        assert list_log_bounds_of_topic(client, PARTITION, planned_id) == LogBounds(0, 1)
        cluster.add_topic("t")
        with pytest.raises(TopicGoneError, match="re-created"), sleeps_take_no_time():
            list_log_bounds_of_topic(client, PARTITION, planned_id)


def test_fault_26_an_authorization_error_is_raised_at_once() -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.add_fault(ListOffsetsRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, count=1)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            list_log_bounds_of_topic(client, PARTITION, None)
