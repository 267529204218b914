"""The two decoders on the same Fetch response: columns, and records one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from kafka_protocol.columnar.reading.batch_columns import take_batch_columns
from kafka_protocol.columnar.reading.decode import decode_batches
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.records.fetch_response import take_batches
from kafka_protocol.records.record import decode_records
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_protocol.wire.codec import read_message
from kafka_protocol.wire.framing import read_response_header, response_header_version

_COLUMNS: Final = ("offset", "timestamp", "key", "value")
_EVERYTHING: Final = 2**62


def differences(frame: bytes, version: int) -> Iterator[str]:
    """Where the decoders disagree about a Fetch response, given with the size of its frame."""
    body = memoryview(frame)[4:]
    _, start = read_response_header(body, response_header_version(FetchResponse, version))
    response = read_message(FetchResponse, version, body[start:])
    for topic in response.responses:
        for data in topic.partitions:
            place = OffsetRange(TopicPartition(topic.topic, data.partition_index), 0, _EVERYTHING)
            by_column = [*_by_column(data, place)]
            one_by_one = [*_one_by_one(data, place)]
            if by_column != one_by_one:
                yield (
                    f"Fetch v{version} of {place.topic_partition}: columns have "
                    f"{len(by_column)} records, {len(one_by_one)} were decoded one by one"
                )


def _by_column(data: Any, place: OffsetRange) -> Iterator[tuple[object, ...]]:
    taken = take_batch_columns(data, place, check_crcs=True)
    for batch in decode_batches([(place, taken.batches)], _COLUMNS):
        columns = [batch.column(name) for name in _COLUMNS]
        columns[1] = columns[1].cast(pa.int64())
        yield from zip(*(each.to_pylist() for each in columns), strict=True)


def _one_by_one(data: Any, place: OffsetRange) -> Iterator[tuple[object, ...]]:
    for batch in take_batches(data, place, check_crcs=True).batches:
        for record in decode_records(batch):
            yield record.offset, record.timestamp * 1000, record.key, record.value
