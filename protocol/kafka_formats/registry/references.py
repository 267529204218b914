"""Puts the schemas that a schema refers to in order: each once, after its own references. No I/O.

As in Confluent's clients, a schema is known by its reference name: the first one of a name is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kafka_formats.errors import RegistryError
from kafka_formats.registry.responses import SchemaBody
from kafka_formats.registry.schemas import Reference
from kafka_protocol.auth.mechanism import shown

# The search recurses for each level.
_MAX_DEPENDENCIES: Final = 200
_MAX_CHARACTERS: Final = 16 * 1024 * 1024


def resolve(
    about: str, references: Sequence[Reference], fetch: Callable[[Reference], SchemaBody]
) -> tuple[tuple[str, str], ...]:
    """The name and the text of each schema that `references` need, directly or not.

    Args:
        about: The schema that has the references, for errors.
        references: Its references.
        fetch: Gets the schema of a reference.

    Raises:
        RegistryError: Schemas refer to each other in a circle, or there are too many.
    """
    resolver = _Resolver(about, fetch)
    resolver.visit_all(references, ())
    return tuple(resolver.texts.items())


class _Resolver:
    """One search, in depth first."""

    def __init__(self, about: str, fetch: Callable[[Reference], SchemaBody]) -> None:
        self.texts: dict[str, str] = {}
        self._about = about
        self._fetch = fetch
        self._seen: set[str] = set()
        self._characters = 0

    def visit_all(self, references: Sequence[Reference], path: tuple[Reference, ...]) -> None:
        """Add the schemas of references. `path` has the names that lead to them."""
        for reference in references:
            self._visit(reference, path)

    def _visit(self, reference: Reference, path: tuple[Reference, ...]) -> None:
        if any(_place(each) == _place(reference) for each in path):
            names = " -> ".join(map(_named, (*path, reference)))
            raise RegistryError(f"{self._about}: its references form a circle: {shown(names)}")
        if reference.name in self._seen:
            return
        self._seen.add(reference.name)
        if len(self._seen) > _MAX_DEPENDENCIES:
            raise RegistryError(f"{self._about}: it needs more than {_MAX_DEPENDENCIES} schemas")
        schema = self._fetch(reference)
        self._characters += len(schema.text)
        if self._characters > _MAX_CHARACTERS:
            raise RegistryError(
                f"{self._about}: the schemas that it needs have more than {_MAX_CHARACTERS} "
                "characters"
            )
        self.visit_all(schema.references, (*path, reference))
        self.texts[reference.name] = schema.text


def _place(reference: Reference) -> tuple[str, int]:
    return reference.subject, reference.version


def _named(reference: Reference) -> str:
    return f"{reference.subject!r} version {reference.version}"
