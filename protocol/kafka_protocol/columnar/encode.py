"""Arrow columns -> batches for partitions, in the message format that the broker takes.

How: where batches begin is decided first; then the numbers in front of and between key, value and
headers are written by numpy for all records of all batches at once, and one `take` lays them and
the columns out in C++. `record_payload` and `message_payload` know the formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from kafka_protocol.columnar.message_payload import message_encoder
from kafka_protocol.columnar.record_payload import record_encoder
from kafka_protocol.columnar.varints import Longs
from kafka_protocol.columnar.writing import Contents, Encoder, RecordColumns
from kafka_protocol.records.batch import MAGIC, BatchContents, build_batch, bytes_of
from kafka_protocol.records.compression import Compression, CompressionCodec

__all__ = ["EncodedBatch", "Gathered", "RecordColumns", "encode_batches", "encode_gathered"]

# Java's and the broker's max.message.bytes is 1,048,588; stay below it with the header.
DEFAULT_MAX_BATCH_BYTES: Final = 1_000_000

_MakeEncoder: TypeAlias = "Callable[[RecordColumns, Longs, Compression, int], Encoder]"
_ENCODERS: Final[tuple[_MakeEncoder, ...]] = (message_encoder, message_encoder, record_encoder)


class EncodedBatch(NamedTuple):
    """A batch to produce.

    Attributes:
        contents: What is sent.
        records_count: How many records stand in it.
        most_bytes: How large it was thought to become before compression.
    """

    contents: Contents
    records_count: int
    most_bytes: int

    @property
    def sent_bytes(self) -> int:
        """How large it is."""
        return bytes_of(self.contents)

    @property
    def data(self) -> bytes:
        """The whole batch, of no producer in particular. Each look builds it anew."""
        contents = self.contents
        return build_batch(contents) if isinstance(contents, BatchContents) else contents


class Gathered(NamedTuple):
    """Records, gathered by the partition that they go to.

    Attributes:
        records: In any order.
        rows: The numbers of the records in the order in which they are written.
        starts: Where in `rows` each partition begins; at the end, where the last one ends.
    """

    records: RecordColumns
    rows: Longs
    starts: Sequence[int]


def encode_batches(
    records: RecordColumns,
    codec: CompressionCodec,
    max_batch_bytes: int = DEFAULT_MAX_BATCH_BYTES,
    *,
    magic: int = MAGIC,
    level: int | None = None,
) -> Iterator[EncodedBatch]:
    """Write the records of one partition as batches, as `encode_gathered` does."""
    rows = np.arange(len(records.timestamp))
    gathered = Gathered(records, rows, [0, len(rows)])
    for _, batch in encode_gathered(gathered, [magic], Compression(codec, level), max_batch_bytes):
        yield batch


def encode_gathered(
    gathered: Gathered,
    magics: Sequence[int],
    compression: Compression,
    max_batch_bytes: int,
) -> Iterator[tuple[int, EncodedBatch]]:
    """Write records as batches.

    Args:
        gathered: At least one record of each partition.
        magics: The message format of each partition: 2, or for brokers before 0.11 a message set
            of 1 (0.10) or 0. Magic 0 has no timestamps, and drops them.
        compression: How to compress each batch.
        max_batch_bytes: How large a batch may become before compression; one record that is
            larger gets a batch of its own.

    Yields:
        Each batch with the number of its partition among `starts`.

    Raises:
        EncodeError: A header has no key, or the message format lacks what is to be written.
    """
    for magic, run in groupby(range(len(magics)), magics.__getitem__):
        numbers = [*run]
        starts = gathered.starts[numbers[0] : numbers[-1] + 2]
        part = gathered._replace(starts=starts)
        for i, batch in _encode(part, magic, compression, max_batch_bytes):
            yield numbers[i], batch


def _encode(
    gathered: Gathered, magic: int, compression: Compression, most_bytes: int
) -> Iterator[tuple[int, EncodedBatch]]:
    records, rows, starts = gathered
    first, last = starts[0], starts[-1]
    encoder = _ENCODERS[magic](records, rows[first:last], compression, magic)
    numbers: list[int] = []
    cuts: list[int] = []
    ends = np.cumsum(encoder.most_bytes)
    for number, (start, stop) in enumerate(pairwise(starts)):
        batches = _cuts(ends, start - first, stop - first, most_bytes)
        numbers += [number] * len(batches)
        cuts += batches
    cuts.append(last - first)
    begins = np.array(cuts, dtype=np.int64)
    contents = encoder.encode(begins)
    most = np.diff(ends[begins[1:] - 1], prepend=0).tolist()
    for number, batch, (start, stop), before in zip(
        numbers, contents, pairwise(cuts), most, strict=True
    ):
        yield number, EncodedBatch(batch, stop - start, before)


def _cuts(ends: Longs, start: int, stop: int, most_bytes: int) -> list[int]:
    """Where the batches of one partition begin, given where each record ends."""
    cuts = []
    while start < stop:
        cuts.append(start)
        begun = int(ends[start - 1]) if start else 0
        fitting = int(ends.searchsorted(begun + most_bytes, side="right"))
        start = max(fitting, start + 1)
    return cuts
