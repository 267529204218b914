"""Arrow columns -> batches for one partition, in the message format that the broker takes.

How: the numbers in front of and between key, value and headers are written by numpy for all
records at once; one `binary_join_element_wise` then lays the whole payload of a batch out in C++.
`record_payload` and `message_payload` know the formats; where one batch ends is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from kafka_protocol.columnar.message_payload import message_encoder
from kafka_protocol.columnar.record_payload import record_encoder
from kafka_protocol.columnar.writing import Encoder, RecordColumns
from kafka_protocol.records.batch import MAGIC
from kafka_protocol.records.compression import Compression, CompressionCodec

__all__ = ["EncodedBatch", "RecordColumns", "encode_batches"]

# Java's and the broker's max.message.bytes is 1,048,588; stay below it with the header.
DEFAULT_MAX_BATCH_BYTES: Final = 1_000_000

_MakeEncoder: TypeAlias = "Callable[[RecordColumns, Compression, int], Encoder]"
_ENCODERS: Final[tuple[_MakeEncoder, ...]] = (message_encoder, message_encoder, record_encoder)


class EncodedBatch(NamedTuple):
    """A batch to produce, and how many records stand in it."""

    data: bytes
    records_count: int


def encode_batches(
    records: RecordColumns,
    codec: CompressionCodec,
    max_batch_bytes: int = DEFAULT_MAX_BATCH_BYTES,
    *,
    magic: int = MAGIC,
    level: int | None = None,
) -> Iterator[EncodedBatch]:
    """Write records as batches.

    Args:
        records: At least one record.
        codec: How to compress each batch.
        max_batch_bytes: How large a batch may become before compression; one record that is
            larger gets a batch of its own.
        magic: The message format: 2, or for brokers before 0.11 a message set of 1 (0.10) or 0.
            Magic 0 has no timestamps, and drops them.
        level: How hard to compress, as `compress` takes it.

    Raises:
        EncodeError: A header has no key, or the message format lacks what is to be written.
    """
    encoder = _ENCODERS[magic](records, Compression(codec, level), magic)
    ends = np.cumsum(encoder.most_bytes)
    start = 0
    while start < len(ends):
        begun = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, begun + max_batch_bytes, side="right"))
        stop = max(stop, start + 1)
        yield EncodedBatch(encoder.encode(slice(start, stop)), stop - start)
        start = stop
