"""Scripts of reads: bounds, times, epochs, deleted records, versions."""

from __future__ import annotations

from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.messages.list_offsets import ListOffsetsResponse
from kafka_protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.peers import Peer, topic_id_of
from tests.simulation.kafka.requests import (
    batch,
    fetch_request,
    list_request,
    produce_request,
)
from tests.simulation.kafka.scripts.steps import BY_NAME, UNKNOWN_ID, T, create, delete, read, write


def reads_at_bounds(peer: Peer, topic: str) -> None:
    """Before, at and behind the ends of the log; small limits; epochs; ids."""
    create(peer, topic)
    write(peer, topic, b"a", b"b", b"c")
    write(peer, topic, b"d" * 100)
    for offset in (0, 1, 3, 4, 5, -1):
        for version in (4, 11, BY_NAME):
            read(peer, topic, offset, version)
    for max_bytes in (1, 80, 100):
        read(peer, topic, 0, max_bytes=max_bytes)
    for epoch in (0, 1):
        read(peer, topic, 0, epoch=epoch)
    for last_epoch in (0, 1):
        read(peer, topic, 3, last_epoch=last_epoch)
        read(peer, topic, 4, last_epoch=last_epoch)
    topic_id = topic_id_of(peer, topic)
    for by_id in (topic_id, UNKNOWN_ID):
        for version in (13, 18):
            read(peer, topic, 0, version, topic_id=by_id)
            read(peer, topic, 9, version, topic_id=by_id)
    read(peer, f"no-{topic}", 0)
    peer.ask(fetch_request(0, TopicPartition(topic, 7)), FetchResponse, BY_NAME)


def offsets_by_time(peer: Peer, topic: str) -> None:
    """Every kind of timestamp, in the versions that know it and in others."""
    create(peer, topic)
    tp = TopicPartition(topic, 0)
    for timestamp in (-1, -2, -3, T):
        peer.ask(list_request(timestamp, tp), ListOffsetsResponse, 7)
    for at, name in ((0, b"a"), (20, b"b"), (10, b"c")):
        peer.ask(produce_request(batch(name, timestamp=T + at), tp), ProduceResponse, 11)
    for timestamp in (-1, -2, -3, -4, -5, -6, -7, 0, T, T + 1, T + 15, T + 20, T + 21):
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
        for timestamp in (-1, -2, T):
            peer.ask(list_request(timestamp, tp), ListOffsetsResponse)
        for at in (0, 2, 3, 7, 8):
            read(peer, topic, at)
    delete(peer, topic, 0, number=1)
    delete(peer, f"{topic}-compacted", 0)
    write(peer, topic, b"e")
    read(peer, topic, 8)


def unsupported_versions(peer: Peer, topic: str) -> None:
    """A broker closes the connection on what it does not serve, but for ApiVersions."""
    create(peer, topic)
    read(peer, topic, 0, 3)
    peer.ask(list_request(-1, TopicPartition(topic, 0)), ListOffsetsResponse, 0)
    read(peer, topic)
