"""The buffers of Arrow arrays; and arrays with other nulls, or of another type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_protocol.columnar.arrays.arrow_memory import EMPTY, array_of, array_of_bools, is_valid
from kafka_protocol.columnar.arrays.slices import offsets_of


def bounds_of(array: pa.Array) -> npt.NDArray[np.int64]:
    """Where each value of bytes, text or a list begins in its data, and the end of the last one."""
    return offsets_of(array).astype(np.int64)


def data_of(array: pa.Array) -> npt.NDArray[np.uint8]:
    """The data of bytes or text; at least one byte."""
    data = array.buffers()[2]
    data_bytes = np.frombuffer(data if data is not None else b"", dtype=np.uint8)
    return data_bytes if len(data_bytes) else np.zeros(1, dtype=np.uint8)


def texts_of(values: pa.BinaryArray) -> tuple[pa.StringArray, npt.NDArray[np.bool_]]:
    """Bytes as text, and which values are not UTF-8: their text is empty."""
    try:
        return values.cast(pa.string()), np.zeros(len(values), dtype=np.bool_)
    except pa.ArrowInvalid:
        broken = np.fromiter((not _is_utf8(value) for value in values), np.bool_, len(values))
        return pc.if_else(array_of_bools(broken), EMPTY, values).cast(pa.string()), broken


def _is_utf8(value: pa.BinaryScalar) -> bool:
    try:
        (value.as_py() or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def fields_of(structs: pa.StructArray) -> dict[str, pa.Array]:
    """The fields of structs by their names, null where a struct is."""
    names = [field.name for field in structs.type]
    return dict(zip(names, structs.flatten(), strict=True))


def without_first(count: int, array: pa.BinaryArray, last: int = 0) -> pa.BinaryArray:
    """Values of bytes without nulls, each without its first bytes and its last; it must have them.

    Arrow's own `binary_slice` fails for some arrays ("Negative buffer resize").
    """
    if not (count or last) or not len(array):
        return array
    bounds = bounds_of(array)
    data = np.frombuffer(array.buffers()[2], dtype=np.uint8)[bounds[0] : bounds[-1]]
    is_kept = np.ones(len(data), dtype=np.bool_)
    is_kept[((bounds[:-1] - bounds[0])[:, None] + np.arange(count)).ravel()] = False
    is_kept[((bounds[1:] - bounds[0])[:, None] - np.arange(1, last + 1)).ravel()] = False
    offsets = (bounds - bounds[0] - (count + last) * np.arange(len(bounds))).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data[is_kept])]
    return pa.Array.from_buffers(array.type, len(array), buffers)


def in_rows(is_given: npt.NDArray[np.bool_], values: pa.Array) -> pa.Array:
    """The values, in order, in the rows that have one; null in the others."""
    return values.take(array_of(np.cumsum(is_given) - 1, pa.int64(), ~is_given))


def null_where(is_null: npt.NDArray[np.bool_], values: pa.Array) -> pa.Array:
    """The values, null in some rows."""
    if not is_null.any():
        return values
    if is_null.all():
        return pa.nulls(len(values), values.type)
    return values.take(array_of(np.arange(len(values)), pa.int64(), is_null))


def with_fields(structs: pa.StructArray, to: pa.StructType) -> pa.StructArray:
    """Structs with some of their fields, at least one, by name; null where they are."""
    parts = fields_of(structs)
    arrays = [with_type(parts[field.name], field.type) for field in to]
    mask = array_of_bools(~is_valid(structs))
    return pa.StructArray.from_arrays(arrays, fields=[*to], mask=mask)


class _WithType:
    """An array with another type of the same layout: null or not null, names of parts."""

    def __init__(self, array: pa.Array, to: pa.DataType) -> None:
        self._array = array
        self._to = to

    def __arrow_c_array__(self, _requested_schema: Any = None) -> tuple[Any, Any]:
        return self._to.__arrow_c_schema__(), self._array.__arrow_c_array__()[1]


def with_type(array: pa.Array, to: pa.DataType) -> pa.Array:
    """The same array with another type of the same layout."""
    return array if array.type.equals(to) else pa.array(_WithType(array, to))
