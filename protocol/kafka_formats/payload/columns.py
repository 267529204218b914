"""A column of payloads -> a column of values: each group is decoded with its own schema.

A `PayloadDecoder` decodes a schema's payloads. No mode enters here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import in_rows
from kafka_formats.errors import FormatError, PayloadError, SchemaError
from kafka_formats.options.settings import Framing
from kafka_formats.payload.format import DecoderFactory, PayloadDecoder, Values
from kafka_formats.schema_ids.frames import Frames, Group, SchemaId
from kafka_protocol.columnar.arrays.arrow_memory import array_of, indices_of, is_valid


class Refusal(NamedTuple):
    """Why a read has to stop: the error condition in brackets, and the end of a sentence."""

    condition: str
    reason: str


# Says whether a read has to stop at payloads of a schema, and why; None if it has not.
RefusalOf: TypeAlias = "Callable[[SchemaId, DecoderFactory], Refusal | None]"


@dataclass(frozen=True, slots=True)
class ColumnFormat:
    """How to decode a column of payloads. It is pickled with tasks.

    Attributes:
        framing: Where the id of a payload's schema is.
        type: The type of the values.
        decoders: The decoders of all schemas. Their values have the type, except that parts may be
            nullable.
        refusal: Why a read has to stop at payloads of a schema, or None; None if it never has.
    """

    framing: Framing
    type: pa.DataType
    decoders: DecoderFactory
    refusal: RefusalOf | None = None


class Fault(NamedTuple):
    """Why a payload is broken.

    Attributes:
        schema_id: The id in its frame.
        field: The path of the field; empty for the whole payload.
        reason: What is wrong.
        kind: The error: that of the payload, or that of its schema.
    """

    schema_id: SchemaId
    field: str
    reason: str
    kind: type[FormatError] = PayloadError

    def __str__(self) -> str:
        """After the name of the column: the schema, the field and the reason."""
        schema = "" if self.schema_id is None else f" (schema id {self.schema_id})"
        return f"{schema}: {f'field {self.field}: ' if self.field else ''}{self.reason}"


class ColumnValues:
    """The values of a column, and the faults of its broken payloads."""

    def __init__(
        self,
        values: Values,
        payloads: pa.BinaryArray,
        groups: Sequence[tuple[Group, PayloadDecoder | SchemaError]],
        why_unframed: Callable[[bytes], str],
    ) -> None:
        self.values, self.is_broken = values
        self._why_unframed = why_unframed
        self._payloads = payloads
        self._groups = groups

    def fault(self, row: int) -> Fault:
        """The fault in a broken payload."""
        payload: bytes = self._payloads[row].as_py()
        for group, decoder in self._groups:
            place = int(np.searchsorted(group.rows, row))
            if place < len(group.rows) and group.rows[place] == row:
                if isinstance(decoder, SchemaError):
                    return Fault(group.schema_id, "", str(decoder), type(decoder))
                error = decoder.explain(payload[group.frame_bytes :])
                return Fault(group.schema_id, error.field, error.reason)
        return Fault(None, "", self._why_unframed(payload))


def decode_present(payloads: pa.BinaryArray, decode: Callable[[pa.BinaryArray], Values]) -> Values:
    """Decode payloads with a function that takes no null; null gives null."""
    if not payloads.null_count:
        return decode(payloads)
    decoded = decode(payloads.drop_null())
    rows = is_valid(payloads)
    is_broken = np.zeros(len(payloads), dtype=np.bool_)
    is_broken[rows] = decoded.is_broken
    return Values(in_rows(rows, decoded.values), is_broken)


def decode_column(
    payloads: pa.BinaryArray, frames: Frames, decoders: DecoderFactory, to: pa.DataType
) -> ColumnValues:
    """Decode payloads of several schemas.

    Args:
        payloads: Keys or values; null for a tombstone.
        frames: The frames of the payloads.
        decoders: All payloads of a schema for which they raise SchemaError are broken.
        to: The type of the values that decoders give.
    """
    payloads = payloads if frames.unpacked is None else frames.unpacked
    groups = [(group, _decoder_or_error(decoders, group.schema_id)) for group in frames.groups]
    is_broken = np.zeros(len(payloads), dtype=np.bool_)
    is_broken[frames.unframed] = True
    decoded: list[tuple[Group, pa.Array]] = []
    for group, decoder in groups:
        if isinstance(decoder, SchemaError):
            is_broken[group.rows] = True
            continue
        is_all = len(group.rows) == len(payloads)
        own = payloads if is_all else payloads.take(indices_of(group.rows))
        values, is_broken[group.rows] = decoder.decode(own, group.frame_bytes)
        decoded.append((group, values))
    return ColumnValues(
        Values(_in_order(decoded, len(payloads), to), is_broken),
        payloads,
        groups,
        frames.why_unframed,
    )


def _decoder_or_error(
    decoders: DecoderFactory, schema_id: SchemaId
) -> PayloadDecoder | SchemaError:
    try:
        return decoders.for_schema(schema_id)
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
    return joined.take(array_of(place, pa.int64(), place < 0))
