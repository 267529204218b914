"""librdkafka's messages as rows. Pure."""

from __future__ import annotations

from confluent_kafka import Message

from tests.endurance.torture.records import Headers, NewRecord
from tests.endurance.torture.rows import Row


def row_of(message: Message) -> Row:
    """The row of a message that was read."""
    headers = _headers(message)
    return _row(message, _bytes(message.key()), _bytes(message.value()), headers)


def acknowledged_row(record: NewRecord, message: Message) -> Row:
    """The row of a delivery report: what was written, with place and time as the broker says."""
    return _row(message, record.key, record.value, record.headers)


def _row(message: Message, key: bytes | None, value: bytes | None, headers: Headers) -> Row:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and partition is not None and offset is not None and offset >= 0
    kind, timestamp = message.timestamp()
    # librdkafka has a number for "no timestamp" before Kafka's two.
    return Row(topic, partition, offset, timestamp, kind - 1, key, value, headers)


def _headers(message: Message) -> Headers:
    headers = message.headers() or []
    assert isinstance(headers, list)
    return tuple((name, _bytes(value)) for name, value in headers)


def _bytes(data: str | bytes | None) -> bytes | None:
    assert not isinstance(data, str)
    return data
