"""Whether a leader that answered is still the leader, by the metadata of other brokers.

A broker that stood still for longer than its lease is replaced. When it goes on, it answers for a
moment as the leader that it was, with the end of the log of that time, and its epoch is the one
that the client knows: nothing in its response is wrong. Other brokers know the new leader by then.
And an end that is lower than an earlier one is a reason to ask again.
"""

from __future__ import annotations

import uuid
from typing import Final

from kafka_protocol.client.broker.broker import SentRequest
from kafka_protocol.client.clock import Deadline, shuffle
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.exchange import Leaders, exchange
from kafka_protocol.client.cluster.metadata import Topic, has_topic_id, metadata_request
from kafka_protocol.errors import BrokerConnectionError
from kafka_protocol.messages.metadata import MetadataResponse
from kafka_protocol.topic_partition import TopicPartition

# How many brokers are asked.
_ASKED: Final = 3
# A broker that does not answer in this time is ignored: a plan must not wait for it.
_ANSWER_MS: Final = 1_000
_NO_EPOCH: Final = -1


def superseded(cluster: Cluster, answered: Leaders, deadline: Deadline) -> set[TopicPartition]:
    """The partitions of which a broker knows a newer leader than the one that answered.

    The cluster's metadata has the newer leaders afterwards. Empty where brokers are below 2.1,
    which send no leader epochs, and for a single broker. A broker whose next response is another
    caller's is not asked.
    """
    with_epoch = {tp: led for tp, led in answered.items() if led[0].epoch > _NO_EPOCH}
    nodes = sorted(cluster.node_ids)
    if not with_epoch or len(nodes) < 2:
        return set()
    shuffle(nodes)
    names = {tp.topic for tp in with_epoch}
    limit = deadline.capped_at(_ANSWER_MS)

    def send(node_id: int) -> SentRequest:
        broker = cluster.broker(node_id, limit)
        if broker.in_flight:
            raise BrokerConnectionError(f"{broker} has responses to come")
        return broker.send(metadata_request(broker, names), limit)

    told = exchange(nodes[:_ASKED], send, MetadataResponse, limit)  # point: paused-leader
    newer: set[TopicPartition] = set()
    for _, response in told.responses.values():
        topics = cluster.learn(response)
        newer |= {
            tp
            for tp, (leader, topic) in with_epoch.items()
            if _epoch_told(topics.get(tp.topic), topic, tp.partition) > leader.epoch
        }
    return newer


def _epoch_told(told: Topic | None, answered: Topic, partition: int) -> int:
    """The leader epoch in a response, if it is about the same topic."""
    if told is None or told.topic_id != answered.topic_id:
        return _NO_EPOCH
    leader = told.partitions.get(partition)
    return _NO_EPOCH if leader is None else leader.epoch


class ToldEnds:
    """The last end of each log that brokers sent to this process; of the newest partitions.

    Only where topics have ids, since another topic of the same name begins again.

    Args:
        max_partitions: How many.
    """

    def __init__(self, max_partitions: int = 20_000) -> None:
        self._max_partitions = max_partitions
        self._ends: dict[tuple[uuid.UUID, int, str], int] = {}

    def __repr__(self) -> str:
        return f"<ToldEnds of {len(self._ends)} partitions>"

    def is_lower(self, topic: Topic, partition: int, isolation_level: str, end: int) -> bool:
        """Whether an end is lower than the last one; it becomes the last one.

        Threads may call this at the same time: at worst one asks once more, or once less.
        """
        if not has_topic_id(topic):
            return False
        key = topic.topic_id, partition, isolation_level
        before = self._ends.pop(key, end)
        self._ends[key] = end
        if len(self._ends) > self._max_partitions:
            self._ends.pop(next(iter(self._ends)), None)
        return end < before


_of_this_process = ToldEnds()


def is_lower_than_before(topic: Topic, partition: int, isolation_level: str, end: int) -> bool:
    """Whether the last end that brokers sent to this process is higher; see `ToldEnds.is_lower`."""
    return _of_this_process.is_lower(topic, partition, isolation_level, end)
