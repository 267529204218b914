"""Scripts for brokers of 0.10: messages of magic 0 and 1, versions from before 0.11."""

from __future__ import annotations

from typing import Final

from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_protocol.messages.list_offsets import ListOffsetsResponse
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.records.compression import Compression, CompressionCodec
from kafka_protocol.records.message import Message, encode_messages, wrap_messages
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.peers import Peer, ask_until
from tests.simulation.kafka.requests import fetch_request, list_request, produce_request
from tests.simulation.kafka.scripts.steps import T, create

_LOADING: Final = (14, 15, 16)


def _messages(*values: bytes, timestamp: int = T, magic: int = 1) -> bytes:
    return encode_messages(
        [Message(at, timestamp, None, value) for at, value in enumerate(values)], magic
    )


def _wrapped(*values: bytes) -> bytes:
    messages = [Message(at, T + at, None, value) for at, value in enumerate(values)]
    last = len(values) - 1
    return wrap_messages(
        encode_messages(messages, 1), Compression(CompressionCodec.GZIP), 1, last, T + last
    )


def writes(peer: Peer, topic: str) -> None:
    """Plain and compressed messages, damaged ones, none, too large ones, and to nobody."""
    create(peer, topic, version=1, max_message_bytes="1000")
    tp = TopicPartition(topic, 0)
    damaged = bytearray(_messages(b"v"))
    damaged[-1] ^= 1
    for records in (
        _messages(b"a"),
        _messages(b"b", b"c"),
        _wrapped(b"d", b"e", b"f"),
        _messages(b"g"),
        bytes(damaged),
        _messages(b"x" * 1000),
        _messages(b"after"),
    ):
        peer.ask(produce_request(records, tp), ProduceResponse, 2)
    peer.ask(produce_request(_messages(b"a"), tp, acks=1), ProduceResponse, 2)
    peer.ask(produce_request(_messages(b"a"), tp, acks=3), ProduceResponse, 2)
    peer.ask(produce_request(_messages(b"a"), TopicPartition(topic, 4)), ProduceResponse, 2)
    for version in (2, 3):
        peer.ask(fetch_request(0, tp), FetchResponse, version)
        peer.ask(fetch_request(4, tp), FetchResponse, version)


def reads(peer: Peer, topic: str) -> None:
    """At all bounds, with small limits: below v3 a message may be cut short."""
    create(peer, topic, version=1)
    tp = TopicPartition(topic, 0)
    for name in (b"a", b"b" * 50):
        peer.ask(produce_request(_messages(name, name), tp), ProduceResponse, 2)
    for offset in (0, 1, 3, 4, 5, -1):
        for version in (2, 3):
            peer.ask(fetch_request(offset, tp), FetchResponse, version)
    for max_bytes in (1, 40, 80, 200):
        for version in (2, 3):
            peer.ask(fetch_request(0, tp, max_bytes=max_bytes), FetchResponse, version)
    peer.ask(fetch_request(0, TopicPartition(topic, 3)), FetchResponse, 3)


def offsets(peer: Peer, topic: str) -> None:
    """By time and by position, in both layouts."""
    create(peer, topic, version=1)
    tp = TopicPartition(topic, 0)
    for timestamp in (-1, -2, T):
        for version in (0, 1):
            peer.ask(list_request(timestamp, tp), ListOffsetsResponse, version)
    for at, name in ((0, b"a"), (20, b"b"), (10, b"c")):
        records = _messages(name, timestamp=T + at)
        peer.ask(produce_request(records, tp), ProduceResponse, 2)
    for timestamp in (-1, -2, T, T + 1, T + 15, T + 20, T + 21):
        peer.ask(list_request(timestamp, tp), ListOffsetsResponse, 1)
    for timestamp in (-1, -2):
        peer.ask(list_request(timestamp, tp), ListOffsetsResponse, 0)
    peer.ask(list_request(-1, TopicPartition(topic, 1)), ListOffsetsResponse, 1)


def metadata(peer: Peer, topic: str) -> None:
    """Of one topic, of an impossible one; the versions that brokers have; closed connections."""
    create(peer, topic, 2, version=1)
    Topic = MetadataRequest.MetadataRequestTopic
    for name in (topic, "not/legal", f"no-{topic}"):
        for version in (0, 1, 2):
            peer.ask(MetadataRequest(topics=[Topic(name=name)]), MetadataResponse, version)
    peer.ask(MetadataRequest(topics=[]), MetadataResponse, 1)
    for version in (3, 0):
        peer.ask(ApiVersionsRequest(), ApiVersionsResponse, version)
    peer.ask(fetch_request(0, TopicPartition(topic, 0)), FetchResponse, 4)
    Create = CreateTopicsRequest.CreatableTopic
    again = Create(name=topic, num_partitions=1, replication_factor=1)
    peer.ask(CreateTopicsRequest(topics=[again], timeout_ms=9_000), CreateTopicsResponse, 1)


def group_offsets(peer: Peer, topic: str) -> None:
    """Commits and fetches of a group without members."""
    create(peer, topic, 2, version=1)
    find = FindCoordinatorRequest(key=topic)
    ask_until(peer, find, FindCoordinatorResponse, lambda r: not r.error_code, 0)
    Topic = OffsetCommitRequest.OffsetCommitRequestTopic
    rows = [
        Topic.OffsetCommitRequestPartition(
            partition_index=number, committed_offset=offset, committed_metadata="m"
        )
        for number, offset in ((0, 5), (1, 7))
    ]
    commit = OffsetCommitRequest(
        group_id=topic, topics=[Topic(name=topic, partitions=rows)], retention_time_ms=-1
    )
    ask_until(
        peer,
        commit,
        OffsetCommitResponse,
        lambda r: r.topics[0].partitions[0].error_code not in _LOADING,
        2,
    )
    Wanted = OffsetFetchRequest.OffsetFetchRequestTopic
    fetch = OffsetFetchRequest(
        group_id=topic, topics=[Wanted(name=topic, partition_indexes=[0, 1])]
    )
    for version in (1, 2):
        peer.ask(fetch, OffsetFetchResponse, version)
    everything = OffsetFetchRequest(group_id=topic, topics=None)
    peer.ask(everything, OffsetFetchResponse, 2)
