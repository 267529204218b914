"""A column of values -> a column of framed payloads. No format enters here."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import in_rows
from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.payload.format import PayloadEncoder
from kafka_protocol.columnar.arrays.arrow_memory import EMPTY, is_valid, scalar_of


@dataclass(frozen=True, slots=True)
class ColumnEncoder:
    """How to encode a column. It is pickled with tasks.

    Attributes:
        frame: The bytes before each payload.
        payloads: Encodes the values, with a format and a schema.
    """

    frame: bytes
    payloads: PayloadEncoder


def encode_column(values: pa.Array, encoder: ColumnEncoder, name: str) -> pa.BinaryArray:
    """The payloads of a column's values, null for null.

    Raises:
        PayloadError: A value does not fit its schema. Names the column and the field.
        SchemaError: The type of the column does not fit. Names the column and the field.
    """
    given = values.drop_null() if values.null_count else values
    try:
        payloads = encoder.payloads.encode(given)
    except PayloadError as error:
        raise error.within(name) from error
    except SchemaError as error:
        raise SchemaError(f"column {name!r}: {error}") from error
    if encoder.frame:
        payloads = pc.binary_join_element_wise(scalar_of(encoder.frame), payloads, EMPTY)
    if len(given) == len(values):
        return payloads
    return in_rows(is_valid(values), payloads)
