"""The position of a read in a range: the next offset, and whether the log still has it. Pure.

A leader that says that the position is not in its log may be stale, so a second response has to
confirm it, as the table says. No request, no clock; `fetch` sends, waits and retries.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.errors import (
    EpochEnd,
    LogTruncatedError,
    OffsetOutOfRangeError,
)
from kafka_protocol.client.consumer.fetch_request import PartlyRead
from kafka_protocol.client.consumer.fetch_size import FetchSize
from kafka_protocol.errors import CorruptRecordError, KafkaError, KafkaTimeoutError, ProtocolError
from kafka_protocol.records.fetch_response import (
    UNKNOWN_EPOCH,
    PartitionData,
    TakenBatches,
)
from kafka_protocol.topic_partition import LogBounds

# Responses with batches but without progress before the read fails.
_MAX_IDLE_RESPONSES: Final = 10


class Event(Enum):
    """A statement of a leader's response about the position."""

    PROGRESS = "batches follow it"
    OUT_OF_RANGE = "Fetch: OFFSET_OUT_OF_RANGE"
    DIVERGED = "Fetch: the log ends before it in the epoch of the read"
    WITHIN_BOUNDS = "ListOffsets: the log has it"
    OUTSIDE_BOUNDS = "ListOffsets: the log does not have it"


class State(Enum):
    """The knowledge about the position."""

    IN_LOG = "it is in the log"
    OUT_OF_RANGE = "it may be outside: the bounds of the log are next"
    DIVERGED = "the log may be truncated: another Fetch is next"
    LOST = "the read fails, or goes on elsewhere"


# The missing events must not happen: no Fetch is sent in OUT_OF_RANGE, and LOST is the end.
NEXT: Final[Mapping[State, Mapping[Event, State]]] = {
    State.IN_LOG: {
        Event.PROGRESS: State.IN_LOG,
        Event.OUT_OF_RANGE: State.OUT_OF_RANGE,
        Event.DIVERGED: State.DIVERGED,
    },
    State.OUT_OF_RANGE: {
        Event.OUT_OF_RANGE: State.OUT_OF_RANGE,  # of ListOffsets, from a broker gone wrong
        Event.WITHIN_BOUNDS: State.IN_LOG,
        Event.OUTSIDE_BOUNDS: State.LOST,
    },
    State.DIVERGED: {
        Event.PROGRESS: State.IN_LOG,
        Event.OUT_OF_RANGE: State.OUT_OF_RANGE,
        Event.DIVERGED: State.LOST,
    },
    State.LOST: {},
}


