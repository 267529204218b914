"""Finds the batches that a consumer must skip: control batches, and aborted records.

Under read_committed, a broker returns the records of aborted transactions with a list of these
transactions, and the consumer drops them. A read beyond the last stable offset settles transactions
by their markers. No I/O and no consumer position here.

Source: KIP-98; the Fetch API's `aborted_transactions`. The rules are the same as Java's.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.batch import BatchHeader, RecordBatch
from kafka_protocol.records.record import decode_records

# Other types of control records (leaders and snapshots have more) end no transaction.
ABORT: Final = 0
COMMIT: Final = 1

_CONTROL_KEY: Final = struct.Struct(">hh")  # version, type; later versions may add fields

# A marker is one short record.
_MAX_MARKER_BYTES: Final = 64 * 1024


class AbortedTransaction(NamedTuple):
    """Aborts the records of a producer from `first_offset` to its next marker."""

    producer_id: int
    first_offset: int


class AbortedTransactions:
    """The state of the aborted transactions while the batches of a Fetch response are read.

    Args:
        aborted: The list of the response, in any order (Redpanda does not sort it); empty under
            read_uncommitted.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction] = ()) -> None:
        self._pending = deque(sorted(aborted, key=lambda transaction: transaction.first_offset))
        self._producers: set[int] = set()  # with an open aborted transaction

    def __repr__(self) -> str:
        return f"<AbortedTransactions {len(self._producers)} open, {len(self._pending)} pending>"

    def advance(self, batch: RecordBatch) -> bool:
        """Advance over the next batch; whether it is a control batch, or aborted.

        Call it for every batch of the response, in order, also for batches before the
        wanted offset, because a marker in them may end a transaction. Compare the checksum first.

        Raises:
            CorruptRecordError: A marker is damaged.
        """
        header = batch.header
        if not isinstance(header, BatchHeader):  # transactions need magic 2
            return False
        while self._pending and self._pending[0].first_offset < header.next_offset:
            self._producers.add(self._pending.popleft().producer_id)
        if header.is_control:
            if header.producer_id in self._producers and control_type(batch) == ABORT:
                self._producers.remove(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._producers


class SettledBatches:
    """The batches of a log whose transactions are committed, in the order of their commits.

    For a read that does not end at the last stable offset, with all batches, control batches too.
    """

    def __init__(self) -> None:
        self._open: dict[int, list[RecordBatch]] = {}  # by producer id

    def __repr__(self) -> str:
        return f"<SettledBatches, {len(self._open)} transactions open>"

    def advance(self, batch: RecordBatch) -> list[RecordBatch]:
        """Advance over the next batch; returns the batches that are now known to be committed.

        Raises:
            CorruptRecordError: A marker is damaged.
        """
        header = batch.header
        if not isinstance(header, BatchHeader):
            return [batch]
        if header.is_control:
            ended = self._open.pop(header.producer_id, [])
            return ended if control_type(batch) == COMMIT else []
        if header.is_transactional:
            self._open.setdefault(header.producer_id, []).append(batch)
            return []
        return [batch]

    @property
    def open_batches(self) -> list[RecordBatch]:
        """The batches of transactions that are open at this point."""
        return [batch for batches in self._open.values() for batch in batches]


def control_type(batch: RecordBatch) -> int | None:
    """The type of a control batch: ABORT or another number; None if compaction emptied it.

    The first record has it, as in Java; a marker has no other record.

    Raises:
        CorruptRecordError: The record or its key is damaged.
    """
    records = decode_records(batch, _MAX_MARKER_BYTES)
    if not records:
        return None
    key = records[0].key or b""
    if len(key) < _CONTROL_KEY.size:
        raise CorruptRecordError(
            f"a control record's key has {len(key)} bytes, needed are {_CONTROL_KEY.size}",
            offset=batch.header.base_offset,
        )
    version, type_ = _CONTROL_KEY.unpack_from(key)
    if version < 0:
        raise CorruptRecordError(
            f"a control record has version {version}", offset=batch.header.base_offset
        )
    return int(type_)
