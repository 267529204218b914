"""Fields of records, each a column of Arrow, joined record by record: what all encoders do last.

Knows no message format.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_protocol.columnar.arrays.arrow_memory import EMPTY, indices_of
from kafka_protocol.columnar.arrays.slices import arrays_of, combined, lengths, offsets_of
from kafka_protocol.columnar.arrays.varints import Bools, Longs
from kafka_protocol.columnar.arrays.views import HAS_VIEWS, LENGTH, NUMBERS, copied, views_of

# From this mean size on, it takes less time to find the values of a column than to copy them twice.
_LARGE_BYTES: Final = 512


class Field(NamedTuple):
    """A binary column, and the index in it of each record's field."""

    column: pa.Array | pa.ChunkedArray
    rows: Longs | int


class JoinedRecords(NamedTuple):
    """The bytes of records, one after the other; the start of each and the end of the last."""

    data: memoryview
    starts: npt.NDArray[np.int32]


def join_fields(count: int, fields: Sequence[Field]) -> JoinedRecords:
    """Join the fields of each of `count` records, one after the other; null has no bytes.

    C++ copies the bytes of large fields once, and all others twice.
    """
    large = [*map(_is_large, fields)]
    if count and any(large):
        runs = [_run(field, count) for field in fields]
        if None not in runs:
            return _join_runs(runs)
        if HAS_VIEWS and not all(large):
            return _join_around(count, fields, np.array(large))
    return _joined(_picked(count, fields), len(fields))


def _is_large(field: Field) -> bool:
    column = field.column
    return bool(0 < len(column) * _LARGE_BYTES <= column.nbytes)


def _run(field: Field, count: int) -> pa.Array | pa.ChunkedArray | pa.Scalar | None:
    """The field of all records as a slice of its column, or as one value. None if it is neither."""
    column, rows = field
    if isinstance(rows, int):
        return column[rows]
    first = int(rows[0])
    in_order = np.array_equal(rows, np.arange(first, first + count))
    return column.slice(first, count) if in_order else None


def _join_runs(runs: Sequence[pa.Array | pa.ChunkedArray | pa.Scalar]) -> JoinedRecords:
    joined = pc.binary_join_element_wise(
        *runs, EMPTY, null_handling="replace", null_replacement=b""
    )
    return _joined(combined(joined), fields=1)


def _join_around(count: int, fields: Sequence[Field], is_large: Bools) -> JoinedRecords:
    """Join the small fields of all records, and put the large values between them by views."""
    small, large = [*compress(fields, ~is_large)], [*compress(fields, is_large)]
    joined = _picked(count, small)
    ends = offsets_of(joined)
    # Each large value comes after so many small ones of its record. Between two large values is
    # one slice of the small ones, be it empty or from two records.
    after = np.cumsum(~is_large)[is_large]
    cuts = ends[np.arange(count)[:, np.newaxis] * len(small) + after].ravel()
    bounds = np.concatenate((ends[:1], cuts, ends[-1:]))
    buffers = [joined.buffers()[2]]
    views = np.empty((2 * len(cuts) + 1, NUMBERS), np.int32)
    views[::2] = views_of(buffers[0], bounds[:-1], np.diff(bounds))
    for i, (column, rows) in enumerate(large):
        views[2 * i + 1 :: 2 * len(large)] = _views(column, buffers)[rows]
    large_bytes = views[1::2, LENGTH].reshape(count, len(large)).sum(axis=1)
    starts = ends[:: len(small)].copy()
    starts[1:] += np.cumsum(large_bytes)
    return JoinedRecords(memoryview(copied(views, buffers).buffers()[2]), starts)


def _views(column: pa.Array | pa.ChunkedArray, buffers: list[pa.Buffer]) -> npt.NDArray[np.int32]:
    """Views of all values of a column, whose buffers are added."""
    views = []
    for array in arrays_of(column):
        data, sizes = array.buffers()[2], np.maximum(lengths(array), 0)
        views.append(views_of(data, offsets_of(array)[:-1], sizes, len(buffers)))
        buffers.append(data)
    return np.concatenate(views)


def _picked(count: int, fields: Sequence[Field]) -> pa.Array:
    """The fields of each record in a row: columns copied to one array, then values to places."""
    picked = np.empty((count, len(fields)), dtype=np.int32)
    first = 0
    for i, (column, rows) in enumerate(fields):
        np.add(rows, first, out=picked[:, i], casting="same_kind")
        first += len(column)
    arrays = [array for column, _ in fields for array in arrays_of(column)]
    return pa.concat_arrays(arrays).take(indices_of(picked.ravel()))


def _joined(values: pa.Array, fields: int) -> JoinedRecords:
    """So many values in a row are a record."""
    offsets = offsets_of(values)[::fields].astype(np.int32, copy=False)
    return JoinedRecords(memoryview(values.buffers()[2]), offsets)
