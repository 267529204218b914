"""Fetch: long polls, reads from followers, fencing. Sessions (KIP-227) are never granted."""

from __future__ import annotations

import uuid
from functools import partial
from typing import Any, Final, NamedTuple

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.primitives import MAX_INT32, ZERO_UUID
from tests.simulation.kafka.addresses import endpoints
from tests.simulation.kafka.batches import Stored
from tests.simulation.kafka.call import Call
from tests.simulation.kafka.images import NO_LEADER
from tests.simulation.kafka.log import UNDEFINED
from tests.simulation.kafka.quotas import respond_within_quota
from tests.simulation.kafka.replica import Replica

_Row = FetchRequest.FetchTopic.FetchPartition
_PartitionData = FetchResponse.FetchableTopicResponse.PartitionData

_BY_ID: Final = 13
_TELLS_LEADER: Final = 16  # KIP-951
_READS_FOLLOWERS: Final = 11  # KIP-392
_HAS_ZSTD: Final = 10  # KIP-110
_MUTES: Final = 8  # KIP-219
_UNKNOWN: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_MOVED: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class _Read(NamedTuple):
    """The response for a partition, and whether it is not to wait."""

    data: Any
    replica: Replica | None
    is_urgent: bool = False


def fetch(call: Call) -> None:
    _Fetch(call).attempt()


