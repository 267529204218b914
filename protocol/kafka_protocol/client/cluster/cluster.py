"""The brokers of one cluster: bootstrap, metadata, leaders, and connections kept open.

Metadata is asked for when it is needed and cached; an error that says it is old throws the topic
out of the cache, and the next look asks again. Retries belong to the callers (`offsets`, `fetch`,
`produce`), with one exception: the first contact, which `metadata` tries until brokers have been
unreachable for too long.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from functools import partial
from typing import TypeVar

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.leader_epochs import NewestLeaders
from kafka_protocol.client.cluster.metadata import (
    NO_LEADER,
    Leader,
    Topic,
    ask_metadata,
    find_coordinators,
    topic_of,
    unknown_topic,
    why_no_leader,
)
from kafka_protocol.client.config.client import Address, ClientConfig
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    Refresh,
    TlsError,
)
from kafka_protocol.messages.metadata import MetadataResponse
from kafka_protocol.negotiation import BrokerVersions, common_versions
from kafka_protocol.schema import Request
from kafka_protocol.topic_partition import TopicPartition

T = TypeVar("T")

# How long a topic may be unknown before it counts as missing: brokers learn of a new one, and
# elect its leaders, within a second or two.
TOPIC_GRACE_MS = 3_000


class Cluster:
    """A cluster, reached through its bootstrap servers. Not for several threads at once.

    Args:
        config: Where to begin, limits and time-outs.
    """

    def __init__(self, config: ClientConfig) -> None:
        self.config = config
        self._addresses: dict[int, Address] = {}  # as metadata advertises them
        self._topics: dict[str, Topic] = {}
        self._newest = NewestLeaders(config.topic_propagation_max_ms)
        self._brokers: dict[int, Broker] = {}
        self._bootstrap: Broker | None = None
        self._replaced: list[Broker] = []  # whose last answers are waited for

    def __repr__(self) -> str:
        return (
            f"<Cluster of {len(self._addresses)} brokers, {len(self._brokers)} connected, "
            f"{len(self._topics)} topics known>"
        )

    def close(self) -> None:
        """Close every connection."""
        for broker in [
            *self._brokers.values(),
            *self._replaced,
            *filter(None, [self._bootstrap]),
        ]:
            broker.close()
        self._brokers.clear()
        self._replaced.clear()
        self._bootstrap = None

    # --- Metadata --------------------------------------------------------------------------------

    def topics(
        self, names: Collection[str] | None, deadline: Deadline, *, create: bool = False
    ) -> dict[str, Topic]:
        """Ask for topics, whatever the cache holds.

        Args:
            names: Which topics; None for all of them.
            deadline: When to give up.
            create: Whether a broker with auto.create.topics.enable may create what is missing.

        Returns:
            Every topic that was named, or all there are. One that does not exist has an error code.

        Raises:
            BrokerConnectionError: No broker can be reached. Lists every address and why.
            KafkaTimeoutError: A broker accepted and did not answer in time.
        """
        retry = Retry(self.config, deadline, self.config.connection_setup_timeout_ms)
        while True:
            try:
                response = self._ask_for_topics(names, deadline, create=create)
            except KafkaError as error:
                retry.wait_after(error)
                continue
            known = self._learn(response)
            return known if names is None else {n: known.get(n) or unknown_topic(n) for n in names}

    def settled_topics(
        self, names: Collection[str], deadline: Deadline, *, create: bool = False
    ) -> dict[str, Topic]:
        """Ask for topics until no answer is one that may pass, or for TOPIC_GRACE_MS.

        A topic that was created a moment ago is unknown to some brokers, or has no leader yet.
        `create` is as for `topics`.

        Returns:
            Every topic that was named. One that still does not exist has an error code.

        Raises:
            BrokerConnectionError, KafkaTimeoutError: As from `topics`.
        """
        topics = self.topics(names, deadline, create=create)
        retry = Retry(self.config, deadline.or_sooner(TOPIC_GRACE_MS), TOPIC_GRACE_MS)
        while passing := [t for t in topics.values() if ErrorCode.lookup(t.error_code).retriable]:
            try:
                retry.wait_after(BrokerError(passing[0].error_code, "Metadata"))
            except BrokerError:
                break
            try:
                topics = self.topics(names, deadline, create=create)
            except KafkaError:
                if not deadline.has_passed:
                    raise
                break  # what was said before stands
        return topics

    def leader(self, topic_partition: TopicPartition, deadline: Deadline) -> tuple[Leader, Topic]:
        """Who leads a partition, from the cache where that is known.

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

    def forget(self, topic: str) -> None:
        """Ask for a topic's metadata anew the next time it is needed."""
        self._topics.pop(topic, None)

    def forget_after(self, error: KafkaError, topic: str) -> None:
        """Forget what an error says is old: a topic's leaders."""
        is_old = isinstance(error, BrokerError) and error.error.refresh is Refresh.METADATA
        if is_old or isinstance(error, BrokerConnectionError | KafkaTimeoutError | ProtocolError):
            self.forget(topic)

    def _ask_for_topics(
        self, names: Collection[str] | None, deadline: Deadline, *, create: bool = False
    ) -> MetadataResponse:
        return self.ask_anyone(
            lambda broker, setup: ask_metadata(broker, names, setup, create=create), deadline
        )

    def ask_anyone(self, ask: Callable[[Broker, Deadline], T], deadline: Deadline) -> T:
        """The first answer of any broker; what went wrong with each of them where none answers."""
        setup = deadline.or_sooner(self.config.connection_setup_timeout_ms)
        errors: list[KafkaError] = []
        candidates = self._candidates()
        for i, reach in enumerate(candidates):
            left = len(candidates) - i
            try:
                broker = reach(setup.or_sooner(setup.remaining_ms / left))
                # One that is silent leaves half of the time to the others; a slow one has enough.
                return ask(broker, setup.or_sooner(setup.remaining_ms / min(left, 2)))
            except KafkaError as error:
                # Every broker knows the same users, and counts the failures of each.
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
        """How to reach brokers: connected ones, then advertised ones, then bootstrap servers."""
        connected = [b for b in self._brokers.values() if not b.is_closed and not b.in_flight]
        random.shuffle(connected)  # one of them may be behind the others
        if self._bootstrap is not None and not self._bootstrap.is_closed:
            connected.append(self._bootstrap)
        places: list[tuple[int | None, Address]] = [*self._addresses.items()]
        random.shuffle(places)
        places += [(None, address) for address in self.config.bootstrap_servers]
        return [
            *(partial(_already, broker) for broker in connected),
            *(partial(self._connect, address, node_id) for node_id, address in places),
        ]

    def _learn(self, response: MetadataResponse) -> dict[str, Topic]:
        if response.brokers:  # a broker that is starting knows of none
            self._addresses = {b.node_id: Address(b.host, b.port) for b in response.brokers}
            self._drop_moved_brokers()
        topics = {t.name: topic_of(t) for t in response.topics if t.name is not None}
        for name, topic in topics.items():
            if topic.error_code:
                self.forget(name)
            else:
                topics[name] = self._topics[name] = self._newest.merge(topic)
        return topics

    # --- Connections -----------------------------------------------------------------------------

    def broker(self, node_id: int, deadline: Deadline) -> Broker:
        """A connection to the broker with this number, kept for the next time.

        Raises:
            BrokerConnectionError: It cannot be reached where it says that it listens.
        """
        broker = self._brokers.get(node_id)
        if broker is not None and not broker.is_closed:
            return broker
        address = self._addresses.get(node_id)
        if address is None:
            raise BrokerConnectionError(f"broker {node_id} is not known to the cluster any more")
        setup = deadline.or_sooner(self.config.connection_setup_timeout_ms)
        try:
            return self._connect(address, node_id, setup)
        except (BrokerConnectionError, KafkaTimeoutError) as error:
            bootstrap = ", ".join(map(str, self.config.bootstrap_servers))
            raise BrokerConnectionError(
                f"kafka.bootstrap.servers {bootstrap} answered, but broker {node_id} advertises "
                f"{address}, which cannot be reached from here: {error}. Check the broker's "
                "advertised.listeners, and that this machine can resolve and reach them"
            ) from error

    def _connect(self, address: Address, node_id: int | None, deadline: Deadline) -> Broker:
        broker = Broker(address, node_id, self.config, deadline)
        if node_id is None:
            before, self._bootstrap = self._bootstrap, broker
        else:
            before = self._brokers.get(node_id)
            self._brokers[node_id] = broker
        self._close_idle([*self._replaced, *filter(None, [before])])
        return broker

    def _close_idle(self, replaced: list[Broker]) -> None:
        """Close connections whose place others took, but for those with an answer to come."""
        for broker in replaced:
            if not broker.in_flight:
                broker.close()
        self._replaced = [broker for broker in replaced if not broker.is_closed]

    def common_versions(self, deadline: Deadline) -> BrokerVersions:
        """What every broker of the cluster serves; `features` says what that is enough for.

        Raises:
            BrokerConnectionError: One of them cannot be reached.
        """
        self._learn(self._ask_for_topics([], deadline))
        if not self._addresses:
            # Kafka 0.8 names its brokers once there is a topic; who answered is one of them.
            return self.ask_anyone(lambda broker, _: broker.versions, deadline)
        brokers = [self.broker(node_id, deadline) for node_id in sorted(self._addresses)]
        return common_versions(broker.versions for broker in brokers)

    def controller(self, request: type[Request], deadline: Deadline) -> Broker:
        """A connection to the broker that creates and deletes topics.

        Args:
            request: What it is to be asked.
            deadline: When to give up.

        Raises:
            UnsupportedVersionError: The brokers are too old for that.
            BrokerError: None is elected at the moment.
            BrokerConnectionError: It cannot be reached.
        """

        def ask(broker: Broker, setup: Deadline) -> MetadataResponse:
            broker.choose(request)
            return ask_metadata(broker, [], setup)

        response = self.ask_anyone(ask, deadline)
        self._learn(response)
        if response.controller_id == NO_LEADER:
            raise BrokerError(ErrorCode.NOT_CONTROLLER, "Metadata of the controller")
        return self.broker(response.controller_id, deadline)

    def coordinators(
        self, kind: int, keys: Collection[str], deadline: Deadline
    ) -> dict[str, Broker | KafkaError]:
        """Connections to the brokers that mind groups, or transactional ids.

        Args:
            kind: GROUP or TRANSACTION, as in `messages.find_coordinator`.
            keys: The groups or ids.
            deadline: When to give up.

        Returns:
            For each key its coordinator, or why there is none: nobody minds it at the moment, it
            may not be described, or the broker cannot be reached.

        Raises:
            BrokerConnectionError, KafkaTimeoutError: Nobody can be asked.
            UnsupportedVersionError: The brokers are too old for transactions.
        """
        found = self.ask_anyone(partial(find_coordinators, kind, keys), deadline)
        named = {each.node_id: each.address for each in found.values() if each.error is None}
        self._addresses.update(named)
        self._drop_moved_brokers()
        reached = {node_id: self._try_broker(node_id, deadline) for node_id in named}
        return {key: each.error or reached[each.node_id] for key, each in found.items()}

    def _try_broker(self, node_id: int, deadline: Deadline) -> Broker | KafkaError:
        try:
            return self.broker(node_id, deadline)
        except KafkaError as error:
            return error

    def ask_coordinator(
        self,
        kind: int,
        key: str,
        ask: Callable[[Broker], T],
        deadline: Deadline,
        retry: Retry,
    ) -> T:
        """Ask a coordinator, again where it moved, is loading, or could not be reached.

        Args:
            kind: GROUP or TRANSACTION.
            key: The group or id.
            ask: What to ask; has to be safe to ask again.
            deadline: When to give up.
            retry: How long to wait between tries, and when there are none any more.

        Raises:
            KafkaError: What `ask` raised, or why there is no coordinator.
        """
        while True:
            try:
                coordinator = self.coordinators(kind, [key], deadline)[key]
                if isinstance(coordinator, KafkaError):
                    raise coordinator
                return ask(coordinator)
            except KafkaError as error:
                retry.wait_after(error)

    def _drop_moved_brokers(self) -> None:
        for node_id, broker in [*self._brokers.items()]:
            if self._addresses.get(node_id) != broker.address:
                broker.close()
                del self._brokers[node_id]


def _already(broker: Broker, _deadline: Deadline) -> Broker:
    return broker
