"""A column of payloads -> a column of values: each group is decoded with its own schema.

What decodes a schema's payloads is a `PayloadReader`, one for each format. No mode enters here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_formats.arrow.arrays import in_rows, is_valid
from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.options.settings import Framing
from kafka_formats.schema_ids.frames import Frames, Group, SchemaId

Bools: TypeAlias = npt.NDArray[np.bool_]


class Decoded(NamedTuple):
    """The values of payloads.

    Attributes:
        values: Null where a payload is null, any value where it is broken.
        is_broken: Whether each payload does not have its schema.
    """

    values: pa.Array
    is_broken: Bools


class PayloadReader(Protocol):
    """Reads the payloads of one schema."""

    def decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Decoded:
        """Decode payloads after frames of one size."""

    def explain(self, payload: bytes) -> PayloadError:
        """What is wrong with a broken payload, without its frame."""


# Raises SchemaError for a schema that does not exist, or that cannot be read as wanted.
ReaderOf: TypeAlias = Callable[[SchemaId], PayloadReader]


@dataclass(frozen=True, slots=True)
class PayloadFormat:
    """How to decode a column of payloads. It is pickled with tasks.

    Attributes:
        framing: Where the id of a payload's schema is.
        type: The type of the values.
        reader_of: The reader of a schema, by its id. Its values have the type, but for what can be
            null.
    """

    framing: Framing
    type: pa.DataType
    reader_of: ReaderOf


class Fault(NamedTuple):
    """Why a payload is broken. `field` is empty for the whole payload."""

    schema_id: SchemaId
    field: str
    reason: str

    def __str__(self) -> str:
        """After the name of the column: the schema, the field and the reason."""
        schema = "" if self.schema_id is None else f" (schema id {self.schema_id})"
        return f"{schema}: {f'field {self.field}: ' if self.field else ''}{self.reason}"


class DecodedColumn:
    """The values of a column, and the faults of its broken payloads."""

    def __init__(
        self,
        decoded: Decoded,
        payloads: pa.BinaryArray,
        groups: Sequence[tuple[Group, PayloadReader | SchemaError]],
        why_unframed: Callable[[bytes], str],
    ) -> None:
        self.values, self.is_broken = decoded
        self._why_unframed = why_unframed
        self._payloads = payloads
        self._groups = groups

    def fault(self, row: int) -> Fault:
        """What is wrong with a broken payload."""
        payload: bytes = self._payloads[row].as_py()
        for group, reader in self._groups:
            place = int(np.searchsorted(group.rows, row))
            if place < len(group.rows) and group.rows[place] == row:
                if isinstance(reader, SchemaError):
                    return Fault(group.schema_id, "", str(reader))
                error = reader.explain(payload[group.frame_bytes :])
                return Fault(group.schema_id, error.field, error.reason)
        return Fault(None, "", self._why_unframed(payload))


def decode_present(
    payloads: pa.BinaryArray, decode: Callable[[pa.BinaryArray], Decoded]
) -> Decoded:
    """Decode payloads with a function that takes none that is null; null gives null."""
    if not payloads.null_count:
        return decode(payloads)
    found = decode(payloads.drop_null())
    rows = is_valid(payloads)
    is_broken = np.zeros(len(payloads), dtype=np.bool_)
    is_broken[rows] = found.is_broken
    return Decoded(in_rows(rows, found.values), is_broken)


def decode_column(
    payloads: pa.BinaryArray, frames: Frames, reader_of: ReaderOf, to: pa.DataType
) -> DecodedColumn:
    """Decode payloads of several schemas.

    Args:
        payloads: Keys or values; null for a tombstone.
        frames: Those of the payloads.
        reader_of: The reader of a schema. All payloads of a schema that raises SchemaError are
            broken.
        to: The type of the values that readers give.
    """
    payloads = payloads if frames.unpacked is None else frames.unpacked
    groups = [(group, _reader_or_error(reader_of, group.schema_id)) for group in frames.groups]
    is_broken = np.zeros(len(payloads), dtype=np.bool_)
    is_broken[frames.unframed] = True
    decoded: list[tuple[Group, pa.Array]] = []
    for group, reader in groups:
        if isinstance(reader, SchemaError):
            is_broken[group.rows] = True
            continue
        is_all = len(group.rows) == len(payloads)
        own = payloads if is_all else payloads.take(pa.array(group.rows))
        values, is_broken[group.rows] = reader.decode(own, group.frame_bytes)
        decoded.append((group, values))
    return DecodedColumn(
        Decoded(_in_order(decoded, len(payloads), to), is_broken),
        payloads,
        groups,
        frames.why_unframed,
    )


def _reader_or_error(reader_of: ReaderOf, schema_id: SchemaId) -> PayloadReader | SchemaError:
    try:
        return reader_of(schema_id)
    except SchemaError as error:
        return error


def _in_order(decoded: Sequence[tuple[Group, pa.Array]], count: int, to: pa.DataType) -> pa.Array:
    if not decoded:
        return pa.nulls(count, to)
    if len(decoded) == 1 and len(decoded[0][1]) == count:
        return decoded[0][1]
    place = np.full(count, -1, dtype=np.int64)
    rows = np.concatenate([group.rows for group, _ in decoded])
    place[rows] = np.arange(len(rows))
    joined = pa.concat_arrays([values for _, values in decoded])
    return joined.take(pa.array(place, mask=place < 0))
