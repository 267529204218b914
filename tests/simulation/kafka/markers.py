"""The markers of one ended transaction: written to each partition, with delay, until all are."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.batches import Marker, marker_batch, placed
from tests.simulation.kafka.coordinators import ShardLog
from tests.simulation.kafka.replica import Done, Replica

if TYPE_CHECKING:
    from tests.simulation.kafka.transactions import Producer

_REQUEST_TIMEOUT_MS: Final = 5_000
_FIRST_PAUSE_MS: Final = 20
_LONGEST_PAUSE_MS: Final = 1_000
# Somebody newer ends the transaction, or nobody has to.
_FINAL: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    }
)


class MarkerRun:
    """Writes the markers of one transaction, and calls when all leaders have them."""

    def __init__(
        self,
        log: ShardLog,
        producer: Producer,
        type_: int,
        partitions: Collection[TopicPartition],
        done: Callable[[], None],
    ) -> None:
        self._log = log
        self._broker = log.replica.broker
        self._producer = producer
        self._marker = Marker(type_, log.epoch)
        self._left = dict.fromkeys(partitions)
        self._done = done

    def start(self) -> None:
        if not self._left:
            self._done()
        for each in [*self._left]:
            self._send(each, _FIRST_PAUSE_MS)

    def _send(self, each: TopicPartition, pause_ms: float) -> None:
        broker = self._broker
        is_answered = False

        def answer(error: ErrorCode) -> None:
            nonlocal is_answered
            if is_answered or each not in self._left or not self._is_current:
                return
            is_answered = True
            if error in _FINAL:
                del self._left[each]
                if not self._left:
                    self._done()
            else:
                longer = min(2 * pause_ms, _LONGEST_PAUSE_MS)
                broker.after(pause_ms, lambda: self._send(each, longer))

        def send() -> None:
            if each not in self._left or not self._is_current:
                return
            if broker.image.partition(each) is None:
                answer(ErrorCode.NONE)  # the topic is gone
                return
            leader = broker.peers.get(broker.leader_of(each))
            if leader is None or not leader.is_up:
                answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
                return
            leader.after(0, lambda: self._append(leader.replicas.get(each), answer))
            broker.after(_REQUEST_TIMEOUT_MS, lambda: answer(ErrorCode.REQUEST_TIMED_OUT))

        if broker.held_markers is None:
            broker.after(broker.draw(broker.settings.markers), send)
        else:
            broker.held_markers.append(send)

    @property
    def _is_current(self) -> bool:
        """Whether this coordinator still is one."""
        replica = self._log.replica
        return replica.is_leader and replica.epoch == self._marker.coordinator_epoch

    def _append(self, replica: Replica | None, answer: Done) -> None:
        """WriteTxnMarkers on the leader of a partition."""
        if replica is None or not replica.is_leader:
            answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        producer_id, epoch = self._producer
        error = replica.producers.check_marker(producer_id, epoch, self._marker.coordinator_epoch)
        if error:
            answer(error)
            return
        data = marker_batch(producer_id, epoch, self._marker, int(replica.broker.now_ms))
        stored = placed(data, replica.log.end_offset, replica.epoch)
        replica.append([stored])
        replica.when_replicated(stored.next_offset, _REQUEST_TIMEOUT_MS, answer)
