"""Arrow columns -> batches for partitions, in the message format that the broker supports.

First choose where batches begin. Then numpy writes the numbers around key, value and headers for
all records of all batches at once, and one `take` joins them with the columns in C++.
`record_payload` and `message_payload` know the formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from kafka_protocol.columnar.arrays.varints import Longs
from kafka_protocol.columnar.writing.columns import Contents, Encoder, RecordColumns
from kafka_protocol.columnar.writing.message_payload import message_encoder
from kafka_protocol.columnar.writing.record_payload import record_encoder
from kafka_protocol.records.batch import MAGIC, BatchContents, build_batch, bytes_of
from kafka_protocol.records.compression import Compression, CompressionCodec

__all__ = [
    "EncodedBatch",
    "Gathered",
    "RecordColumns",
    "SizeLimits",
    "encode_batches",
    "encode_gathered",
]

# Below the default max.message.bytes of brokers, 1,048,588, with the header.
DEFAULT_MAX_BATCH_BYTES: Final = 1_000_000

_MakeEncoder: TypeAlias = "Callable[[RecordColumns, Longs, Compression, int], Encoder]"
_ENCODERS: Final[tuple[_MakeEncoder, ...]] = (message_encoder, message_encoder, record_encoder)


class EncodedBatch(NamedTuple):
    """A batch to produce."""

    contents: Contents  # the bytes to send, still without a header for magic 2
    records_count: int
    estimated_bytes: int  # the upper limit of its size before compression

    @property
    def sent_bytes(self) -> int:
        """The size of the batch in bytes."""
        return bytes_of(self.contents)

    @property
    def data(self) -> bytes:
        """The complete batch, without a producer id. Each access builds it again."""
        contents = self.contents
        return build_batch(contents) if isinstance(contents, BatchContents) else contents


class SizeLimits(NamedTuple):
    """The largest sizes of a batch of several records, in bytes."""

    estimated_bytes: int  # before compression
    sent_bytes: int  # after it, for batches that were larger before

    def is_exceeded_by(self, batch: EncodedBatch) -> bool:
        """Whether the batch compressed less well than its limit before compression allows for."""
        smallest = min(batch.estimated_bytes, batch.sent_bytes)
        return batch.records_count > 1 and smallest > self.sent_bytes


class Gathered(NamedTuple):
    """Records, grouped by partition."""

    records: RecordColumns  # in any order
    rows: Longs  # the indices of the records in the order to write them, partition by partition
    starts: Sequence[int]  # of each partition in `rows`, and the end of the last one


def encode_batches(
    records: RecordColumns,
    codec: CompressionCodec,
    max_batch_bytes: int = DEFAULT_MAX_BATCH_BYTES,
    *,
    magic: int = MAGIC,
    level: int | None = None,
) -> Iterator[EncodedBatch]:
    """Encode the records of one partition; see `encode_gathered`."""
    rows = np.arange(len(records.timestamp))
    gathered = Gathered(records, rows, [0, len(rows)])
    limits = SizeLimits(max_batch_bytes, max_batch_bytes)
    for _, batch in encode_gathered(gathered, [magic], Compression(codec, level), limits):
        yield batch


def encode_gathered(
    gathered: Gathered, magics: Sequence[int], compression: Compression, limits: SizeLimits
) -> Iterator[tuple[int, EncodedBatch]]:
    """Encode records as batches.

    Args:
        gathered: At least one record of each partition.
        magics: The message format of each partition: 2, or for brokers before 0.11 a message set
            of 1 (0.10) or 0. Magic 0 has no timestamps, and drops them.
        compression: The compression of each batch.
        limits: The largest sizes of a batch; a larger record gets its own batch.

    Yields:
        The index of a partition in `starts`, and a batch for it.

    Raises:
        EncodeError: A header has no key, or the message format has no headers or no zstd.
    """
    for magic, run in groupby(range(len(magics)), magics.__getitem__):
        numbers = [*run]
        starts = gathered.starts[numbers[0] : numbers[-1] + 2]
        part = gathered._replace(starts=starts)
        for i, batch in _encode(part, magic, compression, limits):
            yield numbers[i], batch


def _encode(
    gathered: Gathered, magic: int, compression: Compression, limits: SizeLimits
) -> Iterator[tuple[int, EncodedBatch]]:
    records, rows, starts = gathered
    first, last = starts[0], starts[-1]
    encoder = _ENCODERS[magic](records, rows[first:last], compression, magic)
    numbers: list[int] = []
    batch_starts: list[int] = []
    ends = np.cumsum(encoder.max_record_bytes)
    for number, (start, stop) in enumerate(pairwise(starts)):
        batches = _batch_starts(ends, start - first, stop - first, limits.estimated_bytes)
        numbers += [number] * len(batches)
        batch_starts += batches
    batch_starts.append(last - first)
    bounds = np.array(batch_starts, dtype=np.int64)
    contents = encoder.encode(bounds)
    estimates = np.diff(ends[bounds[1:] - 1], prepend=0).tolist()
    for number, batch, (start, stop), estimated_bytes in zip(
        numbers, contents, pairwise(batch_starts), estimates, strict=True
    ):
        encoded = EncodedBatch(batch, stop - start, estimated_bytes)
        if not limits.is_exceeded_by(encoded):
            yield number, encoded
            continue
        part = Gathered(records, rows[first + start : first + stop], [0, stop - start])
        smaller = SizeLimits(limits.sent_bytes, limits.sent_bytes)
        for _, each in _encode(part, magic, compression, smaller):
            yield number, each


def _batch_starts(ends: Longs, start: int, stop: int, max_batch_bytes: int) -> list[int]:
    """The first record of each batch of one partition, from the end of each record in bytes."""
    starts = []
    while start < stop:
        starts.append(start)
        bytes_before = int(ends[start - 1]) if start else 0
        fitting = int(ends.searchsorted(bytes_before + max_batch_bytes, side="right"))
        start = max(fitting, start + 1)
    return starts
