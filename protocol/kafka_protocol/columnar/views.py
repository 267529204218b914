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

from kafka_protocol.records.compression import Buffer

# pyarrow 18 cannot copy them.
HAS_VIEWS: Final = int(pa.__version__.split(".")[0]) >= 19
# The numbers of a view; the other one has its first bytes, which Arrow does not need to copy.
LENGTH, _BUFFER, _OFFSET = 0, 2, 3
NUMBERS: Final = 4
# So many bytes or fewer are in the view itself, after their length.
_INLINE_BYTES: Final = 12


def views_of(
    data: Buffer, start: npt.NDArray[Any], sizes: npt.NDArray[Any], buffer: int = 0
) -> npt.NDArray[Any]:
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
    views: npt.NDArray[Any], buffers: Sequence[Buffer], valid: pa.Buffer | None = None
) -> pa.Array:
    """A binary array of what the views show. `valid`: a bit for each, 0 for null."""
    all_buffers = [valid, pa.py_buffer(views), *map(pa.py_buffer, buffers)]
    return pa.Array.from_buffers(pa.binary_view(), len(views), all_buffers).cast(pa.binary())
