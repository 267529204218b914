"""The encoder of one Avro schema's payloads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from kafka_formats.avro.encode import encode
from kafka_formats.avro.schema import Schema, parsed
from kafka_formats.payload.schema_text import SchemaText


@dataclass(frozen=True, slots=True)
class AvroEncoder:
    """Encodes values with a schema. It is pickled with tasks."""

    schema: SchemaText

    def encode(self, values: pa.Array) -> pa.BinaryArray:
        """Encode values without nulls, one payload each.

        Raises:
            PayloadError: A value does not fit.
            SchemaError: The schema is invalid, or the type does not fit it.
        """
        return encode(_parsed(self.schema), values)

    def check(self, data_type: pa.DataType) -> None:
        """Check that values of a type can be written. Nulls are not checked.

        Raises:
            SchemaError: They cannot. Names the field.
        """
        self.encode(pa.nulls(0, data_type))


@lru_cache(maxsize=100)
def _parsed(schema: SchemaText) -> Schema:
    return parsed(schema)
