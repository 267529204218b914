"""How far the brokers' clock is from ours. Only a KRaft controller sends its time (KIP-836)."""

from __future__ import annotations

from typing import Final

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import BrokerError
from kafka_protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse

_TOPIC: Final = "__cluster_metadata"
_UNKNOWN: Final = -1


def clock_difference_ms(cluster: Cluster, deadline: Deadline) -> int | None:
    """The active controller's time minus the time here, in ms; exact to some 100 ms.

    The controller's own state in DescribeQuorum has the time of its response. None if it lacks a
    time (version 0, Kafka 3.1 and 3.2).

    Raises:
        UnsupportedVersionError: The brokers have ZooKeeper, or are older than 3.1.
        BrokerError: DESCRIBE on the cluster is lacking.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """

    def request(broker: Broker, setup: Deadline) -> tuple[DescribeQuorumResponse, float]:
        Topic = DescribeQuorumRequest.TopicData
        log = Topic(topic_name=_TOPIC, partitions=[Topic.PartitionData(partition_index=0)])
        before_ms = now_ms()
        response = broker.request(
            DescribeQuorumRequest(topics=[log]), DescribeQuorumResponse, setup
        )
        return response, (before_ms + now_ms()) / 2

    response, here_ms = cluster.with_any_broker(request, deadline)
    for code in (response.error_code, *(each.error_code for each in _partitions(response))):
        if code:
            raise BrokerError(code, "DescribeQuorum")
    for log in _partitions(response):
        for voter in log.current_voters:
            if voter.replica_id == log.leader_id and voter.last_caught_up_timestamp != _UNKNOWN:
                return round(voter.last_caught_up_timestamp - here_ms)
    return None


def _partitions(
    response: DescribeQuorumResponse,
) -> list[DescribeQuorumResponse.TopicData.PartitionData]:
    return [partition for topic in response.topics for partition in topic.partitions]
