"""Record headers <-> Arrow lists of (key, value) structs, vectorised (KIP-82).

Headers are read in rounds: the first header of every record, then the second, and so on while
many records have more. The headers of the last few records are read one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_protocol.columnar.arrays.arrow_memory import (
    EMPTY,
    array_of,
    array_of_bools,
    array_of_bytes,
    is_valid,
    numbers_of,
)
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from kafka_protocol.columnar.arrays.slices import lengths, take_slices, varint_array
from kafka_protocol.columnar.arrays.varints import Bytes, Longs, read_varints
from kafka_protocol.errors import DecodeError, EncodeError
from kafka_protocol.records.compression import Buffer
from kafka_protocol.wire.primitives import read_varint


def decode_headers(data: Buffer, start: Longs, end: Longs) -> pa.Array:
    """The headers of many records, each from its header count to the end of the record.

    Returns:
        A list array; null, not empty, for a record without headers (as Spark's connector).

    Raises:
        DecodeError: A count or a length is impossible.
    """
    view = np.frombuffer(data, dtype=np.uint8)
    count, pos = read_varints(view, start)
    # A header has at least two bytes.
    if ((count < 0) | (count * 2 > end - pos)).any():
        raise DecodeError("a record has an impossible number of headers")
    has_none = count == 0
    if (pos[has_none] != end[has_none]).any():
        raise DecodeError("a record is longer than its fields")
    if has_none.all():
        return pa.nulls(len(count), HEADERS_TYPE)
    first = np.zeros(len(start) + 1, dtype=np.int64)
    np.cumsum(count, out=first[1:])
    fields = _read_rounds(view, count, pos, end, first)
    keys = _text(take_slices(data, fields[0], fields[1]))
    values = take_slices(data, fields[2], fields[3])
    entries = pa.StructArray.from_arrays([keys, values], fields=list(HEADERS_TYPE.value_type))
    return pa.ListArray.from_arrays(
        array_of(first, pa.int32()),
        entries,
        type=HEADERS_TYPE,
        mask=array_of_bools(has_none) if has_none.any() else None,
    )


def _read_rounds(view: Bytes, count: Longs, pos: Longs, end: Longs, first: Longs) -> list[Longs]:
    """The starts and lengths of all keys, and of all values, in buffer order."""
    total = int(first[-1])
    fields = [np.empty(total, dtype=np.int64) for _ in range(4)]
    rows = np.flatnonzero(count)
    here, stop = pos[rows], end[rows]
    number = 0
    while rows.size >= _FEW_ROWS:
        key_length, key_start = read_varints(view, np.minimum(here, stop))
        here = key_start + key_length
        if ((key_length < 0) | (here >= stop)).any():
            raise DecodeError(_TOO_SHORT)
        value_length, value_start = read_varints(view, here)
        here = value_start + np.maximum(value_length, 0)
        if ((value_length < -1) | (here > stop)).any():
            raise DecodeError(_TOO_SHORT)
        index = first[rows] + number
        for column, values in zip(
            fields, (key_start, key_length, value_start, value_length), strict=True
        ):
            column[index] = values
        number += 1
        last = count[rows] == number
        if (here[last] != stop[last]).any():
            raise DecodeError("a record is longer than its headers")
        rows, here, stop = rows[~last], here[~last], stop[~last]
    buffer = memoryview(view.data)
    for row, start, limit in zip(rows.tolist(), here.tolist(), stop.tolist(), strict=True):
        indices = range(int(first[row]) + number, int(first[row + 1]))
        _read_one_by_one(buffer[:limit], start, indices, fields)
    return fields


# Below this many records a round of numpy calls costs more than reading them one by one.
_FEW_ROWS: Final = 16
_TOO_SHORT: Final = "a record is shorter than its headers"


def _read_one_by_one(record: memoryview, pos: int, indices: range, fields: Sequence[Longs]) -> None:
    """Read the headers of one record, from `pos` to its end, to these indices of `fields`."""
    for index in indices:
        for start_column, length_column, lowest in ((0, 1, 0), (2, 3, -1)):
            length, pos = read_varint(record, pos)
            if length < lowest or pos + length > len(record):
                raise DecodeError(_TOO_SHORT)
            fields[start_column][index] = pos
            fields[length_column][index] = length
            pos += max(length, 0)
    if pos != len(record):
        raise DecodeError("a record is longer than its headers")


def _text(keys: pa.Array) -> pa.Array:
    """Text from UTF-8; invalid bytes become U+FFFD, as in Java's `new String(bytes, UTF_8)`."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        texts = (key.decode("utf-8", "replace") for key in keys.to_pylist())
        return array_of_bytes([text.encode() for text in texts], pa.string())


def header_counts(headers: pa.Array) -> Longs:
    """The number of headers of each record, in lists or maps; null has none."""
    count = pc.list_value_length(_as_lists(headers))
    return np.where(is_valid(count), numbers_of(count), 0).astype(np.int64)


def _as_lists(headers: pa.Array) -> pa.ListArray:
    return headers.cast(HEADERS_TYPE) if pa.types.is_map(headers.type) else headers


def encode_headers(headers: pa.Array) -> pa.Array:
    """The bytes after the value of each record: the header count, then the headers.

    A binary array from a list array of (key, value) structs, or from a map; null has no headers.

    Raises:
        EncodeError: A header has no key.
    """
    headers = _as_lists(headers)
    entries = headers.flatten()
    keys = entries.field("key").cast(pa.binary())
    values = entries.field("value").cast(pa.binary())
    if entries.null_count or keys.null_count:
        raise EncodeError("a record header has no key; give each header a key, or no header at all")
    key_length = lengths(keys)
    value_length = lengths(values)
    encoded = pc.binary_join_element_wise(
        varint_array(key_length),
        keys,
        varint_array(value_length),
        pc.fill_null(values, EMPTY),
        EMPTY,
    )
    count = header_counts(headers)
    first = np.zeros(len(count) + 1, dtype=np.int64)
    np.cumsum(count, out=first[1:])
    # The headers of a record are adjacent, so they are one slice.
    ends = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(lengths(encoded), out=ends[1:])
    per_record = pa.Array.from_buffers(
        pa.binary(),
        len(count),
        [None, pa.py_buffer(ends[first].astype(np.int32)), encoded.buffers()[2]],
    )
    return pc.binary_join_element_wise(varint_array(count), per_record, EMPTY)