class FetchPosition:
    """The position of one read.

    Attributes:
        rest: The part of the range that is not read yet.
        epoch: The leader epoch of the batch before it, or UNKNOWN_EPOCH.
        state: The knowledge about the position.
    """

    def __init__(self, reading: PartlyRead, config: ClientConfig) -> None:
        self.rest = reading.rest
        self.epoch = reading.epoch
        self.state = State.IN_LOG
        self._max_response_bytes = config.max_response_bytes
        self._size = FetchSize(config)
        self._idle_responses = 0

    def __repr__(self) -> str:
        return f"<FetchPosition at {self.rest}: {self.state.value}>"

    @property
    def offset(self) -> int:
        """The next offset."""
        return self.rest.from_offset

    @property
    def max_bytes(self) -> int:
        """How many bytes to request."""
        return self.max_bytes_at(self.offset)

    def max_bytes_at(self, offset: int) -> int:
        """How many bytes to request from an offset of the rest on."""
        return self._size.for_offsets(self.rest.until_offset - offset)

    def after(self, offset: int) -> int:
        """An offset that a Fetch from `offset` on probably reaches; the end if it may have all."""
        offsets = self._size.offsets_in(self.max_bytes_at(offset))
        return min(offset + max(0, offsets), self.rest.until_offset)

    @property
    def is_done(self) -> bool:
        """Whether the whole range is read."""
        return self.rest.is_empty

    def note(self, event: Event) -> None:
        """Note the statement of a leader's response."""
        self.state = NEXT[self.state][event]

    def advance(self, taken: TakenBatches, data: PartitionData) -> None:
        """Move to the offset after the batches of a response.

        Raises:
            CorruptRecordError: A batch cannot be received, or stays above the high watermark.
            ProtocolError: Several responses had only batches before the position.
        """
        if data.records and taken.is_empty:
            self._enlarge(len(data.records))
        elif taken.position > self.offset:
            self._size.note(taken, self.offset)
            self.rest = self.rest._replace(from_offset=taken.position)
            self.epoch = taken.epoch
            self.note(Event.PROGRESS)
        elif data.records:
            self._count_idle_response(taken.misplaced)

    def made_progress(self) -> None:
        """Forget responses without progress."""
        self._idle_responses = 0

    def check_not_diverged(self, data: PartitionData) -> None:
        """Raise LogTruncatedError if a log ends before the position in its epoch (KIP-320)."""
        agreed = EpochEnd(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
        if agreed.end_offset >= 0:
            raise LogTruncatedError(self.rest.topic_partition, self.offset, self.epoch, agreed)

    def check_within(self, log: LogBounds) -> None:
        """Raise OffsetOutOfRangeError unless the position is in the log.

        If it is, the leader was stale, or it has no leader epochs and cannot compare ours.
        """
        if not log.earliest <= self.offset <= log.latest:
            self.note(Event.OUTSIDE_BOUNDS)
            raise OffsetOutOfRangeError(self.rest.topic_partition, self.offset, *log)
        self.note(Event.WITHIN_BOUNDS)
        self.epoch = UNKNOWN_EPOCH

    def idle_error(self, data: PartitionData, idle_ms: int, isolation_level: str) -> KafkaError:
        """Why no records came for so long: the log ends here, or the broker does not send them."""
        topic_partition, offset, until = self.rest
        open_transaction = _open_transaction_text(data, isolation_level)
        if not open_transaction and 0 <= data.high_watermark <= offset:
            earliest = max(0, data.log_start_offset)
            return OffsetOutOfRangeError(topic_partition, offset, earliest, data.high_watermark)
        return KafkaTimeoutError(
            f"Cannot fetch record for offset {offset} of {topic_partition} in {idle_ms} "
            f"milliseconds; the range ends at {until}{open_transaction}"
        )

    def _count_idle_response(self, error: KafkaError | None) -> None:
        """Count a response with batches but without progress; raise when there are too many."""
        self._idle_responses += 1
        if self._idle_responses >= _MAX_IDLE_RESPONSES:
            raise error or ProtocolError(
                f"Fetch of {self.rest.topic_partition} at offset {self.offset}: "
                f"{_MAX_IDLE_RESPONSES} responses held only batches before that offset"
            )

    def _enlarge(self, got_bytes: int) -> None:
        """Request more bytes: brokers below 0.10.1 cut even the first batch (KIP-74)."""
        if self.max_bytes >= self._size.most:
            raise CorruptRecordError(
                "the batch does not fit in kafka.receive.message.max.bytes "
                f"({self._max_response_bytes} bytes); {got_bytes} bytes came",
                offset=self.offset,
                topic_partition=self.rest.topic_partition,
            )
        self._size.enlarge(self.max_bytes)


def _open_transaction_text(data: PartitionData, isolation_level: str) -> str:
    """The end of the error text where an open transaction hides the records; or nothing."""
    is_committed = isolation_level == "read_committed"
    if not is_committed or not 0 <= data.last_stable_offset < data.high_watermark:
        return ""
    return (
        f". An open transaction holds the last stable offset at {data.last_stable_offset}, "
        f"below the high watermark {data.high_watermark}, and kafka.isolation.level is "
        "read_committed: end the transaction (kafka-transactions.sh finds hanging ones), or "
        "read uncommitted records"
    )
