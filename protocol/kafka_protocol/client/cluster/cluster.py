"""The brokers of one cluster: bootstrap, metadata, leaders, and connections kept open.

Metadata is requested when it is needed, and cached. An error that shows it to be stale removes the
topic from the cache, so the next use requests it again. Only requests about the cluster itself are
retried here (metadata, coordinators); ListOffsets, Fetch and Produce are retried by their modules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import TypeVar

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry, shuffle
from kafka_protocol.client.cluster.addresses import Addresses
from kafka_protocol.client.cluster.leader_epochs import NewestLeaders
from kafka_protocol.client.cluster.metadata import (
    NO_LEADER,
    Leader,
    Topic,
    is_unsettled,
    request_metadata,
    topic_of,
    unknown_topic,
    why_no_leader,
)
from kafka_protocol.client.cluster.reuse import is_trusted
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    MisroutedError,
    ProtocolError,
    Refresh,
    TlsError,
)
from kafka_protocol.messages.metadata import MetadataResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.versions.negotiation import BrokerVersions, common_versions
from kafka_protocol.wire.schema import Request

T = TypeVar("T")


class Cluster:
    """A cluster, reached through its bootstrap servers. Not thread-safe."""

    def __init__(self, config: ClientConfig) -> None:
        self.config = config
        self._addresses = Addresses()
        self._topics: dict[str, Topic] = {}
        # The topics of the last response: the same list means that nothing has changed.
        self._described: list[MetadataResponse.MetadataResponseTopic] = []
        self._as_described: dict[str, Topic] = {}
        self._newest = NewestLeaders(config.topic_propagation_max_ms)
        self._brokers: dict[int, Broker] = {}
        self._bootstrap: Broker | None = None
        self._replaced: list[Broker] = []  # still in use for their last responses
        self.coordinators: dict[tuple[int, str], int] = {}  # kept by the module of that name

    def __repr__(self) -> str:
        return (
            f"<Cluster of {len(self.node_ids)} brokers, {len(self._brokers)} connected, "
            f"{len(self._topics)} topics known>"
        )

    @property
    def node_ids(self) -> AbstractSet[int]:
        """The node ids of the brokers in the newest metadata."""
        return self._addresses.by_node_id.keys()

    def __del__(self) -> None:
        """Close every connection: nothing refers to the cluster any more."""
        _close(self._brokers.values(), self._replaced, self._bootstrap)

    def close(self) -> None:
        """Close every connection."""
        _close(self._brokers.values(), self._replaced, self._bootstrap)
        self._brokers.clear()
        self._replaced.clear()
        self._bootstrap = None

    # --- Metadata --------------------------------------------------------------------------------

    def topics(
        self, names: Collection[str] | None, deadline: Deadline, *, create: bool = False
    ) -> dict[str, Topic]:
        """Request the metadata of topics (None for all of them), whatever the cache holds.

        With `create`, a broker with auto.create.topics.enable may create missing topics.

        Returns:
            Every named topic, or all topics. A topic that does not exist has an error code.

        Raises:
            BrokerConnectionError: No broker can be reached. Lists every address and its error.
            KafkaTimeoutError: A broker accepted and did not respond in time.
        """
        retry = Retry(self.config, deadline, self.config.connection_setup_timeout_ms)
        request = partial(self._request_topics, names, deadline, create=create)
        known = self.learn(retry.until_done(request))
        return known if names is None else {n: known.get(n) or unknown_topic(n) for n in names}

    def settled_topics(
        self,
        names: Collection[str],
        deadline: Deadline,
        *,
        may_lack: Collection[str] = (),
        create: bool = False,
    ) -> dict[str, Topic]:
        """Request topics until no topic has a retriable error, or for a while (`Times`).

        Some brokers do not know a new topic yet, or it has no leader yet. At least half of the time
        until `deadline` is left then. Topics that the brokers `may_lack` may be unknown. `create`
        as for `topics`.

        Returns:
            Every named topic. A topic that still does not exist has an error code.

        Raises:
            BrokerConnectionError, KafkaTimeoutError: As from `topics`.
        """
        topics = self.topics(names, deadline, create=create)
        grace_ms = self.config.times.topic_grace_ms
        grace = deadline.capped_at(min(grace_ms, deadline.remaining_ms / 2))
        retry = Retry(self.config, grace, grace_ms)
        while unsettled := [t for t in topics.values() if is_unsettled(t, may_lack)]:
            try:
                retry.wait_if_retriable(BrokerError(unsettled[0].error_code, "Metadata"))
            except BrokerError:
                break
            try:
                topics = self.topics(names, deadline, create=create)
            except KafkaError:
                if not deadline.has_passed:
                    raise
                break  # the previous response counts
        return topics

    def leader(self, topic_partition: TopicPartition, deadline: Deadline) -> tuple[Leader, Topic]:
        """The leader of a partition and its topic, from the cache where possible.

        Raises:
            BrokerError: The topic or the partition does not exist, or has no leader now.
        """
        name = topic_partition.topic
        topic = self._topics.get(name) or self.topics([name], deadline)[name]
        leader = topic.partitions.get(topic_partition.partition, Leader(NO_LEADER, -1))
        if topic.error_code or leader.node_id == NO_LEADER:
            raise BrokerError(
                why_no_leader(topic, topic_partition), f"Metadata of {topic_partition}"
            )
        return leader, topic

    def known_leaders(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The node ids of the leaders in the cached metadata, where it has them."""
        leaders = {}
        for each in partitions:
            topic = self._topics.get(each.topic)
            leader = topic and topic.partitions.get(each.partition)
            if leader and leader.node_id != NO_LEADER:
                leaders[each] = leader.node_id
        return leaders

    def forget(self, topic: str) -> None:
        """Remove a topic from the cached metadata."""
        self._topics.pop(topic, None)

    def forget_if_stale(self, error: KafkaError, topic: str) -> None:
        """Forget a topic if its leaders in the cache may have caused this error."""
        if asks_for(Refresh.METADATA, error):
            self.forget(topic)

    def _request_topics(
        self, names: Collection[str] | None, deadline: Deadline, *, create: bool = False
    ) -> MetadataResponse:
        return self.with_any_broker(
            lambda broker, setup: request_metadata(broker, names, setup, create=create), deadline
        )

    def with_any_broker(self, call: Callable[[Broker, Deadline], T], deadline: Deadline) -> T:
        """Call with one broker after the other, until a call succeeds.

        Raises:
            AuthenticationError: A broker refuses the client's identity.
            KafkaError: The first error, where no call's error is retriable.
            BrokerConnectionError: No call succeeded; names the error of each.
            KafkaTimeoutError: The deadline had passed before.
        """
        if deadline.has_passed:
            raise KafkaTimeoutError(
                "No broker was asked: the time-out of the operation was used up before, for "
                "example by waiting until brokers agree about a new or deleted topic. Raise "
                "kafka.default.api.timeout.ms (for a write: kafka.max.block.ms)"
            )
        setup = deadline.capped_at(self.config.connection_setup_timeout_ms)
        errors: list[KafkaError] = []
        self.close_idle()
        candidates = self._candidates()
        for i, reach in enumerate(candidates):
            left = len(candidates) - i
            try:
                broker = reach(setup.capped_at(setup.remaining_ms / left))
                # A silent broker leaves half of the time to the others; a slow one has enough.
                return call(broker, setup.capped_at(setup.remaining_ms / min(left, 2)))
            except KafkaError as error:
                # Every broker has the same users, and counts failed logins.
                # point: wrong-password
                if isinstance(error, AuthenticationError) and not isinstance(error, TlsError):
                    raise
                errors.append(error)
        final = [error for error in errors if not error.retriable]
        if final and len(final) == len(errors):
            raise final[0]
        reasons = "; ".join(dict.fromkeys(map(str, errors)))
        raise BrokerConnectionError(
            f"No broker of kafka.bootstrap.servers can be reached: {reasons}. Check the "
            "addresses, that the brokers are up, and that no firewall is in between"
        )

    def _candidates(self) -> list[Callable[[Deadline], Broker]]:
        """How to reach brokers: connected ones, then advertised ones, then bootstrap servers.

        These come first if an advertised address was wrong.
        """
        bootstrap = [
            partial(self._connect, address, None) for address in self.config.bootstrap_servers
        ]
        connected = [b for b in self._brokers.values() if not b.in_flight and self._is_trusted(b)]
        shuffle(connected)  # one may have older metadata than the others
        if self._bootstrap is not None and self._is_trusted(self._bootstrap):
            connected.append(self._bootstrap)
        places = [*self._addresses.by_node_id.items()]
        shuffle(places)
        known = [
            *(partial(self._trusted, broker) for broker in connected),
            *(partial(self._connect, address, node_id) for node_id, address in places),
        ]
        return [*bootstrap, *known] if self._addresses.are_wrong else [*known, *bootstrap]

    def learn(self, response: MetadataResponse) -> dict[str, Topic]:
        """Take over brokers and topics of a response; known leaders with newer epochs stay.

        Returns:
            The topics of the response, by name.
        """
        if self._addresses.update(response):
            self._close_replaced([*self._replaced, *self._brokers.values()])
            self._brokers.clear()
            self._topics.clear()
            self.coordinators.clear()
        self._drop_moved_brokers()
        if response.topics is not self._described:
            self._described = response.topics
            self._as_described = {
                t.name: topic_of(t) for t in response.topics if t.name is not None
            }
        topics = self._as_described.copy()
        for name, topic in topics.items():
            if topic.error_code:
                self.forget(name)
            else:
                topics[name] = self._topics[name] = self._newest.merge(topic)
        return topics

    # --- Connections -----------------------------------------------------------------------------

    def broker(self, node_id: int, deadline: Deadline) -> Broker:
        """A connection to a broker, kept for the next call.

        Raises:
            BrokerConnectionError: The broker cannot be reached at its advertised address.
        """
        broker = self._brokers.get(node_id)
        if broker is not None and not broker.is_idle and self._is_trusted(broker):
            return broker
        address = self._addresses.by_node_id.get(node_id)
        if address is None:
            raise BrokerConnectionError(f"broker {node_id} is not known to the cluster any more")
        setup = deadline.capped_at(self.config.connection_setup_timeout_ms)
        try:
            return self._connect(address, node_id, setup)
        except MisroutedError:
            raise
        except (BrokerConnectionError, KafkaTimeoutError) as error:
            bootstrap = ", ".join(map(str, self.config.bootstrap_servers))
            raise BrokerConnectionError(
                f"kafka.bootstrap.servers {bootstrap} answered, but broker {node_id} advertises "
                f"{address}, which cannot be reached from here: {error}. Check the broker's "
                "advertised.listeners, and that this machine can resolve and reach them"
            ) from error

    def _trusted(self, broker: Broker, deadline: Deadline) -> Broker:
        """This connection, or a new one if it is not trusted any more."""
        if self._is_trusted(broker):
            return broker
        return self._connect(broker.address, broker.node_id, deadline)

    def _is_trusted(self, broker: Broker) -> bool:
        return is_trusted(broker, filter(None, [*self._brokers.values(), self._bootstrap]))

    def _connect(self, address: Address, node_id: int | None, deadline: Deadline) -> Broker:
        try:
            broker = Broker(address, node_id, self.config, deadline, self._addresses.cluster_id)
        except MisroutedError:
            self._addresses.are_wrong = True
            self._topics.clear()
            raise
        if node_id is None:
            before, self._bootstrap = self._bootstrap, broker
        else:
            before = self._brokers.get(node_id)
            self._brokers[node_id] = broker
        self._close_replaced([*self._replaced, *filter(None, [before])])
        return broker

    def close_idle(self) -> None:
        """Close the connections that were unused for connections.max.idle.ms."""
        self._close_replaced(self._replaced)
        for broker in filter(None, [*self._brokers.values(), self._bootstrap]):
            if broker.is_idle:
                broker.close()

    def _close_replaced(self, replaced: list[Broker]) -> None:
        """Close replaced connections, except while they await a response."""
        for broker in replaced:
            if not broker.in_flight:
                broker.close()
        self._replaced = [broker for broker in replaced if not broker.is_closed]

    def common_versions(self, deadline: Deadline) -> BrokerVersions:
        """The API versions that every broker of the cluster serves.

        Raises:
            BrokerConnectionError: A broker cannot be reached.
        """
        self.learn(self._request_topics([], deadline))
        if not self.node_ids:
            # Kafka 0.8 lists no brokers before it has a topic.
            return self.with_any_broker(lambda broker, _: broker.versions, deadline)
        brokers = [self.broker(node_id, deadline) for node_id in sorted(self.node_ids)]
        return common_versions(broker.versions for broker in brokers)

    def all_brokers(self, deadline: Deadline) -> tuple[list[Broker], list[KafkaError]]:
        """Connections to every broker of the cluster, and an error for each one out of reach.

        Raises:
            BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
        """
        self.learn(self._request_topics([], deadline))
        reached = [self.try_broker(node_id, deadline) for node_id in sorted(self.node_ids)]
        brokers = [each for each in reached if isinstance(each, Broker)]
        return brokers, [each for each in reached if isinstance(each, KafkaError)]

    def controller(self, request: type[Request], deadline: Deadline) -> Broker:
        """A connection to the broker that creates and deletes topics, for this request.

        Raises:
            UnsupportedVersionError: The brokers are too old for the request.
            BrokerError: No controller is elected now.
            BrokerConnectionError: The controller cannot be reached.
        """

        def find(broker: Broker, setup: Deadline) -> MetadataResponse:
            broker.choose(request)
            return request_metadata(broker, [], setup)

        response = self.with_any_broker(find, deadline)
        self.learn(response)
        if response.controller_id == NO_LEADER:
            raise BrokerError(ErrorCode.NOT_CONTROLLER, "Metadata of the controller")
        return self.broker(response.controller_id, deadline)

    def add_addresses(self, addresses: Mapping[int, Address]) -> None:
        """Note where brokers are, by node id, as another response than Metadata says."""
        self._addresses.by_node_id.update(addresses)
        self._drop_moved_brokers()

    def try_broker(self, node_id: int, deadline: Deadline) -> Broker | KafkaError:
        """The connection, or the error, of `broker`."""
        try:
            return self.broker(node_id, deadline)
        except KafkaError as error:
            return error

    def _drop_moved_brokers(self) -> None:
        for node_id, broker in [*self._brokers.items()]:
            if self._addresses.by_node_id.get(node_id) != broker.address:
                broker.close()
                del self._brokers[node_id]


def _close(brokers: Iterable[Broker], replaced: Iterable[Broker], bootstrap: Broker | None) -> None:
    for broker in [*brokers, *replaced, *filter(None, [bootstrap])]:
        broker.close()


def asks_for(refresh: Refresh, error: KafkaError) -> bool:
    """Whether `refresh`, such as new metadata, may end the error."""
    if isinstance(error, BrokerError):
        return error.error.refresh is refresh
    return isinstance(error, BrokerConnectionError | KafkaTimeoutError | ProtocolError)
