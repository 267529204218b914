"""The encoder of one schema's payloads."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from kafka_formats.json.encode import check_type, encode
from kafka_formats.json.schema import check_written
from kafka_formats.payload.schema_text import SchemaText


@dataclass(frozen=True, slots=True)
class JsonEncoder:
    """Encodes values with a schema. It is pickled with tasks."""

    schema: SchemaText

    def encode(self, values: pa.Array) -> pa.BinaryArray:
        """Encode values without nulls, one payload each.

        Raises:
            SchemaError: The schema is invalid, or the type does not fit it.
        """
        check_written(self.schema, values.type)
        return encode(values)

    def check(self, data_type: pa.DataType) -> None:
        """Check that values of a type can be written.

        Raises:
            SchemaError: They cannot. Names the field.
        """
        check_type(data_type)
        check_written(self.schema, data_type)
