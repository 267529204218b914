"""The responses of a scripted cluster's brokers: one handler per API, for all its versions.

Limits: no long polls, no fetch sessions (KIP-227), no conversion between message formats, and a
pushed error applies to all partitions of a request. Coordinators are in `coordinating`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.fetch import NO_SESSION_ID, FetchRequest, FetchResponse
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_protocol.messages.list_offsets import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.offset_commit import OffsetCommitRequest
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_protocol.records.batch import MAGIC, header_of
from kafka_protocol.wire.primitives import MAX_INT32, ZERO_UUID
from kafka_protocol.wire.schema import Request, Response
from tests.fakes import coordinating
from tests.fakes.log import Log

if TYPE_CHECKING:
    from tests.fakes.cluster import Partition, ScriptedCluster, Topic

_MAGIC_AT = 16
_READS_FOLLOWERS = 11


class Context(NamedTuple):
    """Where a request arrived, in which version, and the error to respond with."""

    cluster: ScriptedCluster
    node: int
    version: int
    error: ErrorCode

    def topic(self, name: str | None, topic_id: uuid.UUID) -> Topic | None:
        """The topic by its id if the request has one, else by its name."""
        if topic_id != ZERO_UUID:
            name = self.cluster.names.get(topic_id)
        topic = self.cluster.topics.get(name or "")
        return topic if topic and topic_id in (ZERO_UUID, topic.topic_id) else None

    def partition(
        self, topic: Topic | None, number: int, leader_epoch: int = -1
    ) -> tuple[ErrorCode, Partition | None]:
        """A leader's error for a partition, and the partition if it exists."""
        partition = topic.partitions.get(number) if topic else None
        if self.error:
            return self.error, partition
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        if partition.leader != self.node:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, partition
        if -1 < leader_epoch < partition.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH, partition
        if leader_epoch > partition.leader_epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH, partition
        return ErrorCode.NONE, partition


# --- ApiVersions and Metadata --------------------------------------------------------------------


def _api_versions(context: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
    served = context.cluster.nodes[context.node].versions
    Range = ApiVersionsResponse.ApiVersion
    ranges = [
        Range(api_key=api_key, min_version=versions.lowest, max_version=versions.highest)
        for api_key, versions in served.items()
    ]
    if context.version not in served[request.api_key]:
        own = [found for found in ranges if found.api_key == request.api_key]
        return ApiVersionsResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION), api_keys=own)
    if (request.cluster_id is None) != (request.node_id < 0):
        return ApiVersionsResponse(error_code=int(ErrorCode.INVALID_REQUEST))
    itself = (context.cluster.cluster_id, context.node)
    if request.cluster_id is not None and (request.cluster_id, request.node_id) != itself:
        return ApiVersionsResponse(error_code=int(ErrorCode.REBOOTSTRAP_REQUIRED))
    return ApiVersionsResponse(error_code=int(context.error), api_keys=ranges)


def _metadata(context: Context, request: MetadataRequest) -> MetadataResponse:
    nodes = context.cluster.nodes
    brokers = [
        MetadataResponse.MetadataResponseBroker(
            node_id=number, host=address.host, port=address.port
        )
        for number, address in context.cluster.addresses.items()
    ]
    wants_all = request.topics is None or (context.version == 0 and not request.topics)
    if wants_all:
        topics = [_topic(context, topic) for topic in context.cluster.topics.values()]
    else:
        topics = [_named_topic(context, wanted) for wanted in request.topics or ()]
    return MetadataResponse(
        brokers=brokers,
        cluster_id=context.cluster.cluster_id,
        controller_id=min(nodes),
        topics=topics,
    )


def _named_topic(
    context: Context, wanted: MetadataRequest.MetadataRequestTopic
) -> MetadataResponse.MetadataResponseTopic:
    found = context.topic(wanted.name, wanted.topic_id)
    if found is not None:
        return _topic(context, found)
    by_name = wanted.topic_id == ZERO_UUID
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if by_name else ErrorCode.UNKNOWN_TOPIC_ID
    return MetadataResponse.MetadataResponseTopic(
        error_code=int(error), name=wanted.name, topic_id=wanted.topic_id
    )


