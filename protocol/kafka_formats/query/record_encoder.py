"""Records with keys and values as columns -> records with framed payloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from kafka_formats.payload.column_encoder import ColumnEncoder, encode_column


@dataclass(frozen=True, slots=True)
class RecordEncoder:
    """Encodes the keys and values of rows.

    Attributes:
        encoders: Index of a column -> how to encode it. Others stay as they are.
    """

    encoders: Mapping[int, ColumnEncoder]

    def encode(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows with payloads; a null value stays null, a tombstone.

        Raises:
            PayloadError: A value does not fit its schema. Names the column and the field.
            SchemaError: The type of a column does not fit. Names the column and the field.
        """
        columns, fields = rows.columns, list(rows.schema)
        for index, encoder in self.encoders.items():
            name = fields[index].name
            columns[index] = encode_column(rows.column(index), encoder, name)
            fields[index] = pa.field(name, pa.binary())
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
