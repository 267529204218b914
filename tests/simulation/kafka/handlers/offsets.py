"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords: positions in the logs of leaders."""

from __future__ import annotations

from typing import Any, Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.delete_records import DeleteRecordsResponse
from kafka_protocol.messages.list_offsets import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsetsResponse,
)
from kafka_protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse
from tests.simulation.kafka.call import Call
from tests.simulation.kafka.log import NOWHERE, UNDEFINED, Position
from tests.simulation.kafka.replica import Replica

# The first version with each position that stands for a timestamp.
_FIRST_VERSION: Final = {
    LATEST_TIMESTAMP: 1,
    EARLIEST_TIMESTAMP: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}
_HAS_NOT_AVAILABLE: Final = 5
_HAS_EPOCHS: Final = 4
_PartitionOffsets = ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse


# --- ListOffsets ---------------------------------------------------------------------------------


def list_offsets(call: Call) -> None:
    """The offset of a position or of a time."""
    call.respond(
        ListOffsetsResponse(
            topics=[
                ListOffsetsResponse.ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[_listed(call, topic.name, row) for row in topic.partitions],
                )
                for topic in call.request.topics
            ]
        )
    )


def _listed(call: Call, topic: str, row: Any) -> _PartitionOffsets:
    found = _PartitionOffsets(partition_index=row.partition_index)
    error, replica = call.leader(topic, row.partition_index, row.current_leader_epoch)
    if not error and row.timestamp < 0 and call.version:
        lowest = _FIRST_VERSION.get(row.timestamp)
        if lowest is None or call.version < lowest:
            error = ErrorCode.UNSUPPORTED_VERSION
    if error or replica is None:
        found.error_code = int(error)
        return found
    if call.version == 0:
        found.old_style_offsets = _old_style(replica, row)
        return found
    error, position = _position(replica, row.timestamp, bool(call.request.isolation_level))
    if error and call.version < _HAS_NOT_AVAILABLE:
        error = ErrorCode.LEADER_NOT_AVAILABLE
    found.error_code = int(error)
    found.timestamp, found.offset, leader_epoch = position
    if call.version >= _HAS_EPOCHS:
        found.leader_epoch = leader_epoch
    return found


def _position(replica: Replica, timestamp: int, is_committed: bool) -> tuple[ErrorCode, Position]:
    log = replica.log
    end = replica.last_stable_offset if is_committed else replica.high_watermark
    is_known = replica.knows_high_watermark or not replica.broker.release.tells_lag
    lags = ErrorCode.NONE if is_known else ErrorCode.OFFSET_NOT_AVAILABLE
    if timestamp == LATEST_TIMESTAMP:
        return lags, NOWHERE if lags else Position(-1, end, replica.epoch)
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        return ErrorCode.NONE, Position(-1, log.start_offset, log.epoch_at(log.start_offset))
    if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
        return ErrorCode.NONE, NOWHERE
    position = log.newest() if timestamp == MAX_TIMESTAMP else log.since(timestamp)
    if position.offset < end:
        return ErrorCode.NONE, position
    return lags, NOWHERE


def _old_style(replica: Replica, row: Any) -> list[int]:
    """Offsets of segments, newest first: here a log is one segment."""
    log = replica.log
    if row.timestamp == LATEST_TIMESTAMP:
        found = [replica.high_watermark]
        if replica.high_watermark > log.start_offset:
            found.append(log.start_offset)
    else:
        is_before = row.timestamp == EARLIEST_TIMESTAMP
        found = [log.start_offset] if is_before else []
    return found[: row.max_num_offsets]


# --- OffsetForLeaderEpoch ------------------------------------------------------------------------


def offset_for_leader_epoch(call: Call) -> None:
    """The end of a leader epoch."""
    Topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    call.respond(
        OffsetForLeaderEpochResponse(
            topics=[
                Topic(
                    topic=topic.topic,
                    partitions=[_epoch_end(call, topic.topic, row) for row in topic.partitions],
                )
                for topic in call.request.topics
            ]
        )
    )


def _epoch_end(call: Call, topic: str, row: Any) -> Any:
    error, replica = call.leader(topic, row.partition, row.current_leader_epoch)
    epoch, end_offset = UNDEFINED, UNDEFINED
    if not error and replica is not None:
        epoch, end_offset = replica.log.end_of_epoch(row.leader_epoch)
    return OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult.EpochEndOffset(
        error_code=int(error), partition=row.partition, leader_epoch=epoch, end_offset=end_offset
    )


# --- DeleteRecords -------------------------------------------------------------------------------


def delete_records(call: Call) -> None:
    """Move log starts, and answer when the followers have done it too."""
    _Deletion(call).attempt()


class _Deletion:
    """A DeleteRecords request, until it is answered."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._is_answered = False
        self._waits: list[tuple[Any, Replica, int]] = []
        Result = DeleteRecordsResponse.DeleteRecordsTopicResult
        self._topics = [
            Result(
                name=topic.name,
                partitions=[self._deleted(topic.name, row) for row in topic.partitions],
            )
            for topic in call.request.topics
        ]
        if self._waits:
            call.broker.after(call.request.timeout_ms, lambda: self.attempt(is_last=True))

    def _deleted(self, topic: str, row: Any) -> Any:
        result = DeleteRecordsResponse.DeleteRecordsTopicResult.DeleteRecordsPartitionResult(
            partition_index=row.partition_index, low_watermark=-1
        )
        error, replica = self._call.leader(topic, row.partition_index)
        if not error and replica is not None:
            offset = replica.high_watermark if row.offset == -1 else row.offset
            config = self._call.broker.image.topics[topic].config
            if "delete" not in config.get("cleanup.policy", "delete"):
                error = ErrorCode.POLICY_VIOLATION
            elif not 0 <= offset <= replica.high_watermark:
                error = ErrorCode.OFFSET_OUT_OF_RANGE
            else:
                replica.delete_before(offset)
                self._waits.append((result, replica, offset))
        result.error_code = int(error)
        return result

    def attempt(self, *, is_last: bool = False) -> None:
        """Answer if all followers have followed, or if there is no more time."""
        if self._is_answered:
            return
        late = [wait for wait in self._waits if wait[1].low_watermark < wait[2]]
        if late and not is_last:
            for _, replica, _ in late:
                replica.watch(self.attempt)
            return
        self._is_answered = True
        for result, replica, offset in self._waits:
            result.low_watermark = replica.low_watermark
            if replica.low_watermark < offset:
                result.error_code = int(ErrorCode.REQUEST_TIMED_OUT)
        self._call.respond(DeleteRecordsResponse(topics=self._topics))
