"""The id to write a schema with: looked up or registered in its subject.

Imported schemas have subjects of their own, named as they are imported, as Confluent's serializers
name them: a reader finds all of them by the one id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaFile
from kafka_formats.query.formats import FORMATS
from kafka_formats.query.schema_choice import KnownSchema
from kafka_formats.registry.client import RegistryClient
from kafka_formats.registry.schemas import NewSchema, Reference
from kafka_formats.registry.schemas_by_id import KINDS
from kafka_protocol.errors import KafkaConfigError


@dataclass(frozen=True, slots=True)
class Registration:
    """Finds the ids of the schemas of a column.

    Attributes:
        column: `key` or `value`, for errors.
        format: The format of the schemas.
        client: The registry.
        auto_register: Whether to register schemas that are not there.
        normalize: Whether the registry ignores differences that mean nothing.
    """

    column: str
    format: Format
    client: RegistryClient
    auto_register: bool
    normalize: bool

    def id_in(self, subject: str, known: KnownSchema) -> int:
        """The id of a schema in a subject.

        Raises:
            KafkaError: The schema, or one that it imports, is neither there nor to be registered,
                or the registry refuses.
        """
        *imported, own = FORMATS[self.format].files(known.schema)
        references: dict[str, Reference] = {}
        for file in imported:
            schema = self._new(file, references)
            if self.auto_register:
                self.client.register(file.name, schema, normalize=self.normalize)
            version, _ = self._look_up(file.name, schema, known)
            references[file.name] = Reference(file.name, file.name, version)
        schema = self._new(own, references)
        if self.auto_register:
            return self.client.register(subject, schema, normalize=self.normalize)
        return self._look_up(subject, schema, known)[1]

    def _new(self, file: SchemaFile, references: Mapping[str, Reference]) -> NewSchema:
        needed = tuple(references[name] for name in file.imports)
        return NewSchema(KINDS[self.format], file.text, needed)

    def _look_up(self, subject: str, schema: NewSchema, known: KnownSchema) -> tuple[int, int]:
        """The version that a schema is of a subject, and its id."""
        registered = self.client.look_up(subject, schema, normalize=self.normalize)
        if registered is None or not isinstance(registered.schema.id, int):
            raise KafkaConfigError(
                f"The schema of the {self.column}s, {known.origin}, is not in the subject "
                f"{subject!r}: register it there, or set auto.register.schemas to true."
            )
        return registered.version, registered.schema.id
