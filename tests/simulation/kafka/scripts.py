"""Scripts of requests: what is sent to a simulated and to a real broker alike."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafka_protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafka_protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafka_protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
)
from kafka_protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafka_protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.messages.find_coordinator import (
    GROUP,
    TRANSACTION,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.list_offsets import ListOffsetsResponse
from kafka_protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.records.batch import Producer as BatchProducer
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.peers import Peer, ask_until, topic_id_of
from tests.simulation.kafka.requests import (
    batch,
    fetch_request,
    list_request,
    listed,
    produce_request,
    produced,
)
from tests.simulation.kafka.transactions import Producer
from tests.simulation.kafka.world import START_MS

Script = Callable[[Peer, str], None]

_BY_NAME: Final = 12
_T: Final = int(START_MS)
NO_PRODUCER: Final = Producer(-1, -1)
_UNKNOWN_ID: Final = uuid.UUID(int=1)


# --- What scripts do again and again -------------------------------------------------------------


def create(peer: Peer, name: str, partitions: int = 1, version: int = 7, **config: str) -> None:
    """Create a topic, and wait until its partitions have leaders."""
    Topic = CreateTopicsRequest.CreatableTopic
    configs = [
        Topic.CreatableTopicConfig(name=key.replace("_", "."), value=value)
        for key, value in config.items()
    ]
    topic = Topic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=20_000)
    count = len(peer.notes.answers)
    response = peer.ask(request, CreateTopicsResponse, version)
    assert response is not None
    assert not response.topics[0].error_code
    ask_until(peer, list_request(-2, TopicPartition(name, 0)), ListOffsetsResponse, _has_leader, 1)
    del peer.notes.answers[count:]


def _has_leader(response: ListOffsetsResponse) -> bool:
    return not listed(response).error_code


def find_coordinator(peer: Peer, key: str, key_type: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    ask_until(peer, request, FindCoordinatorResponse, lambda r: not r.coordinators[0].error_code)


def init(
    peer: Peer,
    name: str | None,
    producer: Producer = NO_PRODUCER,
    *,
    version: int = 5,
    timeout_ms: int = 60_000,
) -> Producer:
    """InitProducerId, once the coordinator has read its log and has ended the last transaction."""
    request = InitProducerIdRequest(
        transactional_id=name,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer.producer_id if version >= 3 else -1,
        producer_epoch=producer.epoch if version >= 3 else -1,
    )
    waits = (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    )
    response = ask_until(
        peer, request, InitProducerIdResponse, lambda r: r.error_code not in waits, version
    )
    return Producer(response.producer_id, response.producer_epoch)


def add(
    peer: Peer, name: str, producer: Producer, topic: str, *numbers: int, version: int = 3
) -> None:
    peer.ask(
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=[*(numbers or (0,))])
            ],
        ),
        AddPartitionsToTxnResponse,
        version,
    )


def end(
    peer: Peer, name: str, producer: Producer, *, commits: bool, version: int = 4
) -> Producer | None:
    response = peer.ask(
        EndTxnRequest(
            transactional_id=name,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commits,
        ),
        EndTxnResponse,
        version,
    )
    if response is None:
        return None
    return Producer(response.producer_id, response.producer_epoch)


def wait_for_end(peer: Peer, name: str) -> None:
    """Describe a transaction when its markers are written."""
    ask_until(
        peer,
        DescribeTransactionsRequest(transactional_ids=[name]),
        DescribeTransactionsResponse,
        lambda r: not r.transaction_states[0].transaction_state.startswith("Prepare"),
    )


def write(
    peer: Peer,
    topic: str,
    *written: bytes,
    producer: Producer | None = None,
    sequence: int = 0,
    transactional_id: str | None = None,
    version: int = 11,
    acks: int = -1,
) -> int:
    """Produce one batch; returns its offset."""
    of_batch = BatchProducer(
        *(producer or (-1, -1)),
        sequence if producer else -1,
        is_transactional=transactional_id is not None,
    )
    request = produce_request(
        batch(*written, producer=of_batch),
        TopicPartition(topic, 0),
        transactional_id=transactional_id,
        acks=acks,
    )
    response = peer.ask(request, ProduceResponse, version)
    return -1 if response is None else int(produced(response).base_offset)


def read(peer: Peer, topic: str, offset: int = 0, version: int = _BY_NAME, **options: Any) -> None:
    peer.ask(fetch_request(offset, TopicPartition(topic, 0), **options), FetchResponse, version)


# --- Producers -----------------------------------------------------------------------------------


def idempotent_writes(peer: Peer, topic: str) -> None:
    """Sequences, duplicates of the last five, gaps, old and new epochs."""
    create(peer, topic)
    producer = init(peer, None)
    for sequence in range(7):
        write(peer, topic, b"v", producer=producer, sequence=sequence)
    for sequence in (6, 5, 2, 1, 0, 9, 7):
        write(peer, topic, b"v", producer=producer, sequence=sequence)
    write(peer, topic, b"two", b"values", producer=producer, sequence=7)
    later = Producer(producer.producer_id, 1)
    write(peer, topic, b"v", producer=later, sequence=3)
    write(peer, topic, b"v", producer=later, sequence=0)
    write(peer, topic, b"v", producer=producer, sequence=8)
    write(peer, topic, b"v", producer=Producer(producer.producer_id + 500, 0), sequence=5)
    read(peer, topic)
    _describe_producers(peer, topic)


def _describe_producers(peer: Peer, topic: str, number: int = 0) -> None:
    request = DescribeProducersRequest(
        topics=[DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=[number])]
    )
    peer.ask(request, DescribeProducersResponse)


def refused_writes(peer: Peer, topic: str) -> None:
    """Damaged, too large, of the wrong format, to nobody, with a wrong acks."""
    create(peer, topic, max_message_bytes="1000")
    tp = TopicPartition(topic, 0)
    good = batch(b"v")
    damaged = bytearray(good)
    damaged[-2] ^= 1
    for records in (bytes(damaged), batch(b"v" * 1000), good + good, b""):
        peer.ask(produce_request(records, tp), ProduceResponse, 11)
    for acks in (2, -2):
        peer.ask(produce_request(good, tp, acks=acks), ProduceResponse, 11)
    peer.ask(produce_request(good, TopicPartition(topic, 1)), ProduceResponse, 11)
    peer.ask(produce_request(good, TopicPartition(f"no-{topic}", 0)), ProduceResponse, 11)
    peer.ask(produce_request(good, TopicPartition("", 0), topic_id=_UNKNOWN_ID), ProduceResponse)
    topic_id = topic_id_of(peer, topic)
    peer.ask(produce_request(good, TopicPartition("", 0), topic_id=topic_id), ProduceResponse)
    read(peer, topic)


def writes_without_acks(peer: Peer, topic: str) -> None:
    """acks=1 and no acks: what is written is the same."""
    create(peer, topic)
    write(peer, topic, b"a", acks=1)
    read(peer, topic)


def stamped_writes(peer: Peer, topic: str) -> None:
    """LogAppendTime."""
    create(peer, topic, message_timestamp_type="LogAppendTime")
    write(peer, topic, b"a")
    peer.ask(list_request(-3, TopicPartition(topic, 0)), ListOffsetsResponse, 6)


# --- Reading -------------------------------------------------------------------------------------


def reads_at_bounds(peer: Peer, topic: str) -> None:
    """Before, at and behind the ends of the log; small limits; epochs; ids."""
    create(peer, topic)
    write(peer, topic, b"a", b"b", b"c")
    write(peer, topic, b"d" * 100)
    for offset in (0, 1, 3, 4, 5, -1):
        for version in (4, 11, _BY_NAME):
            read(peer, topic, offset, version)
    for max_bytes in (1, 80, 100):
        read(peer, topic, 0, max_bytes=max_bytes)
    for epoch in (0, 1):
        read(peer, topic, 0, epoch=epoch)
    for last_epoch in (0, 1):
        read(peer, topic, 3, last_epoch=last_epoch)
        read(peer, topic, 4, last_epoch=last_epoch)
    topic_id = topic_id_of(peer, topic)
    for by_id in (topic_id, _UNKNOWN_ID):
        for version in (13, 18):
            read(peer, topic, 0, version, topic_id=by_id)
            read(peer, topic, 9, version, topic_id=by_id)
    read(peer, f"no-{topic}", 0)
    peer.ask(fetch_request(0, TopicPartition(topic, 7)), FetchResponse, _BY_NAME)


def offsets_by_time(peer: Peer, topic: str) -> None:
    """Every kind of timestamp, in the versions that know it and in others."""
    create(peer, topic)
    tp = TopicPartition(topic, 0)
    for timestamp in (-1, -2, -3, _T):
        peer.ask(list_request(timestamp, tp), ListOffsetsResponse, 7)
    for at, name in ((0, b"a"), (20, b"b"), (10, b"c")):
        peer.ask(produce_request(batch(name, timestamp=_T + at), tp), ProduceResponse, 11)
    for timestamp in (-1, -2, -3, -4, -5, -6, -7, 0, _T, _T + 1, _T + 15, _T + 20, _T + 21):
        for version in (1, 5, 7, 8, 9, 10, 11):
            peer.ask(list_request(timestamp, tp), ListOffsetsResponse, version)
    for epoch in (0, 1):
        peer.ask(list_request(-1, tp, epoch=epoch), ListOffsetsResponse)
    peer.ask(list_request(-1, TopicPartition(topic, 1)), ListOffsetsResponse)
    peer.ask(list_request(-1, TopicPartition(f"no-{topic}", 0)), ListOffsetsResponse)


def epoch_ends(peer: Peer, topic: str) -> None:
    """OffsetForLeaderEpoch, below, at and above the only epoch."""
    create(peer, topic)
    Topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    write(peer, topic, b"a", b"b")
    for number, epoch, current in (
        (0, 0, -1),
        (0, 0, 0),
        (0, 1, -1),
        (0, -1, -1),
        (0, 0, 1),
        (0, 5, 0),
        (1, 0, -1),
    ):
        row = Topic.OffsetForLeaderPartition(
            partition=number, leader_epoch=epoch, current_leader_epoch=current
        )
        request = OffsetForLeaderEpochRequest(
            replica_id=-1, topics=[Topic(topic=topic, partitions=[row])]
        )
        peer.ask(request, OffsetForLeaderEpochResponse)


def deleted_records(peer: Peer, topic: str) -> None:
    """DeleteRecords at all bounds, and what reads and look-ups see then."""
    create(peer, topic)
    create(peer, f"{topic}-compacted", cleanup_policy="compact")
    for value in (b"a", b"b", b"c", b"d"):
        write(peer, topic, value, value)
    tp = TopicPartition(topic, 0)
    for offset in (0, 3, 2, 9, -2, 8, -1):
        delete(peer, topic, offset)
        for timestamp in (-1, -2, _T):
            peer.ask(list_request(timestamp, tp), ListOffsetsResponse)
        for at in (0, 2, 3, 7, 8):
            read(peer, topic, at)
    delete(peer, topic, 0, number=1)
    delete(peer, f"{topic}-compacted", 0)
    write(peer, topic, b"e")
    read(peer, topic, 8)


def delete(peer: Peer, topic: str, offset: int, number: int = 0) -> None:
    Topic = DeleteRecordsRequest.DeleteRecordsTopic
    row = Topic.DeleteRecordsPartition(partition_index=number, offset=offset)
    request = DeleteRecordsRequest(topics=[Topic(name=topic, partitions=[row])], timeout_ms=10_000)
    peer.ask(request, DeleteRecordsResponse)


# --- Transactions --------------------------------------------------------------------------------


def transactions(peer: Peer, topic: str) -> None:
    """Commit, abort, repeat both; reads of both kinds while open and afterwards."""
    create(peer, topic)
    find_coordinator(peer, topic, TRANSACTION)
    for commits in (True, False):
        producer = init(peer, topic)
        end(peer, topic, producer, commits=commits)
        write(peer, topic, b"early", producer=producer, transactional_id=topic)
        write(peer, topic, b"early", producer=producer, transactional_id=topic, version=10)
        add(peer, topic, producer, topic)
        add(peer, topic, producer, topic)
        write(peer, topic, b"a", b"b", producer=producer, transactional_id=topic)
        write(peer, topic, b"a", b"b", producer=producer, transactional_id=topic)
        write(peer, topic, b"c", producer=producer, sequence=2, transactional_id=topic)
        _describe(peer, topic)
        _describe_producers(peer, topic)
        for is_committed in (False, True):
            read(peer, topic, is_committed=is_committed)
            request = list_request(-1, TopicPartition(topic, 0), is_committed=is_committed)
            peer.ask(request, ListOffsetsResponse)
        end(peer, topic, producer, commits=commits)
        wait_for_end(peer, topic)
        end(peer, topic, producer, commits=commits)
        end(peer, topic, producer, commits=not commits)
        _settle_end(peer, topic)
        _describe_producers(peer, topic)
        for is_committed in (False, True):
            for offset in (0, 3, 5):
                read(peer, topic, offset, is_committed=is_committed)
        write(peer, topic, b"d", producer=producer, sequence=3, transactional_id=topic)
        write(peer, topic, b"plain")


def _settle_end(peer: Peer, topic: str) -> None:
    """Until the last stable offset is the high watermark."""

    def is_level(response: ListOffsetsResponse) -> bool:
        return bool(listed(response).offset == high)

    count = len(peer.notes.answers)
    tp = TopicPartition(topic, 0)
    response = peer.ask(list_request(-1, tp), ListOffsetsResponse)
    assert response is not None
    high = listed(response).offset
    ask_until(peer, list_request(-1, tp, is_committed=True), ListOffsetsResponse, is_level)
    del peer.notes.answers[count:]


def _describe(peer: Peer, *names: str) -> None:
    request = DescribeTransactionsRequest(transactional_ids=[*names])
    peer.ask(request, DescribeTransactionsResponse)


def fenced_producers(peer: Peer, topic: str) -> None:
    """Another InitProducerId aborts what is open, and the old producer is told so."""
    create(peer, topic)
    find_coordinator(peer, topic, TRANSACTION)
    old = init(peer, topic)
    add(peer, topic, old, topic)
    write(peer, topic, b"a", producer=old, transactional_id=topic)
    request = InitProducerIdRequest(transactional_id=topic, transaction_timeout_ms=60_000)
    peer.ask(request, InitProducerIdResponse)  # CONCURRENT_TRANSACTIONS: it aborts
    wait_for_end(peer, topic)
    new = init(peer, topic)
    _settle_end(peer, topic)
    for version in (1, 2, 3):
        add(peer, topic, old, topic, version=version)
        end(peer, topic, old, commits=True, version=version)
    write(peer, topic, b"b", producer=old, sequence=1, transactional_id=topic)
    write(peer, topic, b"b", producer=old, sequence=1, transactional_id=topic, version=10)
    stranger = Producer(new.producer_id + 500, 0)
    add(peer, topic, stranger, topic)
    end(peer, topic, stranger, commits=True)
    write(peer, topic, b"c", producer=stranger, transactional_id=topic)
    add(peer, topic, new, topic, 0, 4)
    add(peer, topic, new, f"no-{topic}")
    _describe(peer, topic)
    read(peer, topic, is_committed=True)


def init_variants(peer: Peer, topic: str) -> None:
    """With and without the producer that one had, of all versions."""
    find_coordinator(peer, topic, TRANSACTION)
    first = init(peer, topic)
    for version in (0, 1, 2, 3, 4):
        init(peer, topic, version=version)
    for timeout_ms in (0, -1, 900_001):
        init(peer, topic, timeout_ms=timeout_ms)
    init(peer, "")
    last = init(peer, topic)
    same = init(peer, topic, last)
    init(peer, topic, last)  # repeated
    init(peer, topic, first)
    init(peer, topic, first, version=3)
    init(peer, topic, Producer(same.producer_id + 700, 0))
    init(peer, topic, Producer(same.producer_id, -1))
    init(peer, None, version=2)
    init(peer, None, same)
    _describe(peer, topic, f"no-{topic}")


def transactions_v2(peer: Peer, topic: str) -> None:
    """Produce adds partitions, and each end brings the next epoch (KIP-890)."""
    create(peer, topic)
    find_coordinator(peer, topic, TRANSACTION)
    producer = init(peer, topic)
    for commits in (True, False):
        write(peer, topic, b"a", producer=producer, transactional_id=topic, version=12)
        write(peer, topic, b"b", producer=producer, sequence=1, transactional_id=topic, version=12)
        _describe(peer, topic)
        after = end(peer, topic, producer, commits=commits, version=5)
        wait_for_end(peer, topic)
        end(peer, topic, producer, commits=commits, version=5)
        end(peer, topic, producer, commits=not commits, version=5)
        _settle_end(peer, topic)
        write(peer, topic, b"c", producer=producer, sequence=2, transactional_id=topic, version=12)
        assert after is not None
        producer = after
    after = end(peer, topic, producer, commits=False, version=5)
    wait_for_end(peer, topic)
    end(peer, topic, after or producer, commits=True, version=5)
    read(peer, topic, is_committed=True)
    _describe_producers(peer, topic)


def _has_loaded(response: ListTransactionsResponse) -> bool:
    return response.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def listed_transactions(peer: Peer, topic: str) -> None:
    """By state, producer, pattern and age."""
    create(peer, topic)
    find_coordinator(peer, topic, TRANSACTION)
    producer = init(peer, topic)
    pattern = f"{topic}.*"
    for states in ([], ["Empty"], ["Ongoing"], ["Nonsense", "Empty"]):
        for duration in (-1, 3_600_000):
            request = ListTransactionsRequest(
                state_filters=states,
                producer_id_filters=[producer.producer_id],
                duration_filter=duration,
                transactional_id_pattern=pattern,
            )
            ask_until(peer, request, ListTransactionsResponse, _has_loaded)
    request = ListTransactionsRequest(
        state_filters=[], producer_id_filters=[], transactional_id_pattern="no-such-.*"
    )
    peer.ask(request, ListTransactionsResponse)
    end(peer, topic, producer, commits=False)


# --- Groups and metadata -------------------------------------------------------------------------


def group_offsets(peer: Peer, topic: str) -> None:
    """Commits and fetches of a group without members, of unknown topics, of no group."""
    create(peer, topic, 2)
    find_coordinator(peer, topic, GROUP)
    _fetch_offsets(peer, topic, topic)
    commit(peer, topic, topic, {0: 5})
    commit(peer, topic, topic, {0: 7, 1: 3, 9: 1}, metadata="m")
    commit(peer, topic, f"no-{topic}", {0: 1})
    commit(peer, topic, topic, {0: 8}, generation=3)
    _fetch_offsets(peer, topic, topic)
    _fetch_offsets(peer, topic, None)
    _fetch_offsets(peer, f"no-{topic}", None)
    _fetch_offsets(peer, topic, f"no-{topic}")


def commit(
    peer: Peer,
    group: str,
    topic: str,
    offsets: dict[int, int],
    metadata: str = "",
    generation: int = -1,
) -> None:
    Topic = OffsetCommitRequest.OffsetCommitRequestTopic
    rows = [
        Topic.OffsetCommitRequestPartition(
            partition_index=number, committed_offset=offset, committed_metadata=metadata
        )
        for number, offset in offsets.items()
    ]
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        topics=[Topic(name=topic, partitions=rows)],
    )
    loading = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
    ask_until(
        peer,
        request,
        OffsetCommitResponse,
        lambda r: r.topics[0].partitions[0].error_code not in loading,
        9,
    )


def _fetch_offsets(peer: Peer, group: str, topic: str | None) -> None:
    Group = OffsetFetchRequest.OffsetFetchRequestGroup
    topics = [Group.OffsetFetchRequestTopics(name=topic or "", partition_indexes=[0, 1])]
    request = OffsetFetchRequest(
        groups=[Group(group_id=group, topics=None if topic is None else topics)]
    )
    loading = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
    ask_until(
        peer, request, OffsetFetchResponse, lambda r: r.groups[0].error_code not in loading, 9
    )
    Topic = OffsetFetchRequest.OffsetFetchRequestTopic
    old_topics = [Topic(name=topic or "", partition_indexes=[0, 1])]
    old = OffsetFetchRequest(group_id=group, topics=None if topic is None else old_topics)
    for version in (2, 7):
        peer.ask(old, OffsetFetchResponse, version)


def metadata(peer: Peer, topic: str) -> None:
    """Of known, unknown and impossible topics, by name and by id."""
    create(peer, topic, 2)
    topic_id = topic_id_of(peer, topic)
    Topic = MetadataRequest.MetadataRequestTopic
    for name in (topic, f"no-{topic}", "", "not/legal", ".", "x" * 250):
        for version in (4, 8, 9, 13):
            request = MetadataRequest(topics=[Topic(name=name)], allow_auto_topic_creation=False)
            peer.ask(request, MetadataResponse, version)
    for by_id in (topic_id, _UNKNOWN_ID):
        for version in (12, 13):
            request = MetadataRequest(
                topics=[Topic(name=None, topic_id=by_id)], allow_auto_topic_creation=False
            )
            peer.ask(request, MetadataResponse, version)
    peer.ask(MetadataRequest(topics=[]), MetadataResponse)


def unsupported_versions(peer: Peer, topic: str) -> None:
    """A broker closes the connection on what it does not serve, but for ApiVersions."""
    create(peer, topic)
    read(peer, topic, 0, 3)
    peer.ask(list_request(-1, TopicPartition(topic, 0)), ListOffsetsResponse, 0)
    read(peer, topic)


def topics_come_and_go(peer: Peer, topic: str) -> None:
    """Created twice, refused, deleted, created again with another id."""
    Topic = CreateTopicsRequest.CreatableTopic
    create(peer, topic)
    write(peer, topic, b"a")
    old_id = topic_id_of(peer, topic)
    for name, partitions, replicas in (
        (topic, 1, 1),
        ("not/legal", 1, 1),
        (f"{topic}-x", 0, 1),
        (f"{topic}-x", 1, 5),
        (f"{topic}-x", 1, 0),
    ):
        wanted = Topic(name=name, num_partitions=partitions, replication_factor=replicas)
        peer.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=9_000), CreateTopicsResponse, 4)
    for name in (topic, f"no-{topic}"):
        request = DeleteTopicsRequest(
            topics=[DeleteTopicsRequest.DeleteTopicState(name=name)], timeout_ms=9_000
        )
        peer.ask(request, DeleteTopicsResponse)
    for by_id in (old_id, _UNKNOWN_ID):
        request = DeleteTopicsRequest(
            topics=[DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=by_id)],
            timeout_ms=9_000,
        )
        peer.ask(request, DeleteTopicsResponse)
    create(peer, topic)
    new_id = topic_id_of(peer, topic)
    write(peer, topic, b"b")
    for by_id in (old_id, new_id):
        read(peer, topic, 0, 13, topic_id=by_id)
        again = produce_request(batch(b"c"), TopicPartition("", 0), topic_id=by_id)
        peer.ask(again, ProduceResponse)


def topic_configs(peer: Peer, topic: str) -> None:
    """The configurations that a commit log is checked for."""
    create(peer, topic, cleanup_policy="compact", segment_bytes="1048576")
    Resource = DescribeConfigsRequest.DescribeConfigsResource
    names = ["cleanup.policy", "segment.bytes", "max.message.bytes", "message.timestamp.type"]
    for name in (topic, f"no-{topic}"):
        resource = Resource(resource_type=2, resource_name=name, configuration_keys=names)
        peer.ask(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)


SCRIPTS: Final[Sequence[Script]] = (
    deleted_records,
    epoch_ends,
    fenced_producers,
    group_offsets,
    idempotent_writes,
    init_variants,
    listed_transactions,
    metadata,
    offsets_by_time,
    reads_at_bounds,
    refused_writes,
    stamped_writes,
    topic_configs,
    topics_come_and_go,
    transactions,
    transactions_v2,
    unsupported_versions,
    writes_without_acks,
)
