"""Arrow arrays of numpy's numbers, in memory that Arrow allocated.

`pa.array` makes an array that refers to numpy's memory. Whoever drops such an array last needs
Python's GIL, and a thread that Python does not know may wait for it for ever: Sail's does (see
docs/upstream). So arrays that leave this package own their memory. Knows no records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def array_of(
    values: npt.NDArray[Any],
    arrow_type: pa.DataType,
    is_null: npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    """An array of a type with a fixed width: numbers, dates, timestamps, booleans.

    Args:
        values: One for each row, converted as numpy converts.
        arrow_type: The type, whose values numpy can write as numbers.
        is_null: Which rows are null; by default, no row is.
    """
    if pa.types.is_boolean(arrow_type):
        # Arrow makes bits of numpy's booleans, and so a copy.
        return pa.array(values, arrow_type, mask=is_null)
    numbers, buffer = new_numbers(len(values), _dtype_of(arrow_type))
    numbers[:] = values
    valid = None if is_null is None else bits_of(~is_null)
    return pa.Array.from_buffers(arrow_type, len(values), [valid, buffer])


def bits_of(values: npt.NDArray[np.bool_]) -> pa.Buffer:
    """Booleans as Arrow's bits."""
    return pa.array(values).buffers()[1]


def new_numbers(count: int, dtype: npt.DTypeLike) -> tuple[npt.NDArray[Any], pa.Buffer]:
    """Numbers to be written, and the Arrow buffer that they are in."""
    buffer = pa.allocate_buffer(count * np.dtype(dtype).itemsize)
    return np.ndarray(count, dtype, buffer), buffer


def buffer_of(values: npt.NDArray[Any]) -> pa.Buffer:
    """The values as they are in memory, row by row, as an Arrow buffer."""
    numbers, buffer = new_numbers(values.size, values.dtype)
    numbers[:] = values.ravel()
    return buffer


def _dtype_of(arrow_type: pa.DataType) -> str:
    if pa.types.is_floating(arrow_type):
        kind = "f"
    else:
        kind = "u" if pa.types.is_unsigned_integer(arrow_type) else "i"
    return f"{kind}{arrow_type.bit_width // 8}"
