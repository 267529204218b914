"""Scripts of produce requests: sequences, duplicates, epochs, refusals."""

from __future__ import annotations

from kafka_protocol.messages.list_offsets import ListOffsetsResponse
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.peers import Peer, topic_id_of
from tests.simulation.kafka.requests import (
    batch,
    list_request,
    produce_request,
)
from tests.simulation.kafka.scripts.steps import (
    UNKNOWN_ID,
    T,
    create,
    describe_producers,
    init,
    read,
    write,
)
from tests.simulation.kafka.transactions import Producer


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
    describe_producers(peer, topic)


def refused_writes(peer: Peer, topic: str) -> None:
    """Damaged, too large, of the wrong format, to nobody, with a wrong acks."""
    create(peer, topic, max_message_bytes="1000")
    tp = TopicPartition(topic, 0)
    good = batch(b"v")
    damaged = bytearray(good)
    damaged[-2] ^= 1
    for records in (bytes(damaged), batch(b"v" * 1000), good + good, b""):
        peer.ask(produce_request(records, tp), ProduceResponse, 11)
    for timestamp in (T + 3_000 * 86_400_000, 0, -1):
        records = batch(b"a", b"b", timestamp=timestamp)
        peer.ask(produce_request(records, tp), ProduceResponse, 11)
    for acks in (2, -2):
        peer.ask(produce_request(good, tp, acks=acks), ProduceResponse, 11)
    peer.ask(produce_request(good, TopicPartition(topic, 1)), ProduceResponse, 11)
    peer.ask(produce_request(good, TopicPartition(f"no-{topic}", 0)), ProduceResponse, 11)
    peer.ask(produce_request(good, TopicPartition("", 0), topic_id=UNKNOWN_ID), ProduceResponse)
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
