"""An option: its names, how its text becomes a value, and its description. Pure.

The tables of options are elsewhere: `client.config`, `kafka_formats`, and Spark's side have theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Option(Generic[T_co]):
    """An option.

    Attributes:
        name: The name in Kafka's Java clients or in Spark's guide. Users may write it in any case.
        parse: (name as the user knows it, text) -> value; raises KafkaConfigError.
        uses: The operations of Spark that take it; empty in the tables of clients.
        default: The default as text; None for no default, one that depends on the use, or one that
            is the default of a field.
        doc: The description in docs/options.md.
        aliases: The names in other clients.
    """

    name: str
    parse: Callable[[str, str], T_co]
    uses: frozenset[Enum] = frozenset()
    default: str | None = None
    doc: str = ""
    aliases: tuple[str, ...] = ()

    def about(self, doc: str) -> Option[T_co]:
        """The same option with its description."""
        return replace(self, doc=doc)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, Kafka's or Spark's first."""
        return (self.name, *self.aliases)

    @property
    def key(self) -> str:
        """The name in lower case, for lookups."""
        return self.name.lower()

    def value_in(self, given: Mapping[str, str]) -> T_co:
        """The given value, else the default; KeyError if there is neither."""
        text = given[self.key] if self.default is None else given.get(self.key, self.default)
        return self.parse(self.name, text)

    def value_if_in(self, given: Mapping[str, str]) -> T_co | None:
        """The given value, else None."""
        return self.parse(self.name, given[self.key]) if self.key in given else None