def _topic(context: Context, topic: Topic) -> MetadataResponse.MetadataResponseTopic:
    TopicResponse = MetadataResponse.MetadataResponseTopic
    if context.error:
        return TopicResponse(error_code=int(context.error), name=topic.name)
    no_leader = int(ErrorCode.LEADER_NOT_AVAILABLE)
    partitions = [
        TopicResponse.MetadataResponsePartition(
            error_code=no_leader if partition.leader < 0 else 0,
            partition_index=number,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=[partition.leader],
            isr_nodes=[partition.leader],
        )
        for number, partition in topic.partitions.items()
    ]
    return TopicResponse(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


# --- Reading -------------------------------------------------------------------------------------


def _list_offsets(context: Context, request: ListOffsetsRequest) -> ListOffsetsResponse:
    TopicResponse = ListOffsetsResponse.ListOffsetsTopicResponse
    topics = []
    for wanted in request.topics:
        topic = context.topic(wanted.name, ZERO_UUID)
        partitions = []
        for row in wanted.partitions:
            error, partition = context.partition(
                topic, row.partition_index, row.current_leader_epoch
            )
            response = TopicResponse.ListOffsetsPartitionResponse(
                partition_index=row.partition_index, error_code=int(error)
            )
            if partition is not None and not error:
                found = _find_offset(partition.log, row.timestamp, request.isolation_level)
                if context.version == 0:
                    response.old_style_offsets = [found[1]]
                else:
                    response.timestamp, response.offset = found
                if context.version >= 4:
                    response.leader_epoch = partition.leader_epoch
            partitions.append(response)
        topics.append(TopicResponse(name=wanted.name, partitions=partitions))
    return ListOffsetsResponse(topics=topics)


def _find_offset(log: Log, timestamp: int, isolation_level: int) -> tuple[int, int]:
    """The timestamp and the offset in a ListOffsets response; -1 for none."""
    if timestamp == LATEST_TIMESTAMP:
        return -1, log.last_stable_offset if isolation_level else log.high_watermark
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        return -1, log.start_offset
    if timestamp == MAX_TIMESTAMP:
        return log.newest()
    return log.since(timestamp) if timestamp >= 0 else (-1, -1)


def _fetch(context: Context, request: FetchRequest) -> FetchResponse:
    if request.session_id != NO_SESSION_ID:
        return FetchResponse(error_code=int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
    left_bytes = request.max_bytes if context.version >= 3 else MAX_INT32
    first_whole = context.version >= 3
    responses = []
    for wanted in request.topics:
        topic = context.topic(wanted.topic, wanted.topic_id)
        partitions = []
        for row in wanted.partitions:
            data, log = _partition_data(context, topic, row, request.rack_id)
            if log is not None:
                is_committed = bool(request.isolation_level)
                data.records = log.read(
                    row.fetch_offset,
                    log.last_stable_offset if is_committed else log.high_watermark,
                    min(left_bytes, row.partition_max_bytes),
                    first_whole=first_whole,
                )
                data.aborted_transactions = (
                    _aborted(log, row.fetch_offset) if is_committed else None
                )
                left_bytes = max(0, left_bytes - len(data.records))
                first_whole = first_whole and not data.records
            partitions.append(data)
        responses.append(
            FetchResponse.FetchableTopicResponse(
                topic=wanted.topic, topic_id=wanted.topic_id, partitions=partitions
            )
        )
    return FetchResponse(responses=responses)


_PartitionData = FetchResponse.FetchableTopicResponse.PartitionData


def _partition_data(
    context: Context, topic: Topic | None, row: FetchRequest.FetchTopic.FetchPartition, rack: str
) -> tuple[Any, Log | None]:
    """The response for a partition, still without records; and its log if it has any to send."""
    error, partition = context.partition(topic, row.partition, row.current_leader_epoch)
    if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and topic is None and context.version >= 13:
        error = ErrorCode.UNKNOWN_TOPIC_ID
    if partition is None:
        return _refused(row, error), None
    log = partition.log
    if error is ErrorCode.NOT_LEADER_OR_FOLLOWER and context.version >= _READS_FOLLOWERS:
        follower = partition.followers.get(context.node)
        error, log = (error, log) if follower is None else (ErrorCode.NONE, follower)
    diverging = _diverging_epoch(log, row)
    if not error and diverging is None:
        error = _out_of_range(log, row)
    if error:
        return _refused(row, error, partition if context.version >= 12 else None), None
    data = _PartitionData(
        partition_index=row.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.start_offset,
        records=b"",
    )
    if diverging is not None:
        data.diverging_epoch = diverging
        return data, None
    if (
        rack
        and partition.preferred not in (None, context.node)
        and context.version >= _READS_FOLLOWERS
    ):
        data.preferred_read_replica = partition.preferred
        return data, None
    return data, log


def _refused(
    row: FetchRequest.FetchTopic.FetchPartition, error: ErrorCode, moved: Partition | None = None
) -> Any:
    """An error response, which names the leader of `moved`."""
    data = _PartitionData(
        partition_index=row.partition, error_code=int(error), high_watermark=-1, records=b""
    )
    if moved is not None:
        data.current_leader = _PartitionData.LeaderIdAndEpoch(
            leader_id=moved.leader, leader_epoch=moved.leader_epoch
        )
    return data


def _out_of_range(log: Log, row: FetchRequest.FetchTopic.FetchPartition) -> ErrorCode:
    exists = log.start_offset <= row.fetch_offset <= log.end_offset
    return ErrorCode.NONE if exists else ErrorCode.OFFSET_OUT_OF_RANGE


def _diverging_epoch(log: Log, row: FetchRequest.FetchTopic.FetchPartition) -> Any:
    """The end of the last common epoch if the log diverged from the client's reads (KIP-320)."""
    if row.last_fetched_epoch < 0 or row.fetch_offset < log.start_offset:
        return None
    epoch, end_offset = log.end_of_epoch(row.last_fetched_epoch)
    if epoch == row.last_fetched_epoch and end_offset >= row.fetch_offset:
        return None
    return _PartitionData.EpochEndOffset(epoch=epoch, end_offset=end_offset)


def _aborted(log: Log, offset: int) -> list[Any]:
    return [
        _PartitionData.AbortedTransaction(
            producer_id=aborted.producer_id, first_offset=aborted.first_offset
        )
        for aborted in log.aborted_between(offset, log.last_stable_offset)
    ]


# --- Writing -------------------------------------------------------------------------------------


def _produce(context: Context, request: ProduceRequest) -> ProduceResponse | None:
    TopicResponse = ProduceResponse.TopicProduceResponse
    responses = []
    for data in request.topic_data:
        topic = context.topic(data.name, data.topic_id)
        partitions = []
        for row in data.partition_data:
            error, partition = context.partition(topic, row.index)
            records = row.records or b""
            if not error and (len(records) <= _MAGIC_AT or records[_MAGIC_AT] != MAGIC):
                error = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
            base_offset = -1
            if partition is not None and not error:
                error, base_offset = _append(partition, records)
            partitions.append(
                TopicResponse.PartitionProduceResponse(
                    index=row.index, error_code=int(error), base_offset=base_offset
                )
            )
        responses.append(
            TopicResponse(name=data.name, topic_id=data.topic_id, partition_responses=partitions)
        )
    return ProduceResponse(responses=responses) if request.acks else None


def _append(partition: Partition, records: bytes | memoryview) -> tuple[ErrorCode, int]:
    """Append a batch, unless it is a duplicate or out of order."""
    if partition.max_message_bytes < len(records):
        return ErrorCode.MESSAGE_TOO_LARGE, -1
    header = header_of(bytes(records))
    error, duplicate_of = partition.producers.check(header)
    if error or duplicate_of is not None:
        return error, -1 if duplicate_of is None else duplicate_of
    base_offset = partition.log.append(records, partition.leader_epoch)
    partition.producers.note(header, base_offset)
    return ErrorCode.NONE, base_offset


HANDLERS: dict[type[Request], Callable[[Context, Any], Response | None]] = {
    ApiVersionsRequest: _api_versions,
    FetchRequest: _fetch,
    FindCoordinatorRequest: coordinating.find_coordinator,
    InitProducerIdRequest: coordinating.init_producer_id,
    ListOffsetsRequest: _list_offsets,
    MetadataRequest: _metadata,
    OffsetCommitRequest: coordinating.offset_commit,
    OffsetFetchRequest: coordinating.offset_fetch,
    ProduceRequest: _produce,
}
