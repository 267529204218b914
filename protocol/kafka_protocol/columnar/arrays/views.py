"""Arrow's views of bytes: slices of some buffers, in any order, as one array.

Arrow copies such an array to a binary one with one copy of the bytes, into memory of the right
size.

Source: Arrow Columnar Format, "Variable-size Binary View Layout".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.arrays.arrow_memory import check_bytes, is_valid
from kafka_protocol.records.compression import Buffer

# pyarrow 18 cannot copy them.
HAS_VIEWS: Final = int(pa.__version__.split(".")[0]) >= 19
# The int32 words of a 16-byte view: 0 length, 1 first bytes, 2 buffer, 3 offset.
LENGTH, _BUFFER, _OFFSET = 0, 2, 3
NUMBERS: Final = 4
# So many bytes or fewer are in the view itself, after their length.
_INLINE_BYTES: Final = 12


def views_of(
    data: Buffer, start: npt.NDArray[Any], sizes: npt.NDArray[Any], buffer: int = 0
) -> npt.NDArray[np.int32]:
    """Views of the slices `data[start:start + size]`, where `data` is the buffer of this number.

    The shape is `(slices, NUMBERS)`.
    """
    views = np.zeros((len(start), NUMBERS), np.int32)
    views[:, LENGTH], views[:, _BUFFER], views[:, _OFFSET] = sizes, buffer, start
    short = np.flatnonzero((sizes > 0) & (sizes <= _INLINE_BYTES))
    if short.size:
        at = start[short, np.newaxis] + np.arange(_INLINE_BYTES)
        inline = views.view(np.uint8)[:, -_INLINE_BYTES:]
        inline[short] = np.frombuffer(data, np.uint8).take(at, mode="clip")
    return views


def copied(
    views: npt.NDArray[np.int32], buffers: Sequence[Buffer], valid: pa.Buffer | None = None
) -> pa.Array:
    """A binary array with the values of the views. `valid`: a bit for each, 0 for null.

    Raises:
        ArrowInvalid: They have more bytes than a binary array can have.
    """
    check_bytes(int(views[:, LENGTH].sum(dtype=np.int64)))  # point: view-sizes
    all_buffers = [valid, pa.py_buffer(views), *map(pa.py_buffer, buffers)]
    return pa.Array.from_buffers(pa.binary_view(), len(views), all_buffers).cast(pa.binary())


def check_binary_size(values: pa.Array) -> None:
    """Check that a cast to a binary array, or one of text, can hold the values.

    Raises:
        ArrowInvalid: They are views of more than 2 GiB, which Arrow's cast does not notice.
    """
    if is_view(values.type):
        check_bytes(shown_bytes(values))


def is_view(kind: pa.DataType) -> bool:
    """Whether arrays of the type are views of text or bytes."""
    return bool(pa.types.is_binary_view(kind) or pa.types.is_string_view(kind))


def shown_bytes(values: pa.Array) -> int:
    """The size of all values of an array of views, which may share their bytes."""
    if not len(values):
        return 0
    views = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, NUMBERS)
    sizes = views[values.offset : values.offset + len(values), LENGTH]
    if values.null_count:
        sizes = sizes[is_valid(values)]
    return int(sizes.sum(dtype=np.int64))
