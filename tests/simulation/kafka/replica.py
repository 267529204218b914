"""One replica of a partition: who may read how far, as leader and as follower.

A leader waits until its in-sync replicas have a batch before it is below the high watermark; a
follower cuts off what its leader does not have. `replication` carries the batches between them.
Source: Kafka's Partition, UnifiedLog and AbstractFetcherThread.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_protocol.errors import ErrorCode
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.batches import Stored
from tests.simulation.kafka.images import NO_LEADER, PartitionImage
from tests.simulation.kafka.log import UNDEFINED, ReplicaLog, Rolling
from tests.simulation.kafka.producers import Producers, rebuilt

if TYPE_CHECKING:
    from tests.simulation.kafka.broker import Broker

ACKS_ALL: Final = -1
Done = Callable[[ErrorCode], None]


class Role(Enum):
    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"


class Disk:
    """What is left of a replica after its broker was killed."""

    def __init__(
        self, topic_partition: TopicPartition, topic_id: uuid.UUID, rolling: Rolling
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = ReplicaLog(rolling)
        self.high_watermark = 0  # of the last checkpoint
        self.written_ms = 0.0  # when that was


class Follower:
    """What a leader knows of another replica."""

    def __init__(self, now_ms: float) -> None:
        self.end_offset = UNDEFINED
        self.start_offset = 0
        self.told_high_watermark = UNDEFINED
        self.caught_up_ms = now_ms


class _Ack(NamedTuple):
    """A batch that must be on all in-sync replicas."""

    offset: int
    done: Done


class Replica:
    """A partition on one broker, as long as that broker runs.

    Attributes:
        epoch: The newest leader epoch that the broker has heard of.
        seen: The newest state of the partition that the broker has heard of.
        begun_at: The log end when this broker became the leader.
    """

    def __init__(self, broker: Broker, disk: Disk) -> None:
        self.broker = broker
        self.disk = disk
        self.topic_partition = disk.topic_partition
        self.topic_id = disk.topic_id
        self.log = disk.log
        self.high_watermark = max(
            self.log.start_offset, min(disk.high_watermark, self.log.end_offset)
        )
        self.producers = self._rebuilt()
        self.role = Role.NONE
        self.epoch = -1
        self.leader = NO_LEADER
        self.seen = PartitionImage((), (), NO_LEADER, -1, -1)
        self.begun_at = 0
        self.followers: dict[int, Follower] = {}
        self.is_fetching = False
        self._asked_isr: tuple[int, ...] | None = None
        self._watches_lag = False
        self._acks: list[_Ack] = []
        self._watchers: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return (
            f"<Replica {self.topic_partition} on {self.broker.node}: {self.role.value} in epoch "
            f"{self.epoch}, {self.log}, high watermark {self.high_watermark}>"
        )

    @property
    def is_leader(self) -> bool:
        return self.role is Role.LEADER

    @property
    def last_stable_offset(self) -> int:
        unstable = self.producers.first_unstable_offset
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)

    @property
    def knows_high_watermark(self) -> bool:
        """Whether a new leader's high watermark has reached its own epoch (KIP-207)."""
        return self.high_watermark >= self.begun_at

    @property
    def in_sync(self) -> tuple[int, ...]:
        """The committed in-sync replicas."""
        return self.seen.isr

    def watch(self, call: Callable[[], None]) -> None:
        """Call once, when more can be read, or the role changes."""
        self._watchers.append(call)

    def _notify(self) -> None:
        if self._watchers:
            watchers, self._watchers = self._watchers, []
            for call in watchers:
                call()

    # --- Roles -----------------------------------------------------------------------------------

    def hear(self, image: PartitionImage) -> None:
        """The controller has decided."""
        if image.change <= self.seen.change:
            return
        self.seen = image
        self._asked_isr = None
        if image.epoch > self.epoch:
            self.epoch, self.leader = image.epoch, image.leader
            if image.leader == self.broker.node:
                self._lead()
            else:
                self._follow()
        elif self.is_leader:
            self._advance()
            self.expand_isr()

    def _lead(self) -> None:
        now = self.broker.now_ms
        was_leader = self.is_leader
        self.role = Role.LEADER
        self.begun_at = self.log.end_offset
        self.log.begin_epoch(self.epoch)
        self.followers = {n: Follower(now) for n in self.seen.replicas if n != self.broker.node}
        if not was_leader:
            self.broker.began_to_lead(self)
        self._advance()
        self.call_followers()
        self._watch_lag()
        self._notify()

    def _follow(self) -> None:
        was_leader = self.is_leader
        self.role = Role.FOLLOWER
        self.followers = {}
        acks, self._acks = self._acks, []
        if was_leader:
            self.broker.ceased_to_lead(self)
        for ack in acks:
            ack.done(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._notify()
        self.broker.replication.call(self)

    def remove(self) -> None:
        """The topic is deleted."""
        was_leader = self.is_leader
        self.role = Role.NONE
        acks, self._acks = self._acks, []
        if was_leader:
            self.broker.ceased_to_lead(self)
        for ack in acks:
            ack.done(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self._notify()

    # --- As leader -------------------------------------------------------------------------------

    def append(self, batches: list[Stored]) -> None:
        """Append batches that have their offsets; followers will fetch them."""
        for stored in batches:
            self.log.append(stored)
            self.producers.note(stored)
        self._advance()
        self.call_followers()
        self._watch_lag()

    def when_replicated(self, offset: int, timeout_ms: float, done: Done) -> None:
        """Call when all in-sync replicas have what lies below `offset`, or with an error."""
        if self.high_watermark >= offset:
            done(self._after_append())
            return
        ack = _Ack(offset, done)
        self._acks.append(ack)

        def time_out() -> None:
            if ack in self._acks:
                self._acks.remove(ack)
                done(ErrorCode.REQUEST_TIMED_OUT)

        self.broker.after(timeout_ms, time_out)

    def _after_append(self) -> ErrorCode:
        if len(self.in_sync) < self.broker.min_insync_replicas(self.topic_partition):
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    def note_fetch(self, node: int, end_offset: int, start_offset: int) -> None:
        """A follower fetches from its log end on."""
        follower = self.followers[node]
        if end_offset >= self.log.end_offset:
            follower.caught_up_ms = self.broker.now_ms
        if start_offset != follower.start_offset:
            follower.start_offset = start_offset
            self._notify()
        if end_offset != follower.end_offset:
            follower.end_offset = end_offset
            self._advance()
        self.expand_isr()

    def call_followers(self) -> None:
        """Wake the fetches of the followers that lack something."""
        end_offset, high_watermark = self.log.end_offset, self.high_watermark
        for node, follower in self.followers.items():
            if follower.end_offset < end_offset or follower.told_high_watermark < high_watermark:
                self.broker.replication.call_node(node, self.topic_partition)

    def _advance(self) -> None:
        """Move the high watermark to the least end of the in-sync replicas."""
        if not self.is_leader or self._is_under_min_isr():
            return
        counted = {*self.seen.isr, *(self._asked_isr or ())}
        ends = [follower.end_offset for node, follower in self.followers.items() if node in counted]
        high_watermark = min([self.log.end_offset, *ends])
        if high_watermark > self.high_watermark:
            self._set_high_watermark(high_watermark)
            self.call_followers()

    def _is_under_min_isr(self) -> bool:
        """Whether nothing counts as replicated now, because too few replicas are in sync."""
        least = self.broker.min_insync_replicas(self.topic_partition)
        least = min(least, len(self.followers) + 1)
        return self.broker.release.waits_for_min_isr and len(self.seen.isr) < least

    def _set_high_watermark(self, high_watermark: int) -> None:
        self.high_watermark = high_watermark
        self.producers.advance(high_watermark)
        now = self.broker.now_ms
        if now - self.disk.written_ms >= self.broker.settings.checkpoint_ms:
            self.disk.written_ms, self.disk.high_watermark = now, high_watermark
        if self._acks:
            ready = [ack for ack in self._acks if ack.offset <= high_watermark]
            self._acks = [ack for ack in self._acks if ack.offset > high_watermark]
            for ack in ready:
                ack.done(self._after_append())
        self._notify()

    def expand_isr(self) -> None:
        """Ask for the followers that have caught up to be in sync again."""
        if len(self.seen.isr) > len(self.followers):
            return
        level = max(self.high_watermark, self.begun_at)
        live = self.broker.image.live
        back = [
            node
            for node, follower in self.followers.items()
            if node not in self.seen.isr and node in live and follower.end_offset >= level
        ]
        if back:
            self._ask_isr((*self.seen.isr, *back))

    def _watch_lag(self) -> None:
        """Look when a follower may have been behind for replica.lag.time.max.ms."""
        behind = [] if self._watches_lag else self._behind()
        if behind:
            self._watches_lag = True
            first_ms = min(self.followers[node].caught_up_ms for node in behind)
            end_ms = first_ms + self.broker.settings.replica_lag_ms
            self.broker.after(max(1, end_ms - self.broker.now_ms), self._shrink_isr)

    def _behind(self) -> list[int]:
        end_offset = self.log.end_offset
        return [
            node
            for node, follower in self.followers.items()
            if node in self.seen.isr and follower.end_offset < end_offset
        ]

    def _shrink_isr(self) -> None:
        self._watches_lag = False
        if not self.is_leader:
            return
        latest = self.broker.now_ms - self.broker.settings.replica_lag_ms
        lost = {n for n in self._behind() if self.followers[n].caught_up_ms <= latest}
        if lost:
            self._ask_isr(tuple(node for node in self.seen.isr if node not in lost))
        self._watch_lag()

    def _ask_isr(self, isr: tuple[int, ...]) -> None:
        if self._asked_isr is None:
            self._asked_isr = isr
            self.broker.ask_isr(self, isr)

    @property
    def low_watermark(self) -> int:
        """Where the log begins on all replicas that are in sync."""
        starts = [f.start_offset for node, f in self.followers.items() if node in self.seen.isr]
        return min([self.log.start_offset, *starts])

    def isr_refused(self, seen: PartitionImage) -> None:
        """The controller did not agree; if it knows more, that will be heard."""
        if self.seen is seen:
            self._asked_isr = None
            self._advance()

    def delete_before(self, offset: int) -> None:
        """Move the log start (DeleteRecords, retention)."""
        self.log.delete_before(offset)
        if self.high_watermark < self.log.start_offset:
            self._set_high_watermark(self.log.start_offset)
        for follower in self.followers.values():
            follower.told_high_watermark = UNDEFINED
        self.call_followers()

    # --- As follower -----------------------------------------------------------------------------

    def truncate(self, offset: int) -> None:
        """Cut off what the leader does not have."""
        if self.log.truncate(offset):
            self.producers = self._rebuilt()
        self.high_watermark = min(self.high_watermark, self.log.end_offset)
        self.disk.high_watermark = min(self.disk.high_watermark, self.high_watermark)

    def take(self, batches: list[Stored], high_watermark: int, start_offset: int) -> None:
        """Append what the leader sent."""
        for stored in batches:
            self.log.append(stored)
            self.producers.note(stored)
        known = min(high_watermark, self.log.end_offset)
        if known > self.high_watermark:
            self._set_high_watermark(known)
        if start_offset > self.log.start_offset:
            self.log.delete_before(min(start_offset, self.log.end_offset))

    def restart_at(self, offset: int) -> None:
        """The leader has deleted all that this replica has."""
        self.log.restart_at(offset)
        self.producers = self._rebuilt()
        self.high_watermark = offset

    def _rebuilt(self) -> Producers:
        producers = rebuilt(
            self.log.batches, keeps_unknown=self.broker.release.keeps_unknown_producers
        )
        producers.advance(self.high_watermark)
        return producers
