"""One broker: what it has on its disk, what it has heard, what it does and when.

All that it does later goes through `after`: a broker that was killed forgets it, a paused one does
it when it wakes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import VersionRange
from tests.simulation.kafka.coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, Shards
from tests.simulation.kafka.groups import Groups
from tests.simulation.kafka.images import NO_LEADER, ClusterImage, PartitionImage, TopicImage
from tests.simulation.kafka.log import Rolling
from tests.simulation.kafka.replica import Disk, Replica, Role
from tests.simulation.kafka.replication import Replication
from tests.simulation.kafka.settings import BrokerSettings, Delay, Release
from tests.simulation.kafka.time import Scheduler
from tests.simulation.kafka.transactions import Transactions

if TYPE_CHECKING:
    from tests.simulation.kafka.controller import Controller
    from tests.simulation.kafka.session import BrokerSession
    from tests.simulation.kafka.truth import Truth

_MIN_INSYNC: Final = "min.insync.replicas"


class Broker:
    """A node of the cluster, up or down.

    Attributes:
        peers: All brokers by node.
        versions: API key -> the versions that it serves.
        offered: The APIs whose versions a test has set.
        disks: What is on its disk.
        image: What it has heard of the cluster.
        held_markers: The markers that are not sent yet, while a test holds them back; else None.
    """

    def __init__(
        self,
        node: int,
        scheduler: Scheduler,
        settings: BrokerSettings,
        controller: Controller,
        peers: Mapping[int, Broker],
        truth: Truth,
    ) -> None:
        self.node = node
        self.scheduler = scheduler
        self.settings = settings
        self.controller = controller
        self.peers = peers
        self.truth = truth
        self.release = Release("4.3")
        self.versions = self.release.versions(settings.service)
        self.offered: set[int] = set()
        self.disks: dict[TopicPartition, Disk] = {}
        self.replicas: dict[TopicPartition, Replica] = {}
        self.image = ClusterImage({}, ())
        self.replication = Replication(self)
        self.transactions: Shards[Transactions] = Shards(self, TRANSACTIONS_TOPIC, Transactions)
        self.groups: Shards[Groups] = Shards(self, OFFSETS_TOPIC, Groups)
        self.sessions: list[BrokerSession] = []
        self.is_up = False
        self.is_paused = False
        self.quota: float | None = settings.service.quota or None
        self.logins: deque[float] = deque(maxlen=settings.service.connects)
        self.held_markers: list[Callable[[], None]] | None = None
        self.owed_bytes = 0.0
        self.owed_since_ms = 0.0
        self.life = 0  # counts its ends
        self.pauses = 0
        self._deferred: list[Callable[[], None]] = []
        self._deferred_news: list[Callable[[], None]] = []
        self._heard_ms = 0.0
        self._producer_ids: list[int] = []

    def __repr__(self) -> str:
        state = "paused" if self.is_paused else "up" if self.is_up else "down"
        return f"<Broker {self.node}, {self.release.name}, {state}>"

    @property
    def now_ms(self) -> float:
        return self.scheduler.now_ms

    @property
    def is_running(self) -> bool:
        return self.is_up and not self.is_paused

    def draw(self, delay: Delay) -> float:
        return self.scheduler.random.uniform(*delay)

    # --- Time ------------------------------------------------------------------------------------

    def after(self, ms: float, call: Callable[[], None]) -> None:
        """Call later in this life; when the broker wakes, if it is paused then."""
        self._after(ms, call, self._deferred)

    def hear(self, news: Callable[[], None]) -> None:
        """Something that the controller tells: in its order, a while later."""
        if not self.is_up:
            return
        self._heard_ms = max(self.now_ms + self.draw(self.settings.metadata), self._heard_ms)
        self._after(self._heard_ms - self.now_ms, news, self._deferred_news)

    def hear_nothing_for(self, ms: float) -> None:
        """Stay with old metadata for a while."""
        self._heard_ms = max(self._heard_ms, self.now_ms + ms)

    def _after(
        self, ms: float, call: Callable[[], None], deferred: list[Callable[[], None]]
    ) -> None:
        life = self.life

        def run() -> None:
            if self.life != life:
                return
            if self.is_paused:
                deferred.append(call)
            else:
                call()

        self.scheduler.call_after(ms, run)

    # --- Life ------------------------------------------------------------------------------------

    def start(self, release: Release) -> None:
        """Begin a life with what is on disk."""
        self.become(release)
        self.is_up = True
        self._heard_ms = self.now_ms
        self.image = ClusterImage({}, ())
        for name, topic in self.controller.topics.items():
            self.hear_topic(name, topic)
        self.hear_live(self.controller.live)
        for topic_partition in [tp for tp in self.disks if tp not in self.replicas]:
            del self.disks[topic_partition]  # deleted while the broker was down

    def become(self, release: Release) -> None:
        """Serve what another release serves."""
        self.release = release
        self.versions = release.versions(self.settings.service)
        self.offered.clear()

    def offer(self, api_key: int, versions: VersionRange) -> None:
        """Serve other versions of an API than the release does."""
        self.versions[api_key] = versions
        self.offered.add(api_key)

    def kill(self) -> None:
        """End: only what is on disk is left."""
        self.life += 1
        self.is_up = self.is_paused = False
        self.replicas = {}
        self.transactions.clear()
        self.groups.clear()
        self._producer_ids = []
        self._deferred.clear()
        self._deferred_news.clear()
        sessions, self.sessions = self.sessions, []
        for session in sessions:
            session.close()

    def pause(self) -> None:
        self.is_paused = True
        self.pauses += 1

    def resume(self) -> None:
        """Do what was to be done, and hear the news only after that."""
        self.is_paused = False
        deferred = self._deferred[:]
        news = self._deferred_news[:]
        self._deferred.clear()
        self._deferred_news.clear()
        for each in news:
            self.hear(each)
        for call in deferred:
            self.after(0, call)
        self.after(0, self.replication.call_all)

    # --- Metadata --------------------------------------------------------------------------------

    def hear_live(self, live: tuple[int, ...]) -> None:
        self.image.live = live
        for replica in self.replicas.values():
            replica.expand_isr()

    def hear_topic(self, name: str, topic: TopicImage | None) -> None:
        """Take over a topic's state: create replicas, lead, follow, or delete."""
        self.image.set_topic(name, topic)
        for topic_partition, replica in [*self.replicas.items()]:
            is_gone = topic is None or replica.topic_id != topic.topic_id
            if topic_partition.topic == name and is_gone:
                self._delete_soon(replica)
        for number, partition in enumerate(topic.partitions if topic is not None else ()):
            if topic is not None and self.node in partition.replicas:
                self._hear_partition(TopicPartition(name, number), topic, partition)

    def _hear_partition(
        self, topic_partition: TopicPartition, topic: TopicImage, partition: PartitionImage
    ) -> None:
        """Tell a replica, and create it if it is missing; not beside that of a namesake."""
        replica = self.replicas.get(topic_partition)
        if replica is None or replica.topic_id == topic.topic_id:
            self._replica(topic_partition, topic).hear(partition)

    def _delete_soon(self, replica: Replica) -> None:
        """Delete a replica of a deleted topic, and create that of the next topic of the name.

        Until then its log answers requests for the new id with INCONSISTENT_TOPIC_ID.
        """

        def delete() -> None:
            topic_partition = replica.topic_partition
            if self.replicas.get(topic_partition) is not replica:
                return
            self._delete(topic_partition)
            topic = self.image.topics.get(topic_partition.topic)
            partition = self.image.partition(topic_partition)
            if topic is not None and partition is not None and self.node in partition.replicas:
                self._hear_partition(topic_partition, topic, partition)

        self.after(self.draw(self.settings.deletion), delete)

    def _replica(self, topic_partition: TopicPartition, topic: TopicImage) -> Replica:
        replica = self.replicas.get(topic_partition)
        if replica is None:
            disk = self.disks.get(topic_partition)
            if disk is None or disk.topic_id != topic.topic_id:
                rolling = Rolling(
                    topic.number("segment.bytes", Rolling().max_bytes),
                    topic.number("segment.ms", Rolling().max_ms),
                )
                disk = Disk(topic_partition, topic.topic_id, rolling)
                self.disks[topic_partition] = disk
            replica = self.replicas[topic_partition] = Replica(self, disk)
        return replica

    def _delete(self, topic_partition: TopicPartition) -> None:
        self.disks.pop(topic_partition, None)
        self.replicas.pop(topic_partition).remove()

    def began_to_lead(self, replica: Replica) -> None:
        """A replica became the leader: of a coordinator's log, that makes a coordinator."""
        for shards in (self.transactions, self.groups):
            shards.began_to_lead(replica)

    def ceased_to_lead(self, replica: Replica) -> None:
        for shards in (self.transactions, self.groups):
            shards.ceased_to_lead(replica)

    def leading(self, topic_partition: TopicPartition) -> Replica | None:
        """The replica, if this broker believes to be the leader."""
        replica = self.replicas.get(topic_partition)
        return replica if replica is not None and replica.role is Role.LEADER else None

    @property
    def message_magic(self) -> int:
        """The format of messages in logs: that of the oldest release in the cluster."""
        return min(peer.release.magic for peer in self.peers.values())

    def leader_of(self, topic_partition: TopicPartition) -> int:
        """The leader's node, as far as this broker has heard."""
        partition = self.image.partition(topic_partition)
        return NO_LEADER if partition is None else partition.leader

    def min_insync_replicas(self, topic_partition: TopicPartition) -> int:
        topic = self.image.topics.get(topic_partition.topic)
        default = self.settings.min_insync_replicas
        return default if topic is None else topic.number(_MIN_INSYNC, default)

    # --- What it asks of the controller ----------------------------------------------------------

    def ask_isr(self, replica: Replica, isr: tuple[int, ...]) -> None:
        """AlterPartition: the answer comes as news, a refusal by itself."""
        seen = replica.seen

        def ask() -> None:
            name, number = replica.topic_partition
            error = self.controller.alter_isr(name, replica.topic_id, number, seen, isr)
            if error:
                replica.isr_refused(seen)

        self.after(self.draw(self.settings.metadata), ask)

    def next_producer_id(self) -> int:
        """A new producer id, from this broker's block."""
        if not self._producer_ids:
            self._producer_ids = [*reversed(self.controller.producer_ids())]
        return self._producer_ids.pop()
