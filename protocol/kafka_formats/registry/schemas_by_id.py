"""The schemas that payloads were written with, found by their ids."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka_formats.errors import NotFoundError, SchemaError, UnknownSchemaError
from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.registry.schemas import Kind, RegisteredSchema
from kafka_formats.registry.sources import SourceConfig, source_with
from kafka_formats.schema_ids.frames import GlueVersion, InHeader, InPayload, SchemaId

# The names of formats in a registry.
KINDS: Final[Mapping[Format, Kind]] = {
    Format.AVRO: "AVRO",
    Format.JSON: "JSON",
    Format.PROTOBUF: "PROTOBUF",
}


def schema_text_of(schema: RegisteredSchema, format_: Format, what: str) -> SchemaText:
    """The text of a registered schema; `what` names it in errors.

    Raises:
        SchemaError: It is one of another format.
    """
    if schema.kind != KINDS[format_]:
        raise SchemaError(f"{what} is of the kind {schema.kind}, not {KINDS[format_]}")
    return SchemaText(schema.text, schema.dependencies)


@dataclass(frozen=True, slots=True)
class SchemasById:
    """Finds the schema with an id. It is pickled with tasks.

    Attributes:
        known: Id -> schema. The registry is asked for others only.
        config: The registry.
    """

    known: Mapping[int | uuid.UUID, SchemaText]
    format: Format
    config: SourceConfig

    def __call__(self, schema_id: SchemaId) -> SchemaText:
        """The schema with an id or a GUID.

        Raises:
            UnknownSchemaError: There is no such schema.
            SchemaError: It is one of another format.
            RegistryError: The registry cannot be asked, or refuses.
        """
        if isinstance(schema_id, InHeader):
            raise SchemaError(f"the header has {len(schema_id.suffix)} bytes after the schema id")
        if schema_id is None or isinstance(schema_id, InPayload):
            raise SchemaError("the payload names no schema")
        if isinstance(schema_id, GlueVersion):
            schema_id = schema_id.version_id
        if schema_id in self.known:
            return self.known[schema_id]
        client = source_with(self.config)
        try:
            if isinstance(schema_id, int):
                schema = client.schema_of_id(schema_id)
            else:
                schema = client.schema_of_guid(schema_id)
        except NotFoundError as error:
            raise UnknownSchemaError(str(error)) from error
        return schema_text_of(schema, self.format, f"the schema id {schema_id}")
