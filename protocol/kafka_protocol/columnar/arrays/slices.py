"""Converts numpy positions and lengths to Arrow binary arrays and back; C++ copies the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.arrays.arrow_memory import bits_of, is_valid
from kafka_protocol.columnar.arrays.varints import Bools, Longs, write_varints
from kafka_protocol.columnar.arrays.views import HAS_VIEWS, copied, views_of
from kafka_protocol.records.compression import Buffer

# From this mean length on, views are faster.
_MIN_VIEW_BYTES: Final = 64
_NO_LENGTHS: Final = np.empty(0, np.int64)
_LARGE: Final = frozenset({pa.large_binary(), pa.large_string()})


def take_slices(data: Buffer, start: Longs, length: Longs) -> pa.Array:
    """The slices `data[start:start + length]` as a binary array.

    The buffer is below 2 GiB; the slices ascend and do not overlap. A negative length is null.
    """
    sizes = np.maximum(length, 0)
    is_large = sizes.sum() >= _MIN_VIEW_BYTES * len(sizes)
    take = _copy_views if is_large and HAS_VIEWS else _filter_gaps
    return take(data, start, sizes, length < 0)


def _copy_views(data: Buffer, start: Longs, sizes: Longs, is_null: Bools) -> pa.Array:
    """The slices, copied once into memory of the right size."""
    # Arrow may use the same bits in the result, so they must be in its memory.
    valid = bits_of(~is_null) if is_null.any() else None
    return copied(views_of(data, start, sizes), [data], valid)


def _filter_gaps(data: Buffer, start: Longs, sizes: Longs, is_null: Bools) -> pa.Array:
    """The slices; faster if they are small. Arrow's memory for large ones grows as it copies."""
    rows = len(start)
    # Arrow allows no gaps, so the gaps become elements too: slice, gap, slice, gap, ...
    offsets = np.empty(2 * rows + 1, dtype=np.int32)
    offsets[0:-1:2] = start
    offsets[1::2] = start + sizes
    offsets[-1] = offsets[-2] if rows else 0
    slices = pa.Array.from_buffers(
        pa.binary(), 2 * rows, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    return slices.filter(_every_other(rows, is_null), null_selection_behavior="emit_null")


def _every_other(rows: int, is_null: Bools) -> pa.Array:
    """True, False, True, False, and so on; null instead of True where a slice is null."""
    # Two bits for each row.
    picked = pa.py_buffer(b"\x55" * (-(-rows // 4)))
    valid = None
    if is_null.any():
        bits = np.ones(2 * rows, dtype=np.bool_)
        bits[::2] = ~is_null
        valid = bits_of(bits)
    return pa.Array.from_buffers(pa.bool_(), 2 * rows, [valid, picked])


def lengths(values: pa.Array | pa.ChunkedArray) -> Longs:
    """The length of each element of a binary column, in bytes; -1 for null."""
    return np.concatenate([_NO_LENGTHS, *map(_lengths, arrays_of(values))])


def _lengths(values: pa.Array) -> npt.NDArray[np.int32 | np.int64]:
    known = np.diff(offsets_of(values))
    if values.null_count:
        known[~is_valid(values)] = -1
    return known


def offsets_of(values: pa.Array) -> npt.NDArray[np.int32 | np.int64]:
    """Where each value of bytes, text or a list begins in its data, and the end of the last one."""
    dtype = np.int64 if values.type in _LARGE else np.int32
    if not len(values):
        return np.zeros(1, dtype)  # Arrow may leave the buffer out.
    stop = values.offset + len(values) + 1
    return np.frombuffer(values.buffers()[1], dtype, stop)[values.offset :]


def arrays_of(column: pa.Array | pa.ChunkedArray) -> Sequence[pa.Array]:
    """The arrays of a column."""
    return [column] if isinstance(column, pa.Array) else column.chunks


def combined(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column as one array, copied only if it has several."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def varint_array(*columns: Longs) -> pa.Array:
    """The varints of each row, one after the other, as a binary array with one element per row."""
    data, offsets = write_varints(*columns)
    return pa.Array.from_buffers(
        pa.binary(),
        len(columns[0]),
        [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)],
    )
