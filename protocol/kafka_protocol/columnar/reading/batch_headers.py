"""The headers of record batches (magic 2) as columns: one element for each batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_protocol.columnar.arrays.varints import Bools, Longs
from kafka_protocol.records.attributes import CODEC_MASK, LOG_APPEND_TIME_BIT
from kafka_protocol.records.batch import CONTROL_BIT, BatchHeader

# The fields of `BatchHeader`, as they are on the wire.
WIRE_TYPE: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("batch_length", ">i4"),
        ("partition_leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("records_count", ">i4"),
    ]
)


class BatchHeaders(NamedTuple):
    """The fields of `BatchHeader` that a reader of records needs; offsets and ms."""

    base_offset: Longs
    last_offset_delta: Longs
    attributes: Longs
    base_timestamp: Longs
    max_timestamp: Longs
    records_count: Longs

    @classmethod
    def of(cls, headers: Sequence[BatchHeader]) -> BatchHeaders:
        """The columns of some headers."""
        fields = np.array(headers, dtype=np.int64).reshape(len(headers), len(BatchHeader._fields)).T
        return cls(*fields[_FIELDS])

    @classmethod
    def of_wire(cls, headers: npt.NDArray[Any]) -> BatchHeaders:
        """The columns of an array of `WIRE_TYPE`."""
        return cls(*(headers[name].astype(np.int64) for name in cls._fields))

    @classmethod
    def joined(cls, parts: Sequence[BatchHeaders]) -> BatchHeaders:
        """All headers of the parts, in order."""
        if len(parts) == 1:
            return parts[0]
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def where(self, wanted: Bools | slice) -> BatchHeaders:
        """The wanted headers."""
        return BatchHeaders(*(column[wanted] for column in self))

    @property
    def next_offset(self) -> Longs:
        """The offset after each batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> Longs:
        """Numbers of `CompressionCodec`, or unknown ones."""
        return self.attributes & CODEC_MASK

    @property
    def is_append_time(self) -> Bools:
        """For each batch, whether its timestamp type is LOG_APPEND_TIME."""
        return (self.attributes & LOG_APPEND_TIME_BIT).astype(np.bool_)

    @property
    def is_control(self) -> Bools:
        """For each batch, whether it is a control batch."""
        return (self.attributes & CONTROL_BIT).astype(np.bool_)

    @property
    def is_dense(self) -> Bools:
        """For each batch, whether each of its offsets has a record."""
        dense: Bools = self.records_count == self.last_offset_delta + 1
        return dense


_FIELDS: Final = [BatchHeader._fields.index(name) for name in BatchHeaders._fields]
