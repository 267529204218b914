"""Schemas as a registry has them. Values only."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

Kind: TypeAlias = Literal["AVRO", "PROTOBUF", "JSON"]
# Names and values of properties.
Metadata: TypeAlias = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Reference:
    """Names another schema: an Avro type, a Protobuf import or a URL of JSON Schema."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class NewSchema:
    """A schema to look up, to register or to compare."""

    kind: Kind
    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema from a registry, with all that it refers to.

    Attributes:
        id: Its number in the registry; None if it was asked for by its GUID. In AWS Glue the UUID
            of the version.
        kind: The language of `text`; also one that only the registry knows. Empty if the registry
            does not give it.
        text: The schema.
        references: The references of the schema itself.
        dependencies: The reference name and the text of each schema that it needs, directly or not;
            each once, and after the schemas that it needs itself.
    """

    id: int | uuid.UUID | None
    kind: str
    text: str
    references: tuple[Reference, ...] = ()
    dependencies: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SubjectVersion:
    """A version of a subject, and its schema."""

    subject: str
    version: int
    schema: RegisteredSchema


class Place(NamedTuple):
    """The place of a schema in a registry: a version of a subject."""

    subject: str
    version: int


class SchemaSource(Protocol):
    """The requests of reads to a registry. All raise RegistryError, and NotFoundError of it."""

    def schema_of_id(self, schema_id: int) -> RegisteredSchema:
        """The schema with a number."""

    def schema_of_guid(self, guid: uuid.UUID) -> RegisteredSchema:
        """The schema with a GUID."""

    def version(self, subject: str, version: int | Literal["latest"]) -> SubjectVersion:
        """A version of a subject."""

    def version_with_metadata(self, subject: str, metadata: Metadata) -> SubjectVersion:
        """The newest version of a subject with these properties in its metadata."""

    def subjects(self) -> list[str]:
        """The names of all subjects."""

    def versions(self, subject: str) -> list[int]:
        """The versions of a subject that can be used."""

    def places(self, schema_id: int | uuid.UUID) -> Sequence[Place] | None:
        """The versions of subjects with this schema; None if the registry does not list them."""
