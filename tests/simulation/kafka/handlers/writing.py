"""Produce: checks, appends, and waits for the in-sync replicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kafka_protocol.errors import CorruptRecordError, ErrorCode
from kafka_protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_protocol.records.batch import MAGIC, BatchHeader
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.addresses import endpoints
from tests.simulation.kafka.batches import (
    Stored,
    as_messages,
    as_stored,
    batches_of,
    magic_of,
    placed,
    placed_messages,
)
from tests.simulation.kafka.call import Call
from tests.simulation.kafka.images import NO_LEADER
from tests.simulation.kafka.quotas import respond_within_quota
from tests.simulation.kafka.replica import ACKS_ALL, Replica
from tests.simulation.kafka.verification import verify

_Row = ProduceRequest.TopicProduceData.PartitionProduceData
_Bad = ProduceResponse.TopicProduceResponse.PartitionProduceResponse.BatchIndexAndErrorMessage
_Result = ProduceResponse.TopicProduceResponse.PartitionProduceResponse

_BY_ID: Final = 13
_TELLS_LEADER: Final = 10  # KIP-951
_ONLY_NEW: Final = 3
_HAS_ZSTD: Final = 7
_MAX_AHEAD_MS: Final = 3_600_000
_MUTES: Final = 6
# These tell the log start although they are errors (ReplicaManager.appendRecordsToLocalLog).
_TELL_START: Final = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.INVALID_TIMESTAMP)
_INTERNAL: Final = ErrorCode.INVALID_TOPIC_EXCEPTION


def produce(call: Call) -> None:
    _Produce(call).start()


class _Produce:
    """One Produce request, until all its partitions are done."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._left = 1
        self._bytes = 0
        self._leaders: set[int] = set()
        self._responses: list[Any] = []

    def start(self) -> None:
        request = self._call.request
        for topic in request.topic_data:
            rows = [_Result(index=row.index, base_offset=-1) for row in topic.partition_data]
            self._responses.append(
                ProduceResponse.TopicProduceResponse(
                    name=topic.name, topic_id=topic.topic_id, partition_responses=rows
                )
            )
            for row, result in zip(topic.partition_data, rows, strict=True):
                self._left += 1
                self._bytes += len(row.records or b"")
                self._one(topic, row, result)
        self._done()

    def _one(self, topic: ProduceRequest.TopicProduceData, row: _Row, result: Any) -> None:
        name, error = self._name(topic)
        if not error:
            error = self._request_error(bytes(row.records or b""))
        if error:
            self._finish(result, error)
            return
        error, replica = self._call.leader(name, row.index)
        if error or replica is None:
            self._refuse_moved(TopicPartition(name, row.index), result, error)
            return
        append = _Append(self._call, replica, bytes(row.records or b""))
        error = append.check()
        if error:
            start = replica.log.start_offset if error in _TELL_START else -1
            self._finish(result, error, append.error_message, start, append.bad_records)
            return

        def verified(error: ErrorCode) -> None:
            refusal = error or append.append()
            if refusal:
                self._finish(result, refusal, start=-1 if error else replica.log.start_offset)
            else:
                self._wait(append, result)

        verify(self._call, replica, append.transactional_header, verified)

    def _name(self, topic: ProduceRequest.TopicProduceData) -> tuple[str, ErrorCode]:
        image = self._call.broker.image
        name: str | None = topic.name
        if self._call.version >= _BY_ID:
            name = image.names.get(topic.topic_id)
            if name is None:
                return "", ErrorCode.UNKNOWN_TOPIC_ID
        found = image.topics.get(name or "")
        is_internal = found is not None and found.is_internal
        return name or "", _INTERNAL if is_internal else ErrorCode.NONE

    def _request_error(self, records: bytes) -> ErrorCode:
        call = self._call
        if call.request.acks not in (-1, 0, 1):
            return ErrorCode.INVALID_REQUIRED_ACKS
        if call.version >= _ONLY_NEW and magic_of(records) != 2:
            return ErrorCode.INVALID_RECORD
        return ErrorCode.NONE

    def _wait(self, append: _Append, result: Any) -> None:
        _fill(
            result,
            base_offset=append.base_offset,
            log_append_time_ms=append.log_append_time,
            log_start_offset=append.replica.log.start_offset,
        )

        def done(error: ErrorCode) -> None:
            if not error:
                append.acknowledge()
            self._finish(result, error)

        if self._call.request.acks == ACKS_ALL:
            timeout_ms = self._call.request.timeout_ms
            append.replica.when_replicated(append.next_offset, timeout_ms, done)
        else:
            done(ErrorCode.NONE)

    def _refuse_moved(self, tp: TopicPartition, result: Any, error: ErrorCode) -> None:
        partition = self._call.broker.image.partition(tp)
        is_moved = error is ErrorCode.NOT_LEADER_OR_FOLLOWER
        if is_moved and partition is not None and self._call.version >= _TELLS_LEADER:
            result.current_leader = _Result.LeaderIdAndEpoch(
                leader_id=partition.leader, leader_epoch=partition.epoch
            )
            self._leaders |= {partition.leader} - {NO_LEADER}
        self._finish(result, error)

    def _finish(
        self,
        result: Any,
        error: ErrorCode,
        message: str | None = None,
        start: int = -1,
        bad_records: Sequence[int] = (),
    ) -> None:
        if error:
            _fill(
                result,
                error_code=int(error),
                error_message=message,
                record_errors=[_Bad(batch_index=index) for index in bad_records],
                base_offset=-1,
                log_append_time_ms=-1,
                log_start_offset=start,
            )
        self._done()

    def _done(self) -> None:
        self._left -= 1
        if self._left:
            return
        call = self._call
        if call.request.acks == 0:
            self._done_without_response()
            return
        response = ProduceResponse(
            responses=self._responses,
            node_endpoints=endpoints(
                ProduceResponse.NodeEndpoint, self._leaders, call.broker.settings
            ),
        )
        respond_within_quota(call, response, self._bytes, mutes=call.version >= _MUTES)

    def _done_without_response(self) -> None:
        """As brokers do: the connection is closed where the client would hear of an error."""
        results = (row for each in self._responses for row in each.partition_responses)
        if any(row.error_code for row in results):
            self._call.close()
        self._call.respond(None)


