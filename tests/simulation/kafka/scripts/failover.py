"""Scripts in which requests go to other brokers than the leader, and leaders move."""

from __future__ import annotations

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.messages.find_coordinator import (
    TRANSACTION,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.list_offsets import ListOffsetsResponse
from kafka_protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.peers import Peer, ask_until, topic_id_of
from tests.simulation.kafka.requests import (
    batch,
    fetch_request,
    fetched,
    list_request,
    listed,
    produce_request,
)
from tests.simulation.kafka.scripts.steps import (
    NO_PRODUCER,
    add,
    create,
    delete,
    describe_producers,
    end,
    read,
    wait_for_leader,
    write,
)
from tests.simulation.kafka.trios import NODES, Trio, leader_of


def _end_of_epoch(peer: Peer, topic: str, epoch: int, current: int) -> None:
    Topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    row = Topic.OffsetForLeaderPartition(
        partition=0, leader_epoch=epoch, current_leader_epoch=current
    )
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[Topic(topic=topic, partitions=[row])]
    )
    peer.ask(request, OffsetForLeaderEpochResponse)


def wrong_brokers(trio: Trio, topic: str) -> None:
    """A follower, and a broker without a replica, are asked for what the leader has."""
    single = f"{topic}-single"
    create(trio.peers[1], topic, replication=3, waits=False)
    create_anywhere(trio, single)
    leader = leader_of(trio, topic, 1, in_sync=3)
    wait_for_leader(trio.peers[leader], topic)
    write(trio.peers[leader], topic, b"a")
    follower = trio.peers[next(node for node in NODES if node != leader)]
    _wait_for_high_watermark(follower, topic, 1)
    stranger = trio.peers[next(n for n in NODES if n != leader_of(trio, single, 1, in_sync=1))]
    for peer, name in ((follower, topic), (stranger, single)):
        topic_id = topic_id_of(peer, name)
        tp = TopicPartition(name, 0)
        for version in (10, 11, 12):
            read(peer, name, 0, version)
        for version in (15, 16, 18):
            read(peer, name, 0, version, topic_id=topic_id)
            read(peer, name, 0, version, topic_id=topic_id, epoch=0)
            read(peer, name, 0, version, topic_id=topic_id, epoch=5)
        for version in (9, 10, 12):
            peer.ask(produce_request(batch(b"b"), tp), ProduceResponse, version)
        peer.ask(produce_request(batch(b"b"), tp, topic_id=topic_id), ProduceResponse)
        for epoch in (-1, 0, 5):
            peer.ask(list_request(-1, tp, epoch=epoch), ListOffsetsResponse)
            _end_of_epoch(peer, name, 0, epoch)
        delete(peer, name, 0)
        describe_producers(peer, name)


def create_anywhere(trio: Trio, topic: str) -> None:
    """A topic with one replica, wherever that is."""
    count = len(trio.notes.answers)
    create(trio.peers[1], topic, replication=1, waits=False)
    leader = leader_of(trio, topic, 1, in_sync=1)
    wait_for_leader(trio.peers[leader], topic)
    del trio.notes.answers[count:]


def _wait_for_high_watermark(peer: Peer, topic: str, offset: int) -> None:
    """Until a follower shows records up to an offset; not compared."""
    count = len(peer.notes.answers)
    ask_until(
        peer,
        fetch_request(0, TopicPartition(topic, 0)),
        FetchResponse,
        lambda r: fetched(r).high_watermark == offset,
        12,
    )
    del peer.notes.answers[count:]


def wrong_coordinators(trio: Trio, topic: str) -> None:
    """Transactions at a broker that does not coordinate them."""
    create_anywhere(trio, topic)
    request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[topic])
    found = ask_until(
        trio.peers[1], request, FindCoordinatorResponse, lambda r: not r.coordinators[0].error_code
    )
    wrong = trio.peers[next(n for n in NODES if n != found.coordinators[0].node_id)]
    wrong.ask(
        InitProducerIdRequest(transactional_id=topic, transaction_timeout_ms=60_000),
        InitProducerIdResponse,
    )
    add(wrong, topic, NO_PRODUCER, topic)
    end(wrong, topic, NO_PRODUCER, commits=True)
    wrong.ask(DescribeTransactionsRequest(transactional_ids=[topic]), DescribeTransactionsResponse)


def moved_leaders(trio: Trio, topic: str) -> None:
    """The leader is shut down: another epoch, and what both epochs are good for then."""
    create(trio.peers[1], topic, replication=3, waits=False)
    old = leader_of(trio, topic, 1, in_sync=3)
    wait_for_leader(trio.peers[old], topic)
    write(trio.peers[old], topic, b"a", b"b")
    other = next(node for node in NODES if node != old)
    trio.stop(old)
    leader = leader_of(trio, topic, other, in_sync=2, but=old)
    peer = trio.peers[leader]
    _wait_for_end(peer, topic)
    write(peer, topic, b"c")
    topic_id = topic_id_of(peer, topic)
    tp = TopicPartition(topic, 0)
    for epoch in (-1, 0, 1, 2):
        read(peer, topic, 0, epoch=epoch)
        read(peer, topic, 0, 18, topic_id=topic_id, epoch=epoch)
        peer.ask(list_request(-1, tp, epoch=epoch), ListOffsetsResponse)
        _end_of_epoch(peer, topic, epoch, -1)
        _end_of_epoch(peer, topic, 0, epoch)
    for last_epoch in (0, 1):
        for offset in (1, 2, 3):
            read(peer, topic, offset, last_epoch=last_epoch)
    for timestamp in (-2, -3, 0):
        peer.ask(list_request(timestamp, tp), ListOffsetsResponse)
    trio.start(old)
    leader_of(trio, topic, leader, in_sync=3)
    read(peer, topic)


def _wait_for_end(peer: Peer, topic: str) -> None:
    """Until a new leader knows its high watermark; not compared."""
    count = len(peer.notes.answers)
    waits = (ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    request = list_request(-1, TopicPartition(topic, 0))
    ask_until(peer, request, ListOffsetsResponse, lambda r: listed(r).error_code not in waits)
    del peer.notes.answers[count:]
