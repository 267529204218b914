"""What transactions hide: markers from everyone, what was rolled back from read_committed.

A broker hands out the records of aborted transactions too, with a list of these transactions, and
leaves it to the reader to drop them. No I/O and no offsets to move here: whoever asks goes on
behind a batch that is hidden.

Source: KIP-98; the Fetch API's `aborted_transactions`. The rules are those of Java's consumer.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.batch import BatchHeader, RecordBatch
from kafka_protocol.records.record import decode_records

# The one type of a control record that matters here. There are COMMIT (1), a leader's and a
# snapshot's, and newer brokers may have more: they roll nothing back.
ABORT: Final = 0

_CONTROL_KEY: Final = struct.Struct(">hh")  # version, type; what follows is a later version's

# A marker is one short record.
_MAX_MARKER_BYTES: Final = 64 * 1024


class AbortedTransaction(NamedTuple):
    """Records of this producer from `first_offset` to its next marker are void."""

    producer_id: int
    first_offset: int


class AbortedTransactions:
    """Tells which batches of one Fetch answer are not to be seen.

    Args:
        aborted: The answer's list, in any order (Redpanda does not sort it); nothing under
            read_uncommitted.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction] = ()) -> None:
        self._to_come = deque(sorted(aborted, key=lambda transaction: transaction.first_offset))
        self._producers: set[int] = set()  # whose transaction at this place was aborted

    def __repr__(self) -> str:
        return f"<AbortedTransactions {len(self._producers)} open, {len(self._to_come)} to come>"

    def hides(self, batch: RecordBatch) -> bool:
        """Whether a batch is a marker, or was rolled back.

        Ask for every batch of the answer, in order: for those before the wanted offset too, since
        a marker among them ends a transaction. Compare the checksum first.

        Raises:
            CorruptRecordError: A marker cannot be read.
        """
        header = batch.header
        if not isinstance(header, BatchHeader):  # transactions came with magic 2
            return False
        while self._to_come and self._to_come[0].first_offset < header.next_offset:
            self._producers.add(self._to_come.popleft().producer_id)
        if header.is_control:
            if header.producer_id in self._producers and control_type(batch) == ABORT:
                self._producers.remove(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._producers


def control_type(batch: RecordBatch) -> int | None:
    """The type of a control batch: ABORT, or a number that matters to others.

    The first record decides, as in Java; a producer's batch has no other. None where compaction
    left no record.

    Raises:
        CorruptRecordError: The record or its key is not one.
    """
    records = decode_records(batch, _MAX_MARKER_BYTES)
    if not records:
        return None
    key = records[0].key or b""
    if len(key) < _CONTROL_KEY.size:
        raise CorruptRecordError(
            f"a control record's key has {len(key)} bytes, and {_CONTROL_KEY.size} are needed",
            offset=batch.header.base_offset,
        )
    version, type_ = _CONTROL_KEY.unpack_from(key)
    if version < 0:
        raise CorruptRecordError(
            f"a control record has version {version}", offset=batch.header.base_offset
        )
    return int(type_)
