"""Reads a topic with librdkafka."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition


def values_of(servers: str, topic: str, partition: int) -> list[str]:
    """All committed values, in order."""
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
        values: list[str] = []
        while True:
            for message in consumer.consume(10_000, timeout=1):
                error = message.error()
                if error is None:
                    values.append((message.value() or b"").decode())
                elif error.code() == KafkaError._PARTITION_EOF:
                    return values
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()