def _fill(result: Any, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(result, name, value)


class _Append:
    """The records for one partition, on their way into its log.

    Attributes:
        transactional_header: That of a batch in a transaction, which is to be verified.
        bad_records: The places of the records that made the broker refuse the batch.
    """

    def __init__(self, call: Call, replica: Replica, records: bytes) -> None:
        self.replica = replica
        self.transactional_header: BatchHeader | None = None
        self.base_offset = -1
        self.next_offset = -1
        self.log_append_time = -1
        self.error_message: str | None = None
        self.bad_records: list[int] = []
        self._call = call
        self._records = records
        self._header: BatchHeader | None = None
        self._stored: list[Stored] = []

    def check(self) -> ErrorCode:
        """The error that the records by themselves have."""
        broker, topic_partition = self._call.broker, self.replica.topic_partition
        if self._call.request.acks == ACKS_ALL and (
            len(self.replica.in_sync) < broker.min_insync_replicas(topic_partition)
        ):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        try:
            batches = [*batches_of(self._records)]
        except CorruptRecordError as error:
            self.error_message = str(error)
            return ErrorCode.CORRUPT_MESSAGE
        topic = broker.image.topics[topic_partition.topic]
        max_bytes = topic.number("max.message.bytes", broker.settings.max_message_bytes)
        if any(len(data) > max_bytes for data, _ in batches):
            return ErrorCode.MESSAGE_TOO_LARGE
        header = batches[0][1].header
        if isinstance(header, BatchHeader):
            self._header = header
            return self._check_batch(header, len(batches))
        return ErrorCode.NONE

    def _check_batch(self, header: BatchHeader, count: int) -> ErrorCode:
        if count > 1 or header.is_control or header.base_offset or not header.is_dense:
            return ErrorCode.INVALID_RECORD
        if header.codec == CompressionCodec.ZSTD and self._call.version < _HAS_ZSTD:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if header.is_transactional:
            self.transactional_header = header
        return self._check_timestamps(header)

    def _check_timestamps(self, header: BatchHeader) -> ErrorCode:
        """Refuse records from the future; which ones, is decoded only then."""
        broker = self._call.broker
        topic = broker.image.topics[self.replica.topic_partition.topic]
        ahead_ms = topic.number("message.timestamp.after.max.ms", _MAX_AHEAD_MS)
        latest = broker.now_ms + ahead_ms
        stamps = topic.config.get("message.timestamp.type") == "LogAppendTime"
        if stamps or header.max_timestamp <= latest or not broker.release.limits_timestamps:
            return ErrorCode.NONE
        records = as_stored(self._records).records()
        self.bad_records = [i for i, record in enumerate(records) if record.timestamp > latest]
        return ErrorCode.INVALID_TIMESTAMP

    def append(self) -> ErrorCode:
        """Append, unless it is a duplicate or out of order."""
        replica = self.replica
        if not replica.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        header = self._header
        if header is None:
            self._stored = placed_messages(self._records, replica.log.end_offset, replica.epoch)
        elif self._call.broker.message_magic < MAGIC:
            if header.is_transactional or header.producer_id >= 0:
                return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
            messages = as_messages(self._records, self._call.broker.message_magic)
            self._stored = placed_messages(messages, replica.log.end_offset, replica.epoch)
        else:
            if header.producer_id >= 0:
                error = self._check_producer(header)
                if error or self.base_offset >= 0:
                    return error
            self._stored = [self._placed(replica)]
        self.base_offset = self._stored[0].base_offset
        self.next_offset = self._stored[-1].next_offset
        replica.append(self._stored)
        return ErrorCode.NONE

    def _check_producer(self, header: BatchHeader) -> ErrorCode:
        producers = self.replica.producers
        broker = self._call.broker
        producers.expire(broker.now_ms, broker.settings.keeps_producers_ms)
        known = producers.known.get(header.producer_id)
        copy = known and known.copy_of(header)
        if copy:
            self.base_offset = copy.base_offset
            self.next_offset = copy.base_offset + copy.records_count
            self.log_append_time = copy.timestamp
            return ErrorCode.NONE
        return producers.check(header)

    def _placed(self, replica: Replica) -> Stored:
        broker = self._call.broker
        config = broker.image.topics[replica.topic_partition.topic].config
        stamps = config.get("message.timestamp.type") == "LogAppendTime"
        if stamps:
            self.log_append_time = int(broker.now_ms)
        return placed(
            self._records,
            replica.log.end_offset,
            replica.epoch,
            self.log_append_time if stamps else None,
        )

    def acknowledge(self) -> None:
        """The producer is told that its records are written: note it for the judge."""
        if self._stored and self._call.request.acks:
            self._call.broker.truth.acknowledge(
                self.replica.topic_id,
                self.replica.topic_partition.partition,
                self._stored,
                self._call.request.acks,
            )
