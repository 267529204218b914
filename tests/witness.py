"""Reads and writes a topic with librdkafka."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

_FLUSH_SECONDS = 30
_RESPONSE_SECONDS = 10


def values_of(servers: str, topic: str, partition: int) -> list[str]:
    """All committed values, in order."""
    return [value for _, value in records_of(servers, topic, partition)]


def records_of(servers: str, topic: str, partition: int) -> list[tuple[int, str]]:
    """All committed records, in order: offset and value."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "witness",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        records: list[tuple[int, str]] = []
        while True:
            for message in consumer.consume(10_000, timeout=1):
                error = message.error()
                if error is None:
                    offset = message.offset()
                    assert offset is not None
                    records.append((offset, (message.value() or b"").decode()))
                elif error.code() == KafkaError._PARTITION_EOF:
                    return records
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()


def high_watermark(servers: str, topic: str, partition: int) -> int:
    """The offset after the last record, also of one in a transaction that is open."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "witness"})
    try:
        _, high = consumer.get_watermark_offsets(
            TopicPartition(topic, partition), _RESPONSE_SECONDS
        )
        return int(high)
    finally:
        consumer.close()


def produce(
    servers: str, topic: str, values: Iterable[bytes | str | None], partition: int = 0
) -> None:
    """Writes values to a partition, and returns when they are acknowledged."""
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(_FLUSH_SECONDS) == 0
