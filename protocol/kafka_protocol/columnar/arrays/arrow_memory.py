"""Between Arrow's arrays and numpy's: in memory that Arrow allocated, and without pandas.

`pa.array` makes an array that refers to numpy's memory. Whoever drops such an array last needs
Python's GIL, and a thread that Python does not know may wait for it for ever: Sail's does (see
docs/upstream). So arrays that leave this package own their memory.

pyarrow imports pandas, if it is there, before it converts any value of Python or numpy: in
`pa.array`, `pa.scalar`, `to_numpy`, and wherever a function takes such a value. That takes 0.4 s
and 50 MB in each of Spark's workers that read, which have no other use for it. These functions do
not import it. Knows no records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_BINARY: Final = pa.binary()
_MOST_BYTES: Final = 2**31 - 1
_INDICES: Final = {np.dtype(np.int32): pa.int32(), np.dtype(np.int64): pa.int64()}


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
    valid = None if is_null is None else bits_of(~is_null)
    if pa.types.is_boolean(arrow_type):
        buffer = bits_of(values)
    else:
        numbers, buffer = new_numbers(len(values), _dtype_of(arrow_type))
        numbers[:] = values
    return pa.Array.from_buffers(arrow_type, len(values), [valid, buffer])


def array_of_bytes(values: Sequence[bytes | None], arrow_type: pa.DataType = _BINARY) -> pa.Array:
    """An array of values of bytes, or of text in UTF-8.

    Raises:
        ArrowInvalid: They have more bytes than a binary array can have.
    """
    given = [value or b"" for value in values]
    is_null = np.array([value is None for value in values], np.bool_)
    valid = bits_of(~is_null) if is_null.any() else None
    ends = np.cumsum([0, *map(len, given)])
    check_bytes(int(ends[-1]))
    data = buffer_of(np.frombuffer(b"".join(given), np.uint8))
    buffers = [valid, buffer_of(ends.astype(np.int32)), data]
    return pa.Array.from_buffers(arrow_type, len(values), buffers)


def check_bytes(size: int) -> None:
    """Check that an array of bytes or text can have so many.

    Raises:
        ArrowInvalid: Offsets of 32 bits cannot express them.
    """
    if size > _MOST_BYTES:
        raise pa.ArrowInvalid(f"{size} bytes do not fit in a binary array of up to 2 GiB")


def scalar_of(value: bytes | None, arrow_type: pa.DataType = _BINARY) -> pa.Scalar:
    """A value of bytes, or of text in UTF-8, for Arrow's functions."""
    return array_of_bytes([value], arrow_type)[0]  # point: no-pandas


def indices_of(rows: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """Rows to take. The array refers to numpy's memory, so it must not leave the packages."""
    return pa.Array.from_buffers(_INDICES[rows.dtype], len(rows), [None, pa.py_buffer(rows)])


def array_of_bools(values: npt.NDArray[np.bool_]) -> pa.Array:
    """Booleans, one for each row."""
    return array_of(values, pa.bool_())


def numbers_of(array: pa.Array) -> npt.NDArray[Any]:
    """The numbers of an array with a fixed width, without a copy; where one is null, any.

    The numbers of decimals are only bytes to numpy.
    """
    dtype = _dtype_of(array.type)
    if not len(array):
        return np.empty(0, dtype)
    stop = array.offset + len(array)
    return np.frombuffer(array.buffers()[1], dtype, stop)[array.offset :]


def bools_of(array: pa.Array) -> npt.NDArray[np.bool_]:
    """The booleans of an array; where one is null, any."""
    if not len(array):
        return np.empty(0, np.bool_)
    bits = np.frombuffer(array.buffers()[1], np.uint8)
    stop = array.offset + len(array)
    return np.unpackbits(bits, count=stop, bitorder="little")[array.offset :].view(np.bool_)


def is_valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether each value is not null."""
    return bools_of(array.is_valid())


def bits_of(values: npt.NDArray[np.bool_]) -> pa.Buffer:
    """Booleans as Arrow's bits."""
    return buffer_of(np.packbits(values, bitorder="little"))


def new_numbers(count: int, dtype: npt.DTypeLike) -> tuple[npt.NDArray[Any], pa.Buffer]:
    """Numbers to be written, and the Arrow buffer that they are in."""
    buffer = pa.allocate_buffer(count * np.dtype(dtype).itemsize)  # point: own-memory
    return np.ndarray(count, dtype, buffer), buffer


def buffer_of(values: npt.NDArray[Any]) -> pa.Buffer:
    """The values as they are in memory, row by row, as an Arrow buffer."""
    numbers, buffer = new_numbers(values.size, values.dtype)
    numbers[:] = values.ravel()
    return buffer


def _dtype_of(arrow_type: pa.DataType) -> str:
    if pa.types.is_floating(arrow_type):
        kind = "f"
    elif pa.types.is_decimal(arrow_type):
        kind = "V"
    else:
        kind = "u" if pa.types.is_unsigned_integer(arrow_type) else "i"
    return f"{kind}{arrow_type.bit_width // 8}"


EMPTY: Final = scalar_of(b"")
