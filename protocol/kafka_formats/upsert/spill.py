"""Rows that wait in temporary files, and beside them their keys, in buckets. Knows no order.

The keys of all rows may not fit in memory, so they are written apart, and one bucket of them is
read at a time. Files have no name while they are open, so that nothing is left even of a worker
that is killed (on Windows the system removes them when they are closed).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import ipc

from kafka_formats.errors import SpillError
from kafka_protocol.columnar.writing.key_hashes import hash_keys
from kafka_protocol.options.partitioners import KeyHash

Longs = npt.NDArray[np.int64]

_ROW: Final = pa.field("_row", pa.int64())
# Partitioners use the same hashes: keys of one partition have a remainder in common. The high bits
# of a product with an odd number depend on all bits of the hash.
_GOLDEN: Final = np.uint64(0x9E3779B1)
_U32: Final = np.uint64(0xFFFFFFFF)
_COMPRESSED: Final = ipc.IpcWriteOptions(compression="lz4")


class Spill:
    """Rows in a file.

    Args:
        schema: The columns of the rows.
        keys: The columns of them that make a key; the last one holds bytes.
        folder: For the files; None for the system's.
        bucket_bits: The number of buckets, as the exponent of 2.

    Raises:
        SpillError: A file cannot be created, written or read.
    """

    def __init__(
        self, schema: pa.Schema, keys: Sequence[pa.Field], folder: str | None, bucket_bits: int
    ) -> None:
        self.num_rows = 0
        self._bucket_bits = bucket_bits
        self._names = [field.name for field in keys]
        self._where = f"in {folder}" if folder else "in the system's folder"
        with self._naming_the_place():
            self._row_file, self._key_file = (
                # point: unnamed-files
                tempfile.TemporaryFile(prefix="pykafka-", dir=folder)  # noqa: SIM115 -- see close()
                for _ in range(2)
            )
            self._rows = ipc.new_stream(self._row_file, schema, options=_COMPRESSED)
            self._keys = ipc.new_file(self._key_file, pa.schema([*keys, _ROW]), options=_COMPRESSED)

    def add(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Write rows."""
        with self._naming_the_place():
            keys, buckets = [], []
            for batch in batches:
                self._rows.write_batch(batch)
                keys.append(batch.select(self._names))
                buckets.append(self._buckets_of(batch.column(self._names[-1])))
            self._add_keys(pa.Table.from_batches(keys).combine_chunks(), np.concatenate(buckets))

    def _add_keys(self, keys: pa.Table, bucket: npt.NDArray[np.uint8]) -> None:
        """Write one batch for each bucket, so that the batches of a bucket are easy to find."""
        rows = np.arange(self.num_rows, self.num_rows + keys.num_rows)
        self.num_rows += keys.num_rows
        order = np.argsort(bucket, kind="stable")
        stops = np.cumsum(np.bincount(bucket, minlength=1 << self._bucket_bits)).tolist()
        sorted_ = keys.take(pa.array(order)).append_column(_ROW, pa.array(rows[order]))
        (whole,) = sorted_.combine_chunks().to_batches()
        for start, stop in zip([0, *stops], stops, strict=False):
            self._keys.write_batch(whole.slice(start, stop - start))

    def _buckets_of(self, keys: pa.BinaryArray) -> npt.NDArray[np.uint8]:
        spread = hash_keys(keys, KeyHash.MURMUR2).astype(np.uint64) * _GOLDEN & _U32
        # point: key-buckets
        buckets: npt.NDArray[np.uint8] = (spread >> np.uint64(32 - self._bucket_bits)).astype(
            np.uint8
        )
        return buckets

    def buckets(self) -> Iterator[tuple[pa.Table, Longs]]:
        """The keys of each bucket, and the numbers of their rows. Nothing is written afterwards."""
        with self._naming_the_place():
            self._keys.close()
            self._key_file.seek(0)
            reader = ipc.open_file(self._key_file)
            buckets = 1 << self._bucket_bits
            for bucket in range(buckets):
                numbers = range(bucket, reader.num_record_batches, buckets)
                table = pa.Table.from_batches([reader.get_batch(number) for number in numbers])
                yield table.select(self._names), np.asarray(table.column(_ROW.name))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as they were written. Nothing is written afterwards."""
        with self._naming_the_place():
            self._rows.close()
            self._row_file.seek(0)
            yield from ipc.open_stream(self._row_file)

    def close(self) -> None:
        """Remove the files."""
        self._row_file.close()
        self._key_file.close()

    @contextmanager
    def _naming_the_place(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SpillError(
                f"Rows that do not fit in memory cannot be kept in a temporary file "
                f"{self._where}: {error}. Make room there, or set spark.local.dir, without Spark "
                "TMPDIR, to a folder with more."
            ) from error
