"""Coordinators: who minds a key, and the log that a coordinator's state is kept in.

The state of a key is the newest record of it in a partition of an internal topic. The leader of
the partition is the coordinator; a new leader reads the log first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from kafka_protocol.errors import ErrorCode
from kafka_protocol.records.record import Record
from tests.simulation.kafka.batches import batch_of, placed

if TYPE_CHECKING:
    from tests.simulation.kafka.broker import Broker
    from tests.simulation.kafka.replica import Replica

TRANSACTIONS_TOPIC: Final = "__transaction_state"
OFFSETS_TOPIC: Final = "__consumer_offsets"

_WRITE_TIMEOUT_MS: Final = 5_000
# What a failed write of the log means to the client (TransactionStateManager).
_NOT_WRITTEN: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
}


def partition_of(key: str, partitions: int) -> int:
    """The partition of a key: Java's hash of strings."""
    value = 0
    units = key.encode("utf-16-be")
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % partitions


class ShardLog:
    """The partition of the internal topic that one coordinator writes."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica

    @property
    def epoch(self) -> int:
        """The coordinator's epoch: that of the leader."""
        return self.replica.epoch

    def write(self, key: str, state: Any, done: Callable[[ErrorCode], None]) -> None:
        """Append the state of a key; calls when it is replicated, with a client's error."""
        replica = self.replica
        if not replica.is_leader:
            done(ErrorCode.NOT_COORDINATOR)
            return
        broker = replica.broker
        if len(replica.in_sync) < broker.min_insync_replicas(replica.topic_partition):
            done(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        record = Record(0, int(broker.now_ms), key.encode(), json.dumps(state).encode())
        stored = placed(batch_of([record]), replica.log.end_offset, replica.epoch)
        replica.append([stored])
        replica.when_replicated(
            stored.next_offset, _WRITE_TIMEOUT_MS, lambda e: done(_NOT_WRITTEN.get(e, e))
        )

    def read(self) -> dict[str, Any]:
        """The newest state of each key, in the order of their first writes."""
        found: dict[str, Any] = {}
        for stored in self.replica.log.batches:
            for record in stored.records():
                found[(record.key or b"").decode()] = json.loads(record.value or b"null")
        return found


class Shard(Protocol):
    """The state that one partition of the internal topic keeps."""

    def __init__(self, log: ShardLog) -> None: ...

    def load(self) -> None:
        """Read the log, and go on with what is not finished."""


S = TypeVar("S", bound=Shard)


class Shards(Generic[S]):
    """The coordinators that a broker has for one kind of keys."""

    def __init__(self, broker: Broker, topic: str, kind: Callable[[ShardLog], S]) -> None:
        self._broker = broker
        self._kind = kind
        self._loaded: dict[int, S] = {}
        self._loading: dict[int, S] = {}
        self.topic = topic

    @property
    def all_loaded(self) -> list[S]:
        return [self._loaded[number] for number in sorted(self._loaded)]

    @property
    def is_loading(self) -> bool:
        return bool(self._loading)

    def clear(self) -> None:
        self._loaded.clear()
        self._loading.clear()

    def find(self, key: str) -> tuple[ErrorCode, S | None]:
        """The coordinator of a key, if it is here and has read its log."""
        topic = self._broker.image.topics.get(self.topic)
        if topic is None:
            return ErrorCode.NOT_COORDINATOR, None
        number = partition_of(key, len(topic.partitions))
        if number in self._loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None
        shard = self._loaded.get(number)
        return (ErrorCode.NOT_COORDINATOR if shard is None else ErrorCode.NONE), shard

    def began_to_lead(self, replica: Replica) -> None:
        name, number = replica.topic_partition
        if name != self.topic:
            return
        shard = self._loading[number] = self._kind(ShardLog(replica))

        def load() -> None:
            if self._loading.get(number) is shard:
                del self._loading[number]
                self._loaded[number] = shard
                shard.load()

        self._broker.after(self._broker.draw(self._broker.settings.loading), load)

    def ceased_to_lead(self, replica: Replica) -> None:
        name, number = replica.topic_partition
        if name == self.topic:
            self._loaded.pop(number, None)
            self._loading.pop(number, None)
