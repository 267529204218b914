from __future__ import annotations

import pytest

from kafka_protocol.client.consumer.errors import TopicGoneError
from kafka_protocol.client.consumer.log_bounds import ends_of_log
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.topic_partition import LogBounds, TopicPartition
from tests.fakes import faults
from tests.fakes.reading import PARTITION, one_partition


def test_the_ends_are_those_of_the_log_now() -> None:
    with one_partition((b"a", b"b"), (b"c",)) as (cluster, client):
        assert ends_of_log(client, PARTITION, None) == LogBounds(0, 3)
        cluster.log(PARTITION).delete_before(2)
        cluster.append(PARTITION, b"d")
        assert ends_of_log(client, PARTITION, cluster.topics["t"].topic_id) == LogBounds(2, 4)


def test_the_latest_one_is_the_last_stable_one_under_read_committed() -> None:
    with one_partition((b"a",), (b"b",), isolation_level="read_committed") as (cluster, client):
        cluster.log(PARTITION).first_unstable_offset = 1
        assert ends_of_log(client, PARTITION, None) == LogBounds(0, 1)


def test_fault_22_a_broker_that_does_not_know_the_topic_yet_is_asked_again() -> None:
    def omit(response: MetadataResponse) -> None:
        for topic in response.topics:
            topic.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            topic.partitions = []

    with one_partition((b"a",)) as (cluster, client):
        cluster.spoil(MetadataRequest, faults.only(3, faults.changed(omit)))
        assert ends_of_log(client, PARTITION, None) == LogBounds(0, 1)


def test_fault_23_a_partition_that_is_gone() -> None:
    with one_partition((b"a",), topic_propagation_max_ms=200) as (_, client):
        with pytest.raises(TopicGoneError, match="t-7 is unknown to the brokers for 200 ms"):
            ends_of_log(client, TopicPartition("t", 7), None)


def test_fault_24_another_topic_of_that_name_is_told_even_where_it_is_empty() -> None:
    with one_partition((b"a",)) as (cluster, client):
        planned_id = cluster.topics["t"].topic_id
        assert ends_of_log(client, PARTITION, planned_id) == LogBounds(0, 1)
        cluster.add_topic("t")
        with pytest.raises(TopicGoneError, match="re-created"):
            ends_of_log(client, PARTITION, planned_id)


def test_fault_26_who_may_not_read_is_told_at_once() -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.push_errors(ListOffsetsRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            ends_of_log(client, PARTITION, None)
