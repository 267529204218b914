"""Several requests, to one broker or to many, all in flight together.

No retries here, and no knowledge of any API.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Leader, Topic
from kafka_protocol.errors import BrokerError, KafkaError
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Response

K = TypeVar("K")
R = TypeVar("R", bound=Response)


# A broker does not read on while its responses are not read, so more could block each other.
MAX_IN_FLIGHT: Final = 500

Leaders: TypeAlias = dict[TopicPartition, tuple[Leader, Topic]]


def group_by_leader(
    cluster: Cluster, partitions: Iterable[TopicPartition], deadline: Deadline
) -> tuple[dict[int, Leaders], dict[TopicPartition, BrokerError]]:
    """Group partitions by the node ids of their leaders.

    Returns:
        The groups, and the errors of the partitions that do not exist or have no leader.

    Raises:
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    groups: dict[int, Leaders] = defaultdict(dict)
    failures: dict[TopicPartition, BrokerError] = {}
    for topic_partition in partitions:
        try:
            leader, topic = cluster.leader(topic_partition, deadline)
        except BrokerError as error:
            failures[topic_partition] = error
        else:
            groups[leader.node_id][topic_partition] = leader, topic
    return groups, failures


@dataclass(slots=True)
class Exchanged(Generic[K, R]):
    """The results of several requests, each under the caller's key for it.

    Responses are in the order of the requests, each with the broker that sent it; each request that
    could not be sent, or that has no valid response, has an error.
    """

    responses: dict[K, tuple[Broker, R]] = field(default_factory=dict)
    unsent: dict[K, KafkaError] = field(default_factory=dict)
    unanswered: dict[K, KafkaError] = field(default_factory=dict)


def exchange(
    keys: Iterable[K], send: Callable[[K], SentRequest], kind: type[R], deadline: Deadline
) -> Exchanged[K, R]:
    """Send a request for each key, and receive all responses. An error stops no other request."""
    exchanged: Exchanged[K, R] = Exchanged()
    in_flight: deque[tuple[K, SentRequest]] = deque()

    def receive_first() -> None:
        key, sent = in_flight.popleft()
        try:
            response = sent.broker.receive(sent, kind, deadline)
        except KafkaError as error:
            exchanged.unanswered[key] = error
        else:
            exchanged.responses[key] = sent.broker, response

    for key in keys:
        if len(in_flight) >= MAX_IN_FLIGHT:
            receive_first()
        try:
            in_flight.append((key, send(key)))
        except KafkaError as error:
            exchanged.unsent[key] = error
    while in_flight:
        receive_first()
    return exchanged
