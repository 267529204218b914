"""A cluster of scripted brokers: topics, leaders that move, nodes that stop and start.

The state, and how tests change it; `handlers` makes the responses. Every change takes effect at
once, on all brokers.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, TypeVar

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import Address, ClientConfig
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.versions.releases import served_by
from kafka_protocol.wire.schema import Request, VersionRange
from tests.fakes import handlers
from tests.fakes.broker import Close, Handler, ScriptedBroker
from tests.fakes.faults import Fault
from tests.fakes.log import Log, batch_of
from tests.fakes.producers import Producers

_topic_numbers = itertools.count(1_000)

NEWEST = "99"  # every version that we declare


class Partition:
    """A partition with its leader, leader epoch and log.

    Attributes:
        followers: Nodes that may be read instead of the leader, each with its own log.
        preferred: The preferred read replica for requests with a rack (KIP-392); None for none.
        producers: The last batches of each producer.
        max_message_bytes: The largest batch.
    """

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.leader_epoch = 0
        self.log = Log()
        self.followers: dict[int, Log] = {}
        self.preferred: int | None = None
        self.producers = Producers()
        self.max_message_bytes = 1_048_588


class Topic:
    """A name, an id, and partitions by their numbers."""

    def __init__(self, name: str, topic_id: uuid.UUID, partitions: Iterable[Partition]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = dict(enumerate(partitions))


class Node:
    """One broker, running or stopped.

    Attributes:
        versions: API key -> the versions that it serves.
        broker: The broker as it runs, or ran last.
    """

    def __init__(self, release: str, table: dict[type[Request], Handler]) -> None:
        self.broker = ScriptedBroker(table)
        self.is_up = False
        self.release = release

    @property
    def release(self) -> str:
        return self._release

    @release.setter
    def release(self, release: str) -> None:
        self._release = release
        served = served_by(release)
        declared = ((cls.api_key, cls.versions) for cls in self.broker.handlers)
        self.versions = {
            api_key: versions.intersection(served[api_key])
            for api_key, versions in declared
            if api_key in served
        }

    def start(self) -> None:
        self.broker.__enter__()
        self.is_up = True

    def stop(self) -> None:
        if self.is_up:
            self.broker.__exit__()
            self.is_up = False


@contextmanager
def cluster_of(*addresses: Address, setup_ms: int = 2_000) -> Iterator[Cluster]:
    """A client with these bootstrap servers, and short waits between tries."""
    cluster = Cluster(
        ClientConfig(
            bootstrap_servers=addresses,
            retry_backoff_ms=1,
            retry_backoff_max_ms=10,
            connection_setup_timeout_ms=setup_ms,
        )
    )
    with closing(cluster):
        yield cluster


T = TypeVar("T", bound="ScriptedCluster")


class ScriptedCluster:
    """Brokers 1 to `nodes`, until the `with` block ends.

    Args:
        nodes: How many.
        release: The release of Kafka with the versions that they serve.
        cluster_id: Its id.

    Attributes:
        advertised: Other addresses than their own, by node, that Metadata tells.
    """

    def __init__(self, nodes: int = 1, release: str = NEWEST, cluster_id: str = "scripted") -> None:
        self.cluster_id = cluster_id
        self.advertised: dict[int, Address] = {}
        self.topics: dict[str, Topic] = {}
        self.names: dict[uuid.UUID, str] = {}
        self.coordinators: dict[str, int] = {}
        self.committed: dict[str, dict[TopicPartition, int]] = {}
        self.producer_ids = 0
        self.nodes = {
            number: Node(release, self._table_of(number)) for number in range(1, nodes + 1)
        }
        self._errors: dict[type[Request], deque[ErrorCode]] = defaultdict(deque)
        self._lock = threading.Lock()

    def __enter__(self: T) -> T:
        for node in self.nodes.values():
            node.start()
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            node.stop()

    def client(self, **options: Any) -> Cluster:
        """A client with all brokers as bootstrap servers, and short waits between tries."""
        defaults: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap_servers,
            "retry_backoff_ms": 1,
            "retry_backoff_max_ms": 10,
            "connection_setup_timeout_ms": 2_000,
        }
        return Cluster(ClientConfig(**(defaults | options)))

    @property
    def bootstrap_servers(self) -> tuple[Address, ...]:
        return tuple(node.broker.address for node in self.nodes.values())

    @property
    def addresses(self) -> dict[int, Address]:
        """The advertised address of each node that is up."""
        own = {number: node.broker.address for number, node in self.nodes.items() if node.is_up}
        return own | {number: each for number, each in self.advertised.items() if number in own}

    def asked(self, kind: type[Request]) -> list[tuple[int, Any, int]]:
        """Every request of a kind: node, request, version; by node, in order for each."""
        return [
            (number, request, version)
            for number, node in self.nodes.items()
            for request, version in node.broker.requests
            if isinstance(request, kind)
        ]

    # --- Topics and records ----------------------------------------------------------------------

    def add_topic(self, name: str, partitions: int = 1) -> Topic:
        """Add a topic whose leaders are the nodes in turn; it replaces one of the same name."""
        # As real ids, another one in each cluster of a process.
        topic_id = uuid.UUID(int=next(_topic_numbers))
        nodes = [*self.nodes]
        topic = Topic(name, topic_id, [Partition(nodes[i % len(nodes)]) for i in range(partitions)])
        self.names[topic_id] = name
        self.topics[name] = topic
        return topic

    def partition(self, topic_partition: TopicPartition) -> Partition:
        return self.topics[topic_partition.topic].partitions[topic_partition.partition]

    def log(self, topic_partition: TopicPartition) -> Log:
        return self.partition(topic_partition).log

    def append(self, topic_partition: TopicPartition, *values: bytes) -> None:
        """Append one batch with these values."""
        partition = self.partition(topic_partition)
        partition.log.append(batch_of(*values), partition.leader_epoch)

    def move_leader(self, topic_partition: TopicPartition, node: int) -> None:
        """Set another leader (-1 for none), with the next epoch."""
        partition = self.partition(topic_partition)
        with self._lock:
            partition.leader = node
            partition.leader_epoch += 1

    # --- Nodes -----------------------------------------------------------------------------------

    def stop(self, number: int) -> None:
        """Stop a node and close its connections; it stays the leader of its partitions."""
        self.nodes[number].stop()

    def start(self, number: int, release: str | None = None) -> None:
        """Start a node again, on another port, perhaps with another release."""
        node = self.nodes[number]
        before = node.broker
        node.broker = ScriptedBroker(before.handlers)
        node.broker.requests = before.requests
        node.release = release or node.release
        node.start()

    def offer(self, kind: type[Request], versions: VersionRange) -> None:
        """Set the versions of an API on all nodes, whatever their release."""
        for node in self.nodes.values():
            node.versions[kind.api_key] = versions

    # --- Faults ----------------------------------------------------------------------------------

    def spoil(self, kind: type[Request], fault: Fault, node: int | None = None) -> None:
        """Put a fault on the responses of an API, of one node or of each."""
        for number in self.nodes if node is None else [node]:
            table = self.nodes[number].broker.handlers
            table[kind] = fault(table[kind])

    def push_errors(self, kind: type[Request], *errors: ErrorCode) -> None:
        """Refuse the next requests of an API with these errors, for every partition."""
        self._errors[kind].extend(errors)

    def _table_of(self, number: int) -> dict[type[Request], Handler]:
        return {kind: partial(self._serve, number, kind) for kind in self._handlers()}

    def _handlers(self) -> Mapping[type[Request], Callable[[handlers.Context, Any], Any]]:
        """What serves each kind of request; a cluster that knows more adds its own."""
        return handlers.HANDLERS

    def _serves(self, number: int, kind: type[Request], version: int) -> bool:
        """Whether a node has this version of an API."""
        served = self.nodes[number].versions.get(kind.api_key)
        return served is not None and version in served

    def _serve(self, number: int, kind: type[Request], request: Any, version: int) -> Any:
        if kind is not ApiVersionsRequest and not self._serves(number, kind, version):
            raise Close
        with self._lock:
            errors = self._errors[kind]
            error = errors.popleft() if errors else ErrorCode.NONE
            context = handlers.Context(self, number, version, error)
            return self._handlers()[kind](context, request)
