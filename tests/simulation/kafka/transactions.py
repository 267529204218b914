"""The coordinator of transactions: states and epochs of transactional ids (KIP-98, KIP-890).

Each step is written to the coordinator's log before it counts, so that the next coordinator goes
on where this one ended. Sources: Kafka's TransactionCoordinator, TransactionMetadata. `markers`
writes the markers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import Any, Final, NamedTuple

from kafka_protocol.errors import ErrorCode
from kafka_protocol.records.transactions import ABORT, COMMIT
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.coordinators import ShardLog
from tests.simulation.kafka.markers import MarkerRun
from tests.simulation.kafka.replica import Done

MAX_EPOCH: Final = 32_766  # the next transaction gets another producer id
NO_EPOCH: Final = -1


class State(Enum):
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_ABORT = "PrepareAbort"
    PREPARE_COMMIT = "PrepareCommit"
    COMPLETE_ABORT = "CompleteAbort"
    COMPLETE_COMMIT = "CompleteCommit"


_PREPARED: Final = {ABORT: State.PREPARE_ABORT, COMMIT: State.PREPARE_COMMIT}
_COMPLETED: Final = {ABORT: State.COMPLETE_ABORT, COMMIT: State.COMPLETE_COMMIT}
_TYPES: Final = {state: type_ for type_, state in _PREPARED.items()}


class Producer(NamedTuple):
    """A producer id and its epoch."""

    producer_id: int
    epoch: int


class Entry(NamedTuple):
    """What is known of a transactional id.

    Attributes:
        last_epoch: The epoch before `epoch`, by which a repeated request is known.
        started_ms: When the open transaction began; -1 if there is none.
    """

    producer_id: int
    epoch: int
    state: State
    timeout_ms: int
    partitions: tuple[TopicPartition, ...] = ()
    started_ms: int = -1
    last_epoch: int = NO_EPOCH

    @property
    def producer(self) -> Producer:
        return Producer(self.producer_id, self.epoch)

    def to_json(self) -> list[Any]:
        return [*self._replace(state=self.state.value)]  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, state: list[Any]) -> Entry:
        found = cls._make(state)
        return found._replace(
            state=State(found.state), partitions=tuple(TopicPartition(*p) for p in found.partitions)
        )


Ended = Callable[[ErrorCode, "Producer | None"], None]


class Transactions:
    """The transactional ids of one coordinator."""

    def __init__(self, log: ShardLog) -> None:
        self._log = log
        self._broker = log.replica.broker
        self.entries: dict[str, Entry] = {}
        self._pending: set[str] = set()

    def load(self) -> None:
        for name, state in self._log.read().items():
            self.entries[name] = Entry.from_json(state)
        for name, entry in self.entries.items():
            if entry.state in _TYPES:
                self._write_markers(name, entry)
            elif entry.state is State.ONGOING:
                self._watch(name, entry)

    # --- InitProducerId --------------------------------------------------------------------------

    def begin(self, name: str, timeout_ms: int, expected: Producer | None, done: Ended) -> None:
        """A new epoch for an id; aborts an open transaction first, and the client must retry."""
        entry = self.entries.get(name)
        if name in self._pending:
            done(ErrorCode.CONCURRENT_TRANSACTIONS, None)
        elif entry is None:
            new = Entry(self._broker.next_producer_id(), 0, State.EMPTY, timeout_ms)
            self._begun(name, new, done)
        elif expected is not None and expected.producer_id != entry.producer_id:
            done(ErrorCode.PRODUCER_FENCED, None)
        elif entry.state in _TYPES:
            done(ErrorCode.CONCURRENT_TRANSACTIONS, None)
        elif entry.state is State.ONGOING:
            self.fence(
                name, entry, lambda error: done(error or ErrorCode.CONCURRENT_TRANSACTIONS, None)
            )
        else:
            self._renew(name, entry, timeout_ms, expected, done)

    def _renew(
        self, name: str, entry: Entry, timeout_ms: int, expected: Producer | None, done: Ended
    ) -> None:
        last = NO_EPOCH if expected is None else expected.epoch
        if expected is not None and expected.epoch != entry.epoch:
            if expected.epoch == entry.last_epoch:
                done(ErrorCode.NONE, entry.producer)  # a repeated request
            else:
                done(ErrorCode.PRODUCER_FENCED, None)
            return
        producer = self._after(entry)
        self._begun(name, Entry(*producer, State.EMPTY, timeout_ms, last_epoch=last), done)

    def _after(self, entry: Entry) -> Producer:
        """The next epoch, or the next producer id where epochs are used up."""
        if entry.epoch >= MAX_EPOCH:
            return Producer(self._broker.next_producer_id(), 0)
        return Producer(entry.producer_id, entry.epoch + 1)

    def _begun(self, name: str, new: Entry, done: Ended) -> None:
        self._write(name, new, lambda e: done(e, None if e else new.producer))

    def fence(self, name: str, entry: Entry, done: Done) -> None:
        """Abort an open transaction, and shut its producer out."""
        epoch = min(entry.epoch + 1, MAX_EPOCH + 1)
        prepared = entry._replace(state=State.PREPARE_ABORT, epoch=epoch, last_epoch=NO_EPOCH)
        self._prepare(name, prepared, done)

    # --- AddPartitionsToTxn ----------------------------------------------------------------------

    def add(
        self, name: str, producer: Producer, partitions: Collection[TopicPartition], done: Done
    ) -> None:
        """Add partitions to a transaction; the first ones begin it."""
        entry = self.entries.get(name)
        error = self._refusal(entry, producer)
        if entry is None or error:
            done(error)
        elif name in self._pending or entry.state in _TYPES:
            done(ErrorCode.CONCURRENT_TRANSACTIONS)
        elif entry.state is State.ONGOING and {*partitions} <= {*entry.partitions}:
            done(ErrorCode.NONE)
        else:
            is_open = entry.state is State.ONGOING
            known = entry.partitions if is_open else ()
            new = [each for each in sorted(partitions) if each not in known]
            begun = entry._replace(
                state=State.ONGOING,
                partitions=(*known, *new),
                started_ms=entry.started_ms if is_open else int(self._broker.now_ms),
            )

            def written(error: ErrorCode) -> None:
                if not error and not is_open:
                    self._watch(name, begun)
                done(error)

            self._write(name, begun, written)

    def verify(self, name: str, producer: Producer, partition: TopicPartition) -> ErrorCode:
        """Whether a batch of a transaction may be appended (KIP-890)."""
        entry = self.entries.get(name)
        error = self._refusal(entry, producer)
        if entry is None or error:
            return error
        if name in self._pending or entry.state in _TYPES:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        if entry.state is State.ONGOING and partition in entry.partitions:
            return ErrorCode.NONE
        return ErrorCode.TRANSACTION_ABORTABLE

    @staticmethod
    def _refusal(entry: Entry | None, producer: Producer) -> ErrorCode:
        if entry is None or producer.producer_id != entry.producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return ErrorCode.NONE if producer.epoch == entry.epoch else ErrorCode.PRODUCER_FENCED

    # --- EndTxn ----------------------------------------------------------------------------------

    def end(self, name: str, producer: Producer, type_: int, *, bumps: bool, done: Ended) -> None:
        """Commit or abort; with `bumps`, the epoch goes up with each transaction (KIP-890)."""
        entry = self.entries.get(name)
        is_repeated = bumps and entry is not None and _is_repeated(entry, producer)
        error = ErrorCode.NONE if is_repeated else self._refusal(entry, producer)
        if entry is None or error:
            done(error, None)
        elif name in self._pending:
            done(ErrorCode.CONCURRENT_TRANSACTIONS, None)
        elif entry.state is State.ONGOING and not is_repeated:
            self._decide(name, entry, type_, bumps=bumps, done=done)
        elif entry.state in _TYPES:
            is_same = entry.state is _PREPARED[type_] and (is_repeated or not bumps)
            done(
                ErrorCode.CONCURRENT_TRANSACTIONS if is_same else ErrorCode.INVALID_TXN_STATE, None
            )
        elif bumps and not is_repeated and type_ == ABORT:
            self._decide(name, entry, type_, bumps=True, done=done)  # nothing was written
        elif entry.state is _COMPLETED[type_] and (is_repeated or not bumps):
            done(ErrorCode.NONE, entry.producer)
        else:
            done(ErrorCode.INVALID_TXN_STATE, None)

    def _decide(self, name: str, entry: Entry, type_: int, *, bumps: bool, done: Ended) -> None:
        epoch = entry.epoch + 1 if bumps else entry.epoch
        prepared = entry._replace(state=_PREPARED[type_], epoch=epoch, last_epoch=entry.epoch)
        self._prepare(name, prepared, lambda e: done(e, None if e else prepared.producer))

    def _prepare(self, name: str, prepared: Entry, done: Done) -> None:
        def written(error: ErrorCode) -> None:
            if not error:
                self._write_markers(name, prepared)
            done(error)

        self._write(name, prepared, written)

    def _write_markers(self, name: str, prepared: Entry) -> None:
        type_ = _TYPES[prepared.state]
        completed = prepared._replace(state=_COMPLETED[type_], partitions=(), started_ms=-1)

        def complete() -> None:
            if self.entries.get(name) is prepared and name not in self._pending:
                self._write(name, completed, retry)

        def retry(error: ErrorCode) -> None:
            if error and error is not ErrorCode.NOT_COORDINATOR:
                self._broker.after(self._broker.draw(self._broker.settings.markers), complete)

        MarkerRun(self._log, prepared.producer, type_, prepared.partitions, complete).start()

    # --- Time and log ----------------------------------------------------------------------------

    def _watch(self, name: str, entry: Entry) -> None:
        """Abort a transaction when its time is over, at the coordinator's next look."""
        broker = self._broker
        pause = broker.scheduler.random.uniform(0, broker.settings.transaction_check_ms)
        left = entry.started_ms + entry.timeout_ms - broker.now_ms

        def look() -> None:
            now = self.entries.get(name)
            is_same = (
                now is not None
                and now.state is State.ONGOING
                and (now.producer, now.started_ms) == (entry.producer, entry.started_ms)
            )
            if now is not None and is_same and self._log.replica.is_leader:
                if name in self._pending:
                    broker.after(pause, look)
                else:
                    self.fence(name, now, lambda _: None)

        broker.after(max(0, left) + pause, look)

    def _write(self, name: str, new: Entry, done: Done) -> None:
        self._pending.add(name)

        def written(error: ErrorCode) -> None:
            self._pending.discard(name)
            if not error:
                self.entries[name] = new
            done(error)

        self._log.write(name, new.to_json(), written)


def _is_repeated(entry: Entry, producer: Producer) -> bool:
    """Whether a request has the epoch from before the end of the transaction."""
    is_ended = entry.state is not State.ONGOING and entry.state is not State.EMPTY
    return is_ended and producer == (entry.producer_id, entry.last_epoch)
