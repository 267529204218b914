"""Followers fetch from leaders, and it takes time. Nobody polls: a leader wakes its followers.

Not in bytes: clients see nothing of it but the delay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.batches import Stored
from tests.simulation.kafka.replica import Replica, Role

if TYPE_CHECKING:
    from tests.simulation.kafka.broker import Broker

_MAX_BYTES = 1024 * 1024


class _Fetched(NamedTuple):
    """A leader's answer to a follower."""

    batches: list[Stored]
    high_watermark: int
    start_offset: int
    truncate_at: int | None = None


class Replication:
    """The fetches of one broker's followers.

    Attributes:
        is_isolated: Whether this broker reaches no other one.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.is_isolated = False

    def call_node(self, node: int, topic_partition: TopicPartition) -> None:
        """Wake the fetch of another broker's replica."""
        other = self._broker.peers[node]
        replica = other.replicas.get(topic_partition)
        if replica is not None:
            other.replication.call(replica)

    def call_all(self) -> None:
        """Wake all fetches to and from this broker."""
        for replica in self._broker.replicas.values():
            self.call(replica)
            if replica.is_leader:
                replica.call_followers()

    def call(self, replica: Replica) -> None:
        """Fetch for a follower, unless that is on its way."""
        if replica.role is not Role.FOLLOWER or replica.is_fetching:
            return
        if replica.leader not in self._broker.peers:
            return
        replica.is_fetching = True
        broker = self._broker
        broker.after(broker.draw(broker.settings.replication), lambda: self._send(replica))

    def _send(self, replica: Replica) -> None:
        leader = self._broker.peers.get(replica.leader)
        found = None if leader is None else leader.replicas.get(replica.topic_partition)
        if leader is None or found is None or not self._is_open(leader, found, replica):
            replica.is_fetching = False  # woken again when that has changed
            return
        epoch, node = replica.epoch, self._broker.node
        fetched = _answer(found, replica, node)
        broker = self._broker

        def receive() -> None:
            replica.is_fetching = False
            if replica.epoch == epoch and replica.role is Role.FOLLOWER:
                if self._take(replica, fetched) or self._lacks(found, node):
                    self.call(replica)
            else:
                self.call(replica)

        broker.after(broker.draw(broker.settings.replication), receive)

    def _is_open(self, leader: Broker, found: Replica, replica: Replica) -> bool:
        is_reached = leader.is_running and not (self.is_isolated or leader.replication.is_isolated)
        is_same = found.topic_id == replica.topic_id and found.epoch == replica.epoch
        return is_reached and is_same and found.is_leader and self._broker.node in found.followers

    @staticmethod
    def _take(replica: Replica, fetched: _Fetched) -> bool:
        """Take over an answer; whether the leader must hear of it."""
        if fetched.truncate_at is not None:
            replica.truncate(fetched.truncate_at)
            return True
        if fetched.start_offset > replica.log.end_offset:
            replica.restart_at(fetched.start_offset)
            return True
        is_start_moved = fetched.start_offset > replica.log.start_offset
        replica.take(fetched.batches, fetched.high_watermark, fetched.start_offset)
        return bool(fetched.batches) or is_start_moved

    def _lacks(self, leader: Replica, node: int) -> bool:
        follower = leader.followers.get(node)
        return follower is not None and (
            follower.end_offset < leader.log.end_offset
            or follower.told_high_watermark < leader.high_watermark
        )


def _answer(leader: Replica, replica: Replica, node: int) -> _Fetched:
    """Serve a follower's Fetch: where it diverged (KIP-595), or the next batches."""
    log, end_offset = leader.log, replica.log.end_offset
    last_epoch = replica.log.last_epoch
    if last_epoch >= 0:
        epoch, epoch_end = log.end_of_epoch(last_epoch)
        if epoch < 0 or epoch < last_epoch or epoch_end < end_offset:
            common = replica.log.end_of_epoch(epoch)[1] if epoch >= 0 else log.start_offset
            common = common if common >= 0 else replica.log.end_offset
            return _Fetched([], 0, 0, min(epoch_end if epoch >= 0 else common, common))
    elif end_offset > log.end_offset:
        return _Fetched([], 0, 0, log.end_offset)
    leader.note_fetch(node, end_offset, replica.log.start_offset)
    follower = leader.followers[node]
    follower.told_high_watermark = leader.high_watermark
    batches = log.read(end_offset, log.end_offset, _MAX_BYTES, first_whole=True)
    return _Fetched(batches, leader.high_watermark, log.start_offset)