class _Fetch:
    """One Fetch request, until it is answered."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._is_answered = False
        self._is_waiting = False
        self._watched: list[Replica] = []
        request = call.request
        own_max = request.max_bytes if call.version >= 3 else MAX_INT32
        self._max_bytes = min(own_max, call.broker.settings.fetch_max_bytes)
        self._is_committed = bool(request.isolation_level)

    def attempt(self, *, is_last: bool = False) -> None:
        """Answer if there is enough to tell, or if there is no more time."""
        if self._is_answered:
            return
        call, request = self._call, self._call.request
        left_bytes, first_whole = self._max_bytes, call.version >= 3
        reads: list[_Read] = []
        responses = []
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                read = self._read(topic, row, left_bytes, first_whole)
                size = len(read.data.records)
                left_bytes = max(0, left_bytes - size)
                first_whole = first_whole and not size
                reads.append(read)
                rows.append(read.data)
            responses.append(
                FetchResponse.FetchableTopicResponse(
                    topic=topic.topic, topic_id=topic.topic_id, partitions=rows
                )
            )
        size = self._max_bytes - left_bytes
        is_enough = size >= request.min_bytes or any(read.is_urgent for read in reads)
        if is_enough or is_last or not reads or request.max_wait_ms <= 0:
            self._answer(responses, reads, sum(len(read.data.records) for read in reads))
        else:
            self._wait(reads)

    def _wait(self, reads: list[_Read]) -> None:
        for replica in (read.replica for read in reads):
            if replica is not None and replica not in self._watched:
                self._watched.append(replica)
                replica.watch(partial(self._wake, replica))
        if not self._is_waiting:
            self._is_waiting = True
            wait_ms = self._call.request.max_wait_ms
            self._call.broker.after(wait_ms, lambda: self.attempt(is_last=True))

    def _wake(self, replica: Replica) -> None:
        self._watched.remove(replica)
        self.attempt()

    def _answer(self, responses: list[Any], reads: list[_Read], size: int) -> None:
        self._is_answered = True
        leaders = {read.data.current_leader.leader_id for read in reads} - {NO_LEADER}
        response = FetchResponse(
            responses=responses,
            node_endpoints=endpoints(
                FetchResponse.NodeEndpoint, leaders, self._call.broker.settings
            ),
        )
        respond_within_quota(self._call, response, size, mutes=self._call.version >= _MUTES)

    # --- One partition ---------------------------------------------------------------------------

    def _read(
        self, topic: FetchRequest.FetchTopic, row: _Row, left_bytes: int, first_whole: bool
    ) -> _Read:
        call = self._call
        name, error = self._name(topic)
        if error:
            return _Read(_refused(row, error), None, True)
        error, replica = call.leader(
            name,
            row.partition,
            row.current_leader_epoch,
            or_follower=call.version >= _READS_FOLLOWERS,
        )
        if topic.topic_id != ZERO_UUID and self._is_of_namesake(
            name, row.partition, topic.topic_id
        ):
            error = ErrorCode.INCONSISTENT_TOPIC_ID
        if error or replica is None:
            return _Read(self._moved(name, row, error), None, True)
        log = replica.log
        diverging = _diverging_epoch(replica, row)
        if diverging is UNKNOWN_EPOCH or not (
            log.start_offset <= row.fetch_offset <= log.end_offset
        ):
            return _Read(_refused(row, ErrorCode.OFFSET_OUT_OF_RANGE), None, True)
        data = _PartitionData(
            partition_index=row.partition,
            high_watermark=replica.high_watermark,
            last_stable_offset=replica.last_stable_offset,
            log_start_offset=log.start_offset,
            aborted_transactions=None,
            records=b"",
        )
        if diverging is not None:
            data.diverging_epoch = diverging
            return _Read(data, replica, True)
        preferred = _preferred_replica(call, replica, row.fetch_offset)
        if preferred != NO_LEADER:
            data.preferred_read_replica = preferred
            return _Read(data, replica, True)
        return self._with_records(data, replica, row, left_bytes, first_whole)

    def _name(self, topic: FetchRequest.FetchTopic) -> tuple[str, ErrorCode]:
        if self._call.version < _BY_ID:
            return topic.topic, ErrorCode.NONE
        name = self._call.broker.image.names.get(topic.topic_id)
        return name or "", ErrorCode.NONE if name else ErrorCode.UNKNOWN_TOPIC_ID

    def _is_of_namesake(self, name: str, number: int, topic_id: uuid.UUID) -> bool:
        """Whether the log here is still that of a deleted topic of the same name."""
        replica = self._call.broker.replicas.get(TopicPartition(name, number))
        return replica is not None and replica.topic_id != topic_id

    def _with_records(
        self, data: Any, replica: Replica, row: _Row, left_bytes: int, first_whole: bool
    ) -> _Read:
        until = replica.last_stable_offset if self._is_committed else replica.high_watermark
        max_bytes = min(left_bytes, row.partition_max_bytes)
        found = replica.log.read(
            row.fetch_offset, until, max(max_bytes, int(first_whole)), first_whole=first_whole
        )
        if found and self._call.version < _HAS_ZSTD and any(map(_is_zstd, found)):
            return _Read(_refused(row, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), None, True)
        if found:
            first_bytes = len(found[0].data)
            if first_bytes > max_bytes and first_whole:
                data.records = found[0].data
            elif first_bytes <= max_bytes or self._call.version < 3:
                data.records = b"".join(stored.data for stored in found)[:max_bytes]
        if self._is_committed:
            data.aborted_transactions = _aborted(replica, row.fetch_offset, found)
        return _Read(data, replica)

    def _moved(self, name: str, row: _Row, error: ErrorCode) -> Any:
        """A refusal, which names the leader if another broker is that."""
        data = _refused(row, error)
        partition = self._call.broker.image.partition(TopicPartition(name, row.partition))
        if self._call.version >= _TELLS_LEADER and error in _MOVED and partition is not None:
            data.current_leader = _PartitionData.LeaderIdAndEpoch(
                leader_id=partition.leader, leader_epoch=partition.epoch
            )
        return data


def _refused(row: _Row, error: ErrorCode) -> Any:
    return _PartitionData(
        partition_index=row.partition,
        error_code=int(error),
        high_watermark=-1,
        aborted_transactions=[] if error in _UNKNOWN else None,
        records=b"",
    )


def _is_zstd(stored: Stored) -> bool:
    return stored.header is not None and stored.header.codec == CompressionCodec.ZSTD


UNKNOWN_EPOCH: Final = _PartitionData.EpochEndOffset()


def _diverging_epoch(replica: Replica, row: _Row) -> Any:
    """The end of the last common epoch if the log is not the one that was read (KIP-320)."""
    if row.last_fetched_epoch < 0:
        return None
    epoch, end_offset = replica.log.end_of_epoch(row.last_fetched_epoch)
    if epoch == UNDEFINED:
        return UNKNOWN_EPOCH
    if epoch == row.last_fetched_epoch and end_offset >= row.fetch_offset:
        return None
    return _PartitionData.EpochEndOffset(epoch=epoch, end_offset=end_offset)


def _aborted(replica: Replica, offset: int, found: list[Stored]) -> list[Any]:
    if not found:
        return []
    until = replica.log.upper_bound(found[-1])
    return [
        _PartitionData.AbortedTransaction(
            producer_id=aborted.producer_id, first_offset=aborted.first_offset
        )
        for aborted in replica.producers.aborted_between(offset, until)
    ]


def _preferred_replica(call: Call, replica: Replica, offset: int) -> int:
    """The replica in the client's rack that has the most (RackAwareReplicaSelector)."""
    rack, racks = call.request.rack_id, call.broker.settings.racks
    node = call.broker.node
    if not rack or not replica.is_leader or call.version < _READS_FOLLOWERS:
        return NO_LEADER
    if racks.get(node) == rack:
        return NO_LEADER
    near = [
        (follower.end_offset, -other)
        for other, follower in replica.followers.items()
        if racks.get(other) == rack
        and other in call.broker.image.live
        and other in replica.in_sync
        and follower.start_offset <= offset <= follower.end_offset
    ]
    return -max(near)[1] if near else NO_LEADER
