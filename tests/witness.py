"""Reads and writes a topic with librdkafka."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from kafka_spark_source.testing.processes.waiting import Deadline

# For producers whose records must be in the order of their calls, once each: with several requests
# in flight a topic that is new can get the second one first.
IN_ORDER: Final = {"max.in.flight.requests.per.connection": 1}

_FLUSH_SECONDS = 30
_RESPONSE_SECONDS = 10
_READ_SECONDS = 120
_MOST_MESSAGES = 10_000


def values_of(servers: str, topic: str, partition: int) -> list[str]:
    """All committed values, in order."""
    return [value for _, value in records_of(servers, topic, partition)]


def records_of(servers: str, topic: str, partition: int) -> list[tuple[int, str]]:
    """All committed records, in order: offset and value."""
    return [
        (offset, (message.value() or b"").decode())
        for message in messages_of(servers, topic, [partition])
        if (offset := message.offset()) is not None
    ]


def messages_of(servers: str, topic: str, partitions: Iterable[int]) -> list[Message]:
    """All committed records of some partitions, by partition and offset."""
    places = [TopicPartition(topic, each, 0) for each in partitions]
    options = {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    found = read_to_end(places, {"bootstrap.servers": servers, **options})
    return sorted(found, key=lambda each: each.partition() or 0)


def read_to_end(places: Sequence[TopicPartition], options: Mapping[str, Any]) -> Iterator[Message]:
    """The records from these offsets on, up to the end of each partition."""
    usual = {"group.id": "witness", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer({**usual, "check.crcs": True, **options})
    reading = {each.partition for each in places}
    deadline = Deadline(_READ_SECONDS)
    try:
        consumer.assign([*places])
        while reading:
            if deadline.has_passed:
                raise TimeoutError(f"{places[0].topic}: partitions {sorted(reading)} have no end")
            for message in consumer.consume(_MOST_MESSAGES, timeout=0.1):
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    reading.discard(message.partition())
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
    servers: str,
    topic: str,
    values: Iterable[bytes | str | None],
    partition: int = 0,
    release: tuple[int, ...] = (),
) -> None:
    """Writes values to a partition, and returns when they are acknowledged.

    Brokers below 0.10 need `release`: they do not respond to a request for their versions.
    """
    producer = Producer({"bootstrap.servers": servers, **IN_ORDER, **_settings_for(release)})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(_FLUSH_SECONDS) == 0


def _settings_for(release: tuple[int, ...]) -> dict[str, str]:
    if not release or release >= (0, 10):
        return {}
    fallback = ".".join(map(str, release))
    return {"api.version.request": "false", "broker.version.fallback": fallback}


def repeated_value(topic: str, partition: int, offset: int) -> str:
    """A value that tells where it belongs, several times."""
    return f"{topic} {partition} {offset} " * 8


def produce_repeated(
    servers: str, topic: str, partitions: int, records: int, codec: str = "none"
) -> None:
    """Writes so many records to each partition, in large batches, and reads them for a check.

    Keys and the header `n` have the offset.
    """
    options = {"compression.type": codec, "linger.ms": 100, "batch.size": 200_000}
    producer = Producer({"bootstrap.servers": servers, **IN_ORDER, **options})
    for partition in range(partitions):
        for offset in range(records):
            if offset == 1:
                # What is sent before librdkafka knows the topic waits, and later calls overtake it.
                assert producer.flush(_FLUSH_SECONDS) == 0
            number = b"%d" % offset
            value = repeated_value(topic, partition, offset).encode()
            producer.produce(topic, value, number, partition, headers={"n": number})
        assert producer.flush(_FLUSH_SECONDS) == 0
    for partition in range(partitions):
        values = [repeated_value(topic, partition, offset) for offset in range(records)]
        assert records_of(servers, topic, partition) == [*enumerate(values)]
