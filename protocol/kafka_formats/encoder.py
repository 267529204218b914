"""Columns of values -> columns of framed payloads. No format enters here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import in_rows, is_valid
from kafka_formats.errors import PayloadError, SchemaError

# Values without nulls -> payloads. Raises PayloadError and SchemaError.
Encode: TypeAlias = Callable[[pa.Array], pa.BinaryArray]


@dataclass(frozen=True, slots=True)
class PayloadWriter:
    """How to encode a column. It is pickled with tasks.

    Attributes:
        frame: The bytes before each payload.
        encode: The format and the schema.
    """

    frame: bytes
    encode: Encode


@dataclass(frozen=True, slots=True)
class RecordEncoder:
    """Encodes the keys and values of rows.

    Attributes:
        writers: Index of a column -> how to encode it. Others stay as they are.
    """

    writers: Mapping[int, PayloadWriter]

    def encode(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows with payloads; a null value stays null, a tombstone.

        Raises:
            PayloadError: A value does not fit its schema. Names the column and the field.
            SchemaError: The type of a column does not fit. Names the column and the field.
        """
        columns, fields = rows.columns, list(rows.schema)
        for index, writer in self.writers.items():
            name = fields[index].name
            columns[index] = encode_column(rows.column(index), writer, name)
            fields[index] = pa.field(name, pa.binary())
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def encode_column(values: pa.Array, writer: PayloadWriter, name: str) -> pa.BinaryArray:
    """The payloads of a column's values, null for null.

    Raises:
        PayloadError, SchemaError: As from `RecordEncoder.encode`.
    """
    given = values.drop_null() if values.null_count else values
    try:
        payloads = writer.encode(given)
    except PayloadError as error:
        path = f"{name}.{error.field}" if error.field else name
        raise PayloadError(path, error.reason) from error
    except SchemaError as error:
        raise SchemaError(f"column {name!r}: {error}") from error
    if writer.frame:
        payloads = pc.binary_join_element_wise(pa.scalar(writer.frame), payloads, b"")
    if len(given) == len(values):
        return payloads
    return in_rows(is_valid(values), payloads)
