"""A cluster of simulated brokers: what tests connect to, disturb, and ask for the truth.

Every change takes effect after a while, on one broker sooner than on another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kafka_protocol.records.record import Record
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka import addresses, upkeep
from tests.simulation.kafka.batches import magic_of, placed, placed_messages
from tests.simulation.kafka.broker import Broker
from tests.simulation.kafka.controller import Controller
from tests.simulation.kafka.coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, partition_of
from tests.simulation.kafka.handlers.table import BY_API_KEY
from tests.simulation.kafka.images import NO_LEADER, TopicImage
from tests.simulation.kafka.replica import Replica
from tests.simulation.kafka.session import BrokerSession
from tests.simulation.kafka.settings import BrokerSettings, Release
from tests.simulation.kafka.time import Scheduler
from tests.simulation.kafka.truth import TrueRecord, Truth, records_of

_DEFAULTS = BrokerSettings()
_TOPICS = {"transaction": TRANSACTIONS_TOPIC, "group": OFFSETS_TOPIC}


class SimulatedCluster:
    """Brokers 1 to `nodes`, all up from the start."""

    def __init__(
        self,
        scheduler: Scheduler,
        nodes: int = 3,
        release: str = "4.3",
        settings: BrokerSettings = _DEFAULTS,
    ) -> None:
        self.scheduler = scheduler
        self.settings = settings
        self.truth = Truth()
        self.brokers: dict[int, Broker] = {}
        self.controller = Controller(scheduler.random, self._publish, self._publish_live)
        self.controller.unclean = settings.unclean_elections
        for node in range(1, nodes + 1):
            self.brokers[node] = Broker(
                node, scheduler, settings, self.controller, self.brokers, self.truth
            )
        self.controller.live = tuple(self.brokers)
        for broker in self.brokers.values():
            broker.start(Release(release))
        self._ids = [(topic.name, topic.topic_id) for topic in self.controller.topics.values()]

    # --- Connections -----------------------------------------------------------------------------

    @staticmethod
    def address_of(node: int) -> tuple[str, int]:
        """Host and port of a node."""
        return addresses.address_of(node)

    def connect(
        self, node: int, reply: Callable[[bytes], None], close: Callable[[], None]
    ) -> BrokerSession | None:
        """The broker's end of a new connection; None if nobody listens."""
        broker = self.brokers[node]
        if not broker.is_up:
            return None
        session = BrokerSession(broker, BY_API_KEY, reply, close)
        broker.sessions.append(session)
        return session

    # --- Brokers ---------------------------------------------------------------------------------

    def kill(self, node: int) -> None:
        """End a broker at once; others take over when its session has ended."""
        broker = self.brokers[node]
        broker.kill()
        life = broker.life

        def expire() -> None:
            if broker.life == life and not broker.is_up:
                self.controller.fence(node)

        self.scheduler.call_after(self.settings.session_ms, expire)

    def stop(self, node: int) -> None:
        """Shut a broker down: it gives up its leaderships first."""
        self.controller.fence(node)
        self.brokers[node].kill()

    def start(self, node: int, release: str | None = None) -> None:
        """Start a broker that is down with what is on its disk, perhaps as another release."""
        broker = self.brokers[node]
        if broker.is_up:
            return
        self.controller.fence(node)
        broker.start(Release(release or broker.release.name))
        broker.after(broker.draw(self.settings.startup), lambda: self.controller.unfence(node))

    def pause(self, node: int) -> None:
        """Stop a broker's time; when its session has ended, others lead without its knowledge."""
        broker = self.brokers[node]
        if not broker.is_running:
            return
        broker.pause()
        pauses = broker.pauses

        def expire() -> None:
            if broker.is_paused and broker.pauses == pauses:
                self.controller.fence(node)

        self.scheduler.call_after(self.settings.session_ms, expire)

    def resume(self, node: int) -> None:
        """Let a paused broker go on; it still believes what it believed."""
        broker = self.brokers[node]
        if not broker.is_paused:
            return
        broker.resume()
        broker.after(broker.draw(self.settings.metadata), lambda: self.controller.unfence(node))

    def isolate(self, node: int) -> None:
        """Cut a broker's replication off, in both directions; clients and controller reach it."""
        self.brokers[node].replication.is_isolated = True

    def rejoin(self, node: int) -> None:
        replication = self.brokers[node].replication
        replication.is_isolated = False
        replication.call_all()

    def keep_stale(self, node: int, ms: float) -> None:
        """Let a broker hear nothing of the controller for a while."""
        self.brokers[node].hear_nothing_for(ms)

    def set_quota(self, bytes_per_s: float | None) -> None:
        """Limit what clients read and write of each broker."""
        for broker in self.brokers.values():
            broker.quota = bytes_per_s

    # --- Topics and leaders ----------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> TopicImage:
        """Create a topic; brokers hear of it one after the other."""
        wanted = self.settings.default_replication if replication is None else replication
        replicas = min(wanted, len(self.controller.live))
        return self.controller.create_topic(name, partitions, replicas, config or {})

    def delete_topic(self, name: str) -> None:
        self.controller.delete_topic(name)

    def add_partitions(self, name: str, total: int) -> None:
        self.controller.add_partitions(name, total)

    def elect(self, topic_partition: TopicPartition, node: int, *, unclean: bool = False) -> bool:
        """Make another replica the leader; whether the controller could."""
        return self.controller.elect(topic_partition, node, unclean=unclean)

    def leader(self, topic_partition: TopicPartition) -> int:
        """The leader that the controller has elected; NO_LEADER for none."""
        topic = self.controller.topics[topic_partition.topic]
        return topic.partitions[topic_partition.partition].leader

    def move_coordinator(self, kind: str, key: str) -> bool:
        """Elect another coordinator ("transaction" or "group") for a key; whether there is one."""
        topic = self.controller.topics.get(_TOPICS[kind])
        if topic is None:
            return False
        number = partition_of(key, len(topic.partitions))
        partition = topic.partitions[number]
        others = [n for n in partition.isr if n != partition.leader and n in self.controller.live]
        if not others:
            return False
        return self.elect(TopicPartition(topic.name, number), self.scheduler.random.choice(others))

    def _publish(self, name: str, topic: TopicImage | None) -> None:
        if topic is not None and (name, topic.topic_id) not in self._ids:
            self._ids.append((name, topic.topic_id))
        for broker in self.brokers.values():
            self._tell(broker, name, topic)

    @staticmethod
    def _tell(broker: Broker, name: str, topic: TopicImage | None) -> None:
        broker.hear(lambda: broker.hear_topic(name, topic))

    def _publish_live(self, live: tuple[int, ...]) -> None:
        for broker in self.brokers.values():
            broker.hear(lambda broker=broker: broker.hear_live(live))  # type: ignore[misc]

    # --- Logs ------------------------------------------------------------------------------------

    def append_as(
        self,
        topic_partition: TopicPartition,
        records: bytes,
        done: Callable[[int], None] | None = None,
    ) -> int:
        """Append another client's batches of any format at the leader; returns their first offset.

        They are checked by nobody: a batch of a transaction needs no coordinator, and ends with a
        `batches.marker_batch`. `done` is called with the offset once they are replicated.
        """
        replica = self._leading(topic_partition)
        if magic_of(records) > self.magic:
            raise ValueError(f"{self.brokers} write no message format {magic_of(records)}")
        offset = replica.log.end_offset
        if magic_of(records) == 2:
            stored = [placed(records, offset, replica.epoch)]
        else:
            stored = placed_messages(records, offset, replica.epoch)
        replica.append(stored)

        def replicated(error: object) -> None:
            if not error:
                self.truth.acknowledge(replica.topic_id, topic_partition.partition, stored, acks=-1)
                if done is not None:
                    done(offset)

        replica.when_replicated(stored[-1].next_offset, self.settings.session_ms, replicated)
        return offset

    @property
    def magic(self) -> int:
        """The newest message format that all brokers know."""
        return min(broker.release.magic for broker in self.brokers.values())

    def next_producer_id(self) -> int:
        """A producer id for another client."""
        return self.controller.producer_ids()[0]

    def delete_records(self, topic_partition: TopicPartition, offset: int) -> None:
        """Move the log start, at most to the high watermark."""
        replica = self._leading(topic_partition)
        replica.delete_before(min(offset, replica.high_watermark))

    def apply_retention(
        self, topic_partition: TopicPartition, config: Mapping[str, str] | None = None
    ) -> int:
        """Delete what retention.ms and retention.bytes do not keep; returns the log start.

        `config` counts before the topic's own.
        """
        return upkeep.apply_retention(self._leading(topic_partition), config or {})

    def compact(self, name: str) -> None:
        """Compact a topic on each running broker, by itself."""
        for broker in self.brokers.values():
            if broker.is_running:
                for topic_partition, replica in sorted(broker.replicas.items()):
                    if topic_partition.topic == name:
                        upkeep.compact(replica)

    def _leading(self, topic_partition: TopicPartition) -> Replica:
        broker = self.brokers.get(self.leader(topic_partition))
        replica = broker and broker.leading(topic_partition)
        if not replica:
            raise NoLeaderError(f"{topic_partition} has no running leader now")
        return replica

    # --- The truth -------------------------------------------------------------------------------

    def topic_ids(self, name: str) -> Sequence[object]:
        """The ids that a name has had, the newest last."""
        return [topic_id for known, topic_id in self._ids if known == name]

    def acknowledged(self, topic_partition: TopicPartition) -> list[TrueRecord]:
        """The records of the newest topic of the name that producers were told are written."""
        topic_id = next(
            (i for name, i in reversed(self._ids) if name == topic_partition.topic), None
        )
        if topic_id is None:
            return []
        return self.truth.acknowledged(topic_id, topic_partition.partition)

    def log(self, topic_partition: TopicPartition) -> list[TrueRecord]:
        """The leader's records from the log start to the high watermark, with their outcomes."""
        replica = self.best(topic_partition)
        return records_of(replica.log.batches, replica.log.start_offset, replica.high_watermark)

    def without_epochs(self, topic_partition: TopicPartition) -> list[Record]:
        """Those of the leader's records that do not have the epoch of theirs: magic 0 and 1."""
        log = self.best(topic_partition).log
        return [
            each for stored in log.batches if stored.header is None for each in stored.records()
        ]

    def committed(self, topic_partition: TopicPartition) -> list[TrueRecord]:
        """The records that a reader of committed ones may see now."""
        replica = self.best(topic_partition)
        until = replica.last_stable_offset
        return [
            r for r in self.log(topic_partition) if r.outcome == "committed" and r.offset < until
        ]

    def group_offsets(self, group: str) -> dict[TopicPartition, int]:
        """What is committed to a group, as its coordinator knows it; empty without one."""
        for broker in self.brokers.values():
            _, groups = broker.groups.find(group)
            if groups is not None and broker.is_running:
                known = groups.offsets.get(group, {})
                return {tp: committed.offset for tp, committed in known.items()}
        return {}

    @property
    def unclean_elections(self) -> Sequence[TopicPartition]:
        """The partitions that may have lost acknowledged records, once for each such election."""
        return self.controller.unclean_elections

    def log_start(self, topic_partition: TopicPartition) -> int:
        """The offset before which everything is deleted."""
        return self.best(topic_partition).log.start_offset

    def log_end(self, topic_partition: TopicPartition) -> int:
        """The offset of the next record, replicated or not."""
        return self.best(topic_partition).log.end_offset

    def high_watermark(self, topic_partition: TopicPartition) -> int:
        return self.best(topic_partition).high_watermark

    def last_stable_offset(self, topic_partition: TopicPartition) -> int:
        return self.best(topic_partition).last_stable_offset

    def best(self, topic_partition: TopicPartition) -> Replica:
        """The leader's replica; without a leader, that of a broker that is in sync."""
        topic = self.controller.topics[topic_partition.topic]
        partition = topic.partitions[topic_partition.partition]
        nodes = [partition.leader, *partition.isr, *partition.replicas]
        found = (
            self.brokers[node].replicas.get(topic_partition) for node in nodes if node != NO_LEADER
        )
        replica = next((each for each in found if each is not None), None)
        if replica is None:
            raise NoLeaderError(f"{topic_partition} is on no running broker")
        return replica


class NoLeaderError(Exception):
    """A partition has no leader that could do what is asked of it."""
