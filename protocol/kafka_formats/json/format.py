"""JSON as one of the formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

import pyarrow as pa

from kafka_formats.errors import SchemaError
from kafka_formats.json import schema as schemas
from kafka_formats.json.ddl import to_ddl
from kafka_formats.json.decoder import JsonDecoderFactory
from kafka_formats.json.derive import derive_schema
from kafka_formats.json.encoder import JsonEncoder
from kafka_formats.payload.format import PayloadFormat, SchemaById
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.payload.type_changes import Loss, changed_types, part_in
from kafka_formats.schema_ids.frames import SchemaId


class JsonFormat(PayloadFormat):
    """Payloads name their fields: all are decoded as the query's schema, or only as its type."""

    needs_written_schema: ClassVar[bool] = False

    def name_of(self, schema: SchemaText) -> str:
        """The title of a JSON Schema; empty without a title."""
        return schemas.name_of(schema)

    def type_of(self, schema: SchemaText) -> pa.DataType:
        """The type of a JSON Schema or a DDL."""
        return schemas.type_of(schema)

    def check_part(self, schema: SchemaText, wanted: pa.DataType) -> None:
        """Raise SchemaError unless the schema has the wanted fields."""
        schemas.check_part(schema, wanted)

    def decoder_factory(
        self,
        schema: SchemaText,  # noqa: ARG002
        wanted: pa.DataType,
        schema_by_id: SchemaById | None,  # noqa: ARG002
    ) -> JsonDecoderFactory:
        """One decoder for payloads of all schemas."""
        return JsonDecoderFactory(wanted)

    def losses(
        self, written: SchemaText, schema: SchemaText, wanted: pa.DataType
    ) -> Iterator[Loss]:
        """The losses between the types; all parts may be null."""
        return changed_types(self.type_of(written), part_in(self.type_of(schema), wanted))

    def encoder(self, schema: SchemaText) -> JsonEncoder:
        """The encoder, which checks values by the schema, and writes them as `to_json` does."""
        return JsonEncoder(schema)

    def derive(self, data_type: pa.DataType) -> SchemaText:
        """A JSON Schema as Confluent's converters write it."""
        return SchemaText(derive_schema(data_type))

    def record_types(self, schema: SchemaText, subject: str) -> Mapping[str, SchemaText]:  # noqa: ARG002
        """Its title, as Confluent's serializers name the subject by it."""
        title = schemas.name_of(schema)
        if not title:
            raise SchemaError(
                "it has no title, which is the name of its record type; a payload of oneOf does "
                "not name its type: list the subjects of the types"
            )
        return {title: schema}

    def null_payloads(
        self,
        schema: SchemaText | None,  # noqa: ARG002
        schema_by_id: SchemaById | None,  # noqa: ARG002
    ) -> tuple[Callable[[SchemaId], str], str]:
        """The document `null`, whatever its schema is."""
        return _null_pattern, "null"

    def schema_to_read(self, wanted: pa.DataType) -> SchemaText:
        """The type as a DDL."""
        return SchemaText(to_ddl(wanted))


def _null_pattern(_schema_id: SchemaId) -> str:
    return r"\A[ \t\r\n]*null[ \t\r\n]*\z"
