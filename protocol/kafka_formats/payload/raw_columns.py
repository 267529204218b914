"""Columns of raw records in other types: bytes as text, and headers as a map.

Text has the bytes of the payload, as Spark's `CAST(value AS STRING)`, which does not check them
either. Where a mode is given, bytes that are not UTF-8 are a broken payload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import texts_of, with_type
from kafka_formats.errors import PayloadError
from kafka_formats.options.settings import Framing
from kafka_formats.payload.columns import ColumnFormat, decode_present
from kafka_formats.payload.format import PayloadDecoder, Values
from kafka_formats.schema_ids.frames import Longs, SchemaId
from kafka_protocol.columnar.arrays.arrow_memory import array_of, indices_of, is_valid, numbers_of
from kafka_protocol.columnar.arrays.headers import header_counts
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE

# The types that `headers` may have beside that of the source.
HEADER_MAPS: Final = (pa.map_(pa.string(), pa.binary()), pa.map_(pa.string(), pa.string()))
_BYTES_OR_TEXT: Final = (pa.binary(), pa.string())
RAW_TYPES: Final[Mapping[str, tuple[pa.DataType, ...]]] = {
    "key": _BYTES_OR_TEXT,
    "value": _BYTES_OR_TEXT,
    "headers": (HEADERS_TYPE, *HEADER_MAPS),
}
"""The types that columns without a format may be read as."""


def raw_as(column: pa.Array, to: pa.DataType) -> pa.Array:
    """A column of raw records in a type that it may be read as."""
    if pa.types.is_map(to):
        return _map_of(column, to)
    return with_type(column, to)


def _map_of(headers: pa.ListArray, to: pa.MapType) -> pa.MapArray:
    """Headers by their names; of several with one name the last."""
    count = header_counts(headers)
    entries = headers.flatten()
    if len(entries) and count.max() > 1:
        rows = np.repeat(np.arange(len(headers)), count)
        kept = _last_of_each(rows, entries.field("key"))
        entries = entries.take(indices_of(kept))
        count = np.bincount(rows[kept], minlength=len(headers))
    bounds = np.zeros(len(headers) + 1, dtype=np.int32)
    np.cumsum(count, out=bounds[1:])
    # A null at the start of a list is a null list.
    offsets = array_of(bounds, pa.int32(), np.append(~is_valid(headers), False))
    values = with_type(entries.field("value"), to.item_type)
    return pa.MapArray.from_arrays(offsets, entries.field("key"), values, to)


def _last_of_each(rows: Longs, names: pa.StringArray) -> Longs:
    """The places of the last entry of each name in each row, in order."""
    encoded = names.dictionary_encode()
    pairs = rows * len(encoded.dictionary) + numbers_of(encoded.indices)
    _, from_end = np.unique(pairs[::-1], return_index=True)
    places: Longs = np.sort(len(pairs) - 1 - from_end)
    return places


@dataclass(frozen=True, slots=True)
class _TextPayloadDecoder:
    """Decodes UTF-8; its own factory, as there are no schemas."""

    def for_schema(self, _schema_id: SchemaId) -> PayloadDecoder:
        return self

    def decode(self, payloads: pa.BinaryArray, _skipped_bytes: int) -> Values:
        return decode_present(payloads, lambda present: Values(*texts_of(present)))

    def explain(self, payload: bytes) -> PayloadError:
        try:
            payload.decode()
        except UnicodeDecodeError as error:
            return PayloadError("", f"it is not UTF-8: {error.reason} at byte {error.start}")
        raise AssertionError("the payload is UTF-8")


CHECKED_TEXT: Final = ColumnFormat(Framing.NONE, pa.string(), _TextPayloadDecoder())
"""The format of a column of text whose bytes have to be UTF-8."""
