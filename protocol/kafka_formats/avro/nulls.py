"""Payloads of Avro that are null as a whole: of a union with null, or of the schema null.

Source: Apache Avro 1.12, "Unions": the number of the branch, in zigzag, and then its value.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_formats.avro.schema import Primitive, Schema, Union, parsed
from kafka_formats.errors import SchemaError
from kafka_formats.payload.format import SchemaById
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.schema_ids.frames import SchemaId


@dataclass(frozen=True, slots=True)
class AvroNulls:
    """The pattern of null payloads, by the schema that they were written with. It is pickled.

    Attributes:
        schema: The schema of payloads without frames; None if there is none.
        schema_by_id: Finds the schemas of others; None if there are none.
    """

    schema: SchemaText | None
    schema_by_id: SchemaById | None

    def __call__(self, schema_id: SchemaId) -> str | None:
        """The pattern; None if no payload is null, or if there is no such schema.

        Raises:
            RegistryError: The registry cannot be asked.
        """
        try:
            written = self.schema if self.schema_by_id is None else self.schema_by_id(schema_id)
            return None if written is None else _pattern_of(parsed(written))
        except SchemaError:
            # Its payloads are broken, and not null.
            return None


def _pattern_of(schema: Schema) -> str | None:
    if _is_null(schema):
        return r"\A\z"
    if isinstance(schema, Union):
        places = [place for place, each in enumerate(schema.branches) if _is_null(each)]
        # The null is the whole of the payload. Beyond 64 branches a number has two bytes.
        return rf"\A{_varint(places[0] * 2)}\z" if places else None
    return None


def _is_null(schema: Schema) -> bool:
    return isinstance(schema, Primitive) and schema.name == "null"


def _varint(number: int) -> str:
    """The bytes of a number that is not negative, as a regular expression has them."""
    text = ""
    while number > 0x7F:
        text += f"\\x{number & 0x7F | 0x80:02x}"
        number >>= 7
    return f"{text}\\x{number:02x}"
