"""The schemas that payloads were written with, found by their ids."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kafka_formats.errors import NotFoundError, RegistryError, SchemaError, UnknownSchemaError
from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.registry.schemas import Kind, Place, RegisteredSchema
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
    if schema.kind and schema.kind != KINDS[format_]:
        raise SchemaError(f"{what} is of the kind {schema.kind}, not {KINDS[format_]}")
    return SchemaText(schema.text, schema.dependencies)


# Payloads name schemas, and anybody who may write to the topic writes payloads.
_MOST_REFUSED: Final = 1_000


@dataclass(frozen=True, slots=True)
class SchemasById:
    """Finds the schema with an id. It is pickled with tasks.

    Each id that the registry does not have is asked for once in a task, and a task asks for a
    limited number of them.

    Attributes:
        known: Id -> schema. The registry is asked for others only.
        config: The registry.
        refused: Id -> the registry's error for an id that it does not have.
    """

    known: Mapping[int | uuid.UUID, SchemaText]
    format: Format
    config: SourceConfig
    refused: dict[int | uuid.UUID, str] = field(default_factory=dict, compare=False)

    def __call__(self, schema_id: SchemaId) -> SchemaText:
        """The schema with an id or a GUID.

        Raises:
            UnknownSchemaError: There is no such schema.
            SchemaError: It is one of another format.
            RegistryError: The registry cannot be asked, or refuses.
        """
        number = _number_in(schema_id)
        if number in self.known:
            return self.known[number]
        if number in self.refused:
            raise UnknownSchemaError(self.refused[number])
        client = source_with(self.config)
        try:
            if isinstance(number, int):
                schema = client.schema_of_id(number)
            else:
                schema = client.schema_of_guid(number)
        except NotFoundError as error:
            self._refuse(number, str(error))
            raise UnknownSchemaError(str(error)) from error
        return schema_text_of(schema, self.format, f"the schema id {number}")

    def is_known(self, schema_id: SchemaId) -> bool:
        """Whether it is a schema that was there when the query began."""
        return _number_in(schema_id) in self.known

    def places(self, schema_id: SchemaId) -> Sequence[Place] | None:
        """The versions of subjects with this schema; None if the registry does not list them.

        Raises:
            UnknownSchemaError: There is no such schema, or it was deleted from all subjects.
            SchemaError: The payload names no schema.
            RegistryError: The registry cannot be asked, or refuses.
        """
        number = _number_in(schema_id)
        if number in self.refused:
            raise UnknownSchemaError(self.refused[number])
        return source_with(self.config).places(number)

    def _refuse(self, number: int | uuid.UUID, reason: str) -> None:
        self.refused[number] = reason
        if len(self.refused) > _MOST_REFUSED:
            raise RegistryError(
                f"The payloads of a task name more than {_MOST_REFUSED:,} schemas that the "
                f"registry does not have, the last one is {number}. Check that "
                "schema.registry.url is the registry that the writers use, and who may write to "
                "the topic; read the records as they are without a format"
            )


def _number_in(schema_id: SchemaId) -> int | uuid.UUID:
    """The number or the UUID of a schema.

    Raises:
        SchemaError: There is none.
    """
    if isinstance(schema_id, InHeader):
        raise SchemaError(f"the header has {len(schema_id.suffix)} bytes after the schema id")
    if schema_id is None or isinstance(schema_id, InPayload):
        raise SchemaError("the payload names no schema")
    return schema_id.version_id if isinstance(schema_id, GlueVersion) else schema_id
