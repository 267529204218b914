"""What a broker of a scripted cluster answers: one handler per API, all versions of it.

Each is a function of who is asked and of the request. Answers come at once, long polls too; no
sessions are kept (KIP-227), nothing is converted between message formats, and the one error that
is pushed stands in for every partition of a request. Coordinators are in `coordinating`.
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
from kafka_protocol.primitives import MAX_INT32, ZERO_UUID
from kafka_protocol.records.batch import MAGIC, header_of
from kafka_protocol.schema import Request, Response
from tests.fakes import coordinating
from tests.fakes.log import Log

if TYPE_CHECKING:
    from tests.fakes.cluster import Partition, ScriptedCluster, Topic

_MAGIC_AT = 16
_READS_FOLLOWERS = 11


class Asked(NamedTuple):
    """Who is asked: which node of which cluster, in which version, and what it is to refuse."""

    cluster: ScriptedCluster
    node: int
    version: int
    error: ErrorCode

    def topic(self, name: str | None, topic_id: uuid.UUID) -> Topic | None:
        """A topic by its id where the request has one, else by its name."""
        if topic_id != ZERO_UUID:
            name = self.cluster.names.get(topic_id)
        topic = self.cluster.topics.get(name or "")
        return topic if topic and topic_id in (ZERO_UUID, topic.topic_id) else None

    def partition(
        self, topic: Topic | None, number: int, leader_epoch: int = -1
    ) -> tuple[ErrorCode, Partition | None]:
        """Why a leader would refuse a request for a partition, and the partition if it exists."""
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


# --- Who is there --------------------------------------------------------------------------------


def _api_versions(asked: Asked, request: ApiVersionsRequest) -> ApiVersionsResponse:
    served = asked.cluster.nodes[asked.node].versions
    Range = ApiVersionsResponse.ApiVersion
    ranges = [
        Range(api_key=api_key, min_version=versions.lowest, max_version=versions.highest)
        for api_key, versions in served.items()
    ]
    if asked.version in served[request.api_key]:
        return ApiVersionsResponse(error_code=int(asked.error), api_keys=ranges)
    own = [found for found in ranges if found.api_key == request.api_key]
    return ApiVersionsResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION), api_keys=own)


def _metadata(asked: Asked, request: MetadataRequest) -> MetadataResponse:
    nodes = asked.cluster.nodes
    brokers = [
        MetadataResponse.MetadataResponseBroker(
            node_id=number, host=node.broker.address.host, port=node.broker.address.port
        )
        for number, node in nodes.items()
        if node.is_up
    ]
    wants_all = request.topics is None or (asked.version == 0 and not request.topics)
    if wants_all:
        topics = [_topic(asked, topic) for topic in asked.cluster.topics.values()]
    else:
        topics = [_named_topic(asked, wanted) for wanted in request.topics or ()]
    return MetadataResponse(
        brokers=brokers, cluster_id="scripted", controller_id=min(nodes), topics=topics
    )


def _named_topic(
    asked: Asked, wanted: MetadataRequest.MetadataRequestTopic
) -> MetadataResponse.MetadataResponseTopic:
    found = asked.topic(wanted.name, wanted.topic_id)
    if found is not None:
        return _topic(asked, found)
    by_name = wanted.topic_id == ZERO_UUID
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if by_name else ErrorCode.UNKNOWN_TOPIC_ID
    return MetadataResponse.MetadataResponseTopic(
        error_code=int(error), name=wanted.name, topic_id=wanted.topic_id
    )


def _topic(asked: Asked, topic: Topic) -> MetadataResponse.MetadataResponseTopic:
    if asked.error:
        return MetadataResponse.MetadataResponseTopic(error_code=int(asked.error), name=topic.name)
    Row = MetadataResponse.MetadataResponseTopic.MetadataResponsePartition
    lacking = int(ErrorCode.LEADER_NOT_AVAILABLE)
    partitions = [
        Row(
            error_code=lacking if partition.leader < 0 else 0,
            partition_index=number,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=[partition.leader],
            isr_nodes=[partition.leader],
        )
        for number, partition in topic.partitions.items()
    ]
    return MetadataResponse.MetadataResponseTopic(
        name=topic.name, topic_id=topic.topic_id, partitions=partitions
    )


# --- Reading -------------------------------------------------------------------------------------


def _list_offsets(asked: Asked, request: ListOffsetsRequest) -> ListOffsetsResponse:
    Answer = ListOffsetsResponse.ListOffsetsTopicResponse
    topics = []
    for wanted in request.topics:
        topic = asked.topic(wanted.name, ZERO_UUID)
        answers = []
        for row in wanted.partitions:
            error, partition = asked.partition(topic, row.partition_index, row.current_leader_epoch)
            answer = Answer.ListOffsetsPartitionResponse(
                partition_index=row.partition_index, error_code=int(error)
            )
            if partition is not None and not error:
                found = _position(partition.log, row.timestamp, request.isolation_level)
                if asked.version == 0:
                    answer.old_style_offsets = [found[1]]
                else:
                    answer.timestamp, answer.offset = found
                if asked.version >= 4:
                    answer.leader_epoch = partition.leader_epoch
            answers.append(answer)
        topics.append(Answer(name=wanted.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)


def _position(log: Log, position: int, isolation_level: int) -> tuple[int, int]:
    if position == LATEST_TIMESTAMP:
        return -1, log.last_stable_offset if isolation_level else log.high_watermark
    if position in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        return -1, log.start_offset
    if position == MAX_TIMESTAMP:
        return log.youngest()
    return log.since(position) if position >= 0 else (-1, -1)


def _fetch(asked: Asked, request: FetchRequest) -> FetchResponse:
    if request.session_id != NO_SESSION_ID:
        return FetchResponse(error_code=int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
    left_bytes = request.max_bytes if asked.version >= 3 else MAX_INT32
    first_whole = asked.version >= 3
    responses = []
    for wanted in request.topics:
        topic = asked.topic(wanted.topic, wanted.topic_id)
        partitions = []
        for row in wanted.partitions:
            data, log = _partition_data(asked, topic, row, request.rack_id)
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
    asked: Asked, topic: Topic | None, row: FetchRequest.FetchTopic.FetchPartition, rack: str
) -> tuple[Any, Log | None]:
    """The answer for a partition, so far without records; and its log, if any are to be sent."""
    error, partition = asked.partition(topic, row.partition, row.current_leader_epoch)
    if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and topic is None and asked.version >= 13:
        error = ErrorCode.UNKNOWN_TOPIC_ID
    if partition is None:
        return _refused(row, error), None
    log = partition.log
    if error is ErrorCode.NOT_LEADER_OR_FOLLOWER and asked.version >= _READS_FOLLOWERS:
        follower = partition.followers.get(asked.node)
        error, log = (error, log) if follower is None else (ErrorCode.NONE, follower)
    diverging = _diverging_epoch(log, row)
    if not error and diverging is None:
        error = _out_of_range(log, row)
    if error:
        return _refused(row, error, partition if asked.version >= 12 else None), None
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
    if rack and partition.preferred not in (None, asked.node) and asked.version >= _READS_FOLLOWERS:
        data.preferred_read_replica = partition.preferred
        return data, None
    return data, log


def _refused(
    row: FetchRequest.FetchTopic.FetchPartition, error: ErrorCode, moved: Partition | None = None
) -> Any:
    """`moved`: the partition whose leader is to be named."""
    data = _PartitionData(
        partition_index=row.partition, error_code=int(error), high_watermark=-1, records=b""
    )
    if moved is not None:
        data.current_leader = _PartitionData.LeaderIdAndEpoch(
            leader_id=moved.leader, leader_epoch=moved.leader_epoch
        )
    return data


def _out_of_range(log: Log, row: FetchRequest.FetchTopic.FetchPartition) -> ErrorCode:
    is_there = log.start_offset <= row.fetch_offset <= log.end_offset
    return ErrorCode.NONE if is_there else ErrorCode.OFFSET_OUT_OF_RANGE


def _diverging_epoch(log: Log, row: FetchRequest.FetchTopic.FetchPartition) -> Any:
    """Where the log parted from what the client has read; None where it did not (KIP-320)."""
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


def _produce(asked: Asked, request: ProduceRequest) -> ProduceResponse | None:
    Answer = ProduceResponse.TopicProduceResponse
    responses = []
    for data in request.topic_data:
        topic = asked.topic(data.name, data.topic_id)
        answers = []
        for row in data.partition_data:
            error, partition = asked.partition(topic, row.index)
            records = row.records or b""
            if not error and (len(records) <= _MAGIC_AT or records[_MAGIC_AT] != MAGIC):
                error = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
            base_offset = -1
            if partition is not None and not error:
                error, base_offset = _append(partition, records)
            answers.append(
                Answer.PartitionProduceResponse(
                    index=row.index, error_code=int(error), base_offset=base_offset
                )
            )
        responses.append(
            Answer(name=data.name, topic_id=data.topic_id, partition_responses=answers)
        )
    return ProduceResponse(responses=responses) if request.acks else None


def _append(partition: Partition, records: bytes | memoryview) -> tuple[ErrorCode, int]:
    """Append a batch, unless it is there already or is not due."""
    if partition.max_message_bytes < len(records):
        return ErrorCode.MESSAGE_TOO_LARGE, -1
    header = header_of(bytes(records))
    error, there_at = partition.producers.check(header)
    if error or there_at is not None:
        return error, -1 if there_at is None else there_at
    base_offset = partition.log.append(records, partition.leader_epoch)
    partition.producers.note(header, base_offset)
    return ErrorCode.NONE, base_offset


HANDLERS: dict[type[Request], Callable[[Asked, Any], Response | None]] = {
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
