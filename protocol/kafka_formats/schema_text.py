"""The text of a schema with the schemas that it refers to, as a registry or a user gives it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema.

    Attributes:
        text: In the language of its format.
        dependencies: Name and text of all schemas that it refers to, dependencies before those
            that need them.
    """

    text: str
    dependencies: tuple[tuple[str, str], ...] = ()
