"""Schemas as a registry has them. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["AVRO", "PROTOBUF", "JSON"]


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
        id: Its number in the registry; None if it was asked for by its GUID.
        kind: The language of `text`.
        text: The schema.
        references: What the schema itself refers to.
        dependencies: The reference name and the text of each schema that it needs, directly or not;
            each once, and after those that it needs itself.
    """

    id: int | None
    kind: Kind
    text: str
    references: tuple[Reference, ...] = ()
    dependencies: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SubjectVersion:
    """A version of a subject, and its schema."""

    subject: str
    version: int
    schema: RegisteredSchema
