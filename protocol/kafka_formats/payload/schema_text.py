"""The text of a schema with the schemas that it refers to, as a registry or a user gives it."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

# Before a FileDescriptorSet of Protobuf in Base64, in place of a text.
DESCRIPTOR_SET: Final = "descriptor-set:"


def descriptor_set_text(content: bytes) -> str:
    """The text that stands for a binary FileDescriptorSet."""
    return DESCRIPTOR_SET + base64.standard_b64encode(content).decode("ascii")


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema.

    Attributes:
        text: In the language of its format.
        dependencies: Name and text of all schemas that it refers to, dependencies before the
            schemas that need them.
        message: The full name of a type, for a schema that has several: messages of Protobuf, types
            of a union of Avro. None: the first message, the whole union.
    """

    text: str
    dependencies: tuple[tuple[str, str], ...] = ()
    message: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A schema as a registry stores it: the schema itself, or one that it imports.

    Attributes:
        name: The name that others import it by.
        text: As a registry takes it.
        imports: The names of the schemas that it imports itself.
    """

    name: str
    text: str
    imports: tuple[str, ...] = ()
