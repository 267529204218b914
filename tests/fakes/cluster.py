"""The simulated brokers of `tests.simulation.kafka` behind sockets: real threads, no delays.

Every change takes effect at once, on all brokers. `faults` has faults of responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import NO_VERSIONS, Request, VersionRange
from tests.fakes.broker import Close
from tests.fakes.faults import Fault, only
from tests.fakes.log import PartitionLog, batch_of
from tests.fakes.node import Node
from tests.fakes.real_time import RealTime
from tests.fakes.refusals import Refusal, Refusals
from tests.simulation.kafka.call import Call
from tests.simulation.kafka.cluster import SimulatedCluster
from tests.simulation.kafka.coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, S, partition_of
from tests.simulation.kafka.groups import Committed, Group, Groups
from tests.simulation.kafka.handlers.metadata import TOPICS_OF_KEYS
from tests.simulation.kafka.handlers.table import HANDLERS
from tests.simulation.kafka.images import NO_LEADER, TopicImage
from tests.simulation.kafka.settings import IMMEDIATE
from tests.simulation.kafka.transactions import Entry, Transactions

NEWEST = "99"  # every version that we declare
_NO_CONFIG: Final[Mapping[str, str]] = MappingProxyType({})
_COORDINATOR_PARTITIONS: Final = 16


def client_of(*addresses: Address, **options: Any) -> Cluster:
    """A client with these bootstrap servers, and short waits between tries."""
    defaults: dict[str, Any] = {
        "bootstrap_servers": addresses,
        "retry_backoff_ms": 1,
        "retry_backoff_max_ms": 10,
        "connection_setup_timeout_ms": 2_000,
    }
    return Cluster(ClientConfig(**(defaults | options)))


class FakeCluster:
    """Brokers 1 to `nodes`, until the `with` block ends.

    Args:
        nodes: How many. All have a replica of each partition.
        release: The release of Kafka that they are.
        cluster_id: Its id.
        settings: What else brokers are configured with.

    Attributes:
        advertised: Other addresses than their own, by node, that brokers tell.
        simulated: The brokers themselves.
        changing: A context to change them within.
    """

    def __init__(
        self, nodes: int = 1, release: str = NEWEST, cluster_id: str = "fake", **settings: Any
    ) -> None:
        self.advertised: dict[int, Address] = {}
        self._time = RealTime()
        self.changing = self._time.changing
        self._refusals = Refusals()
        self.simulated = SimulatedCluster(
            self._time,
            nodes,
            release,
            replace(IMMEDIATE, cluster_id=cluster_id, address_of=self._address_of, **settings),
        )
        self.nodes = {
            number: Node(broker, {kind: partial(self._serve, number, kind) for kind in HANDLERS})
            for number, broker in self.simulated.brokers.items()
        }

    def __enter__(self) -> FakeCluster:
        for node in self.nodes.values():
            node.start()
        return self

    def __exit__(self, *_: object) -> None:
        for number in self.nodes:
            self.stop(number)

    def client(self, **options: Any) -> Cluster:
        """A client with all brokers as bootstrap servers, and short waits between tries."""
        return client_of(*self.bootstrap_servers, **options)

    @property
    def bootstrap_servers(self) -> tuple[Address, ...]:
        return tuple(node.broker.address for node in self.nodes.values())

    def _address_of(self, number: int) -> tuple[str, int]:
        address = self.advertised.get(number, self.nodes[number].broker.address)
        return address.host, address.port

    def asked(self, kind: type[Request]) -> list[tuple[int, Any, int]]:
        """Every request of a kind: node, request, version; by node, in order for each."""
        return [
            (number, request, version)
            for number, node in self.nodes.items()
            for request, version in node.broker.requests
            if isinstance(request, kind)
        ]

    # --- Topics and records ----------------------------------------------------------------------

    def add_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int | None = None,
        config: Mapping[str, str] = _NO_CONFIG,
    ) -> TopicImage:
        """Add a topic whose leaders are the nodes in turn; it replaces one of the same name.

        Args:
            name: Its name.
            partitions: How many.
            replicas: How many of each; by default one on each node.
            config: Its configuration.
        """
        nodes = [*self.nodes]
        firsts = [at % len(nodes) for at in range(partitions)]
        with self.changing():
            if name in self.simulated.controller.topics:
                self.delete_topic(name)
            assignments = [(*nodes[at:], *nodes[:at])[:replicas] for at in firsts]
            return self._create(name, assignments, config)

    def _create(
        self,
        name: str,
        assignments: list[tuple[int, ...]],
        config: Mapping[str, str],
        *,
        is_internal: bool = False,
    ) -> TopicImage:
        return self.simulated.controller.create_topic(
            name,
            len(assignments),
            len(self.nodes),
            config,
            is_internal=is_internal,
            assignments=assignments,
        )

    @property
    def topics(self) -> Mapping[str, TopicImage]:
        """The topics of clients, by their names."""
        known = self.simulated.controller.topics.items()
        return MappingProxyType({name: each for name, each in known if not each.is_internal})

    def delete_topic(self, *names: str) -> None:
        """Delete topics, by default all."""
        with self.changing():
            for name in names or self.topics:
                self.simulated.delete_topic(name)

    def add_partitions(self, name: str, total: int) -> None:
        with self.changing():
            self.simulated.add_partitions(name, total)

    def log(self, topic_partition: TopicPartition) -> PartitionLog:
        return PartitionLog(self, topic_partition)

    def append(self, topic_partition: TopicPartition, *values: bytes) -> None:
        """Append one batch with these values."""
        self.log(topic_partition).append(batch_of(*values))

    def leader(self, topic_partition: TopicPartition) -> int:
        return self.simulated.leader(topic_partition)

    def move_leader(self, topic_partition: TopicPartition, node: int) -> None:
        """Set another leader (-1 for none), in a new epoch."""
        with self.changing():
            if node == self.leader(topic_partition):
                self.simulated.elect(topic_partition, NO_LEADER)
            assert self.simulated.elect(topic_partition, node, unclean=True)

    # --- Nodes -----------------------------------------------------------------------------------

    def stop(self, number: int) -> None:
        """Close a node's connections and refuse new ones; it stays the leader of its partitions."""
        with self.changing():
            node = self.nodes[number]
            was_up, node.is_up = node.is_up, False
        if was_up:
            node.broker.__exit__()

    def start(self, number: int, release: str | None = None) -> None:
        """Listen again, on another port, perhaps as another release."""
        node = self.nodes[number]
        if release is not None:
            node.become(release)
        node.start_again()

    def offer(self, kind: type[Request], versions: VersionRange) -> None:
        """Set the versions of an API on all nodes, whatever their release."""
        for node in self.nodes.values():
            node.simulated.offer(kind.api_key, versions)

    # --- Coordinators ----------------------------------------------------------------------------

    def move_coordinator(self, key: str, number: int) -> None:
        """Make another node the coordinator of a group or transactional id; at first it is 1."""
        with self.changing():
            for topic in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC):
                self._create_internal(topic)
                place = TopicPartition(topic, partition_of(key, _COORDINATOR_PARTITIONS))
                assert self.simulated.elect(place, number)

    def _create_internal(self, topic: str) -> None:
        """Create a topic of coordinators, which brokers do when the first client looks for one."""
        if topic not in self.simulated.controller.topics:
            everywhere = [tuple(self.nodes)] * _COORDINATOR_PARTITIONS
            with self.changing():
                self._create(topic, everywhere, {"cleanup.policy": "compact"}, is_internal=True)

    @property
    def committed(self) -> Mapping[str, Mapping[TopicPartition, int]]:
        """The offsets of all groups."""
        return MappingProxyType(
            {
                group: MappingProxyType({each: found.offset for each, found in offsets.items()})
                for broker in self.simulated.brokers.values()
                for shard in broker.groups.all_loaded
                for group, offsets in shard.offsets.items()
            }
        )

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the offsets of a group; none deletes it."""
        with self.changing():
            groups = self._groups(group)
            described = groups.described.get(group)
            groups.delete(group)
            if described is not None:
                groups.describe(group, described)
            found = {each: Committed(offset, -1, "") for each, offset in offsets.items()}
            groups.commit(group, found, lambda _: None)

    def describe_group(self, name: str, group: Group) -> None:
        """Give a group a state and members."""
        with self.changing():
            self._groups(name).describe(name, group)

    def _groups(self, name: str) -> Groups:
        self._create_internal(OFFSETS_TOPIC)
        return _found(broker.groups.find(name)[1] for broker in self.simulated.brokers.values())

    # --- Transactions ----------------------------------------------------------------------------

    @property
    def transactions(self) -> Mapping[str, Entry]:
        """What the coordinators know, by transactional id."""
        return MappingProxyType(
            {
                name: entry
                for broker in self.simulated.brokers.values()
                for shard in broker.transactions.all_loaded
                for name, entry in shard.entries.items()
            }
        )

    def set_transaction(self, name: str, **changes: Any) -> None:
        """Change what the coordinator of an id knows."""
        with self.changing():
            shard = self._transactions(name)
            shard.entries[name] = shard.entries[name]._replace(**changes)

    def forget_transaction(self, name: str) -> None:
        """Forget an id, as a coordinator does after transactional.id.expiration.ms."""
        with self.changing():
            del self._transactions(name).entries[name]

    def time_out(self, name: str) -> None:
        """Abort a transaction, as a coordinator does after transaction.timeout.ms."""
        with self.changing():
            shard = self._transactions(name)
            shard.fence(name, shard.entries[name], lambda _: None)

    def hold_markers(self) -> None:
        """Leave transactions in their PREPARE states, until `write_markers`."""
        for broker in self.simulated.brokers.values():
            broker.held_markers = []

    def write_markers(self) -> None:
        """Write the markers that were held back, and hold back no more."""
        with self.changing():
            for broker in self.simulated.brokers.values():
                held, broker.held_markers = broker.held_markers or [], None
                for send in held:
                    send()

    def _transactions(self, name: str) -> Transactions:
        brokers = self.simulated.brokers.values()
        return _found(broker.transactions.find(name)[1] for broker in brokers)

    # --- Faults ----------------------------------------------------------------------------------

    def add_fault(
        self,
        kind: type[Request],
        fault: Fault | None = None,
        *,
        error: ErrorCode | None = None,
        node: int | None = None,
        topic: str | None = None,
        partition: int | None = None,
        count: int | None = None,
    ) -> None:
        """Let the next requests of an API fail.

        Args:
            kind: The API.
            fault: What is wrong with its responses.
            error: Instead of `fault`: brokers refuse the requests, and do nothing. Of several
                errors each request takes the first one.
            node: The broker that has the fault; by default each.
            topic: The only topic that is refused with `error`.
            partition: The only number of partitions that is refused with `error`.
            count: How many requests (with `fault`: of each node) it concerns; by default all.
        """
        if error is not None:
            with self.changing():
                self._refusals.add(Refusal(kind, error, node, topic, partition, count))
        elif fault is not None:
            for number in self.nodes if node is None else [node]:
                table = self.nodes[number].broker.handlers
                table[kind] = (fault if count is None else only(count, fault))(table[kind])

    # --- Requests --------------------------------------------------------------------------------

    def _serve(self, number: int, kind: type[Request], request: Any, version: int) -> Any:
        node = self.nodes[number]
        is_served = version in node.versions.get(kind.api_key, NO_VERSIONS)
        if not is_served and kind is not ApiVersionsRequest:
            raise Close
        responses: list[Any] = []
        with self.changing():
            if kind is FindCoordinatorRequest and request.key_type in TOPICS_OF_KEYS:
                self._create_internal(TOPICS_OF_KEYS[request.key_type])
            HANDLERS[kind](
                Call(
                    node.simulated,
                    request if is_served else None,
                    version,
                    lambda response, _mute_ms=0: responses.append(response),
                    lambda: responses.append(Close()),
                    self._refusals.of_request(kind, number),
                )
            )
        self._time.wait_until(lambda: responses or not node.is_up)
        if not responses or isinstance(responses[0], Close):
            raise Close
        return responses[0]


def _found(shards: Iterable[S | None]) -> S:
    """The coordinator among the brokers."""
    return next(shard for shard in shards if shard is not None)
