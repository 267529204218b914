"""A row of the options' table: its name, how its text is parsed, and its operations. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Final, Generic, TypeVar

from kafka_protocol.errors import KafkaConfigError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Use(Enum):
    """The operations that take options."""

    BATCH_READ = "a batch read"
    STREAM_READ = "a streaming read"
    WRITE = "a write"


BATCH: Final = frozenset({Use.BATCH_READ})
STREAM: Final = frozenset({Use.STREAM_READ})
READ: Final = BATCH | STREAM
WRITE: Final = frozenset({Use.WRITE})
ALL: Final = READ | WRITE


@dataclass(frozen=True, slots=True)
class Option(Generic[T_co]):
    """A row of the table.

    Attributes:
        name: The name in Spark's guide. Users may write it in any case.
        parse: (name, text) -> value; raises KafkaConfigError.
        uses: The operations that take it.
        default: The default as text; None for no default, or one that depends on the use.
        doc: The description in docs/options.md.
    """

    name: str
    parse: Callable[[str, str], T_co]
    uses: frozenset[Use]
    default: str | None = None
    doc: str = ""

    def about(self, doc: str) -> Option[T_co]:
        """The same row with its description."""
        return replace(self, doc=doc)

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


def parse_text(name: str, text: str) -> str:  # noqa: ARG001 -- has the type of a parser
    """The text without spaces around it."""
    return text.strip()


def parse_choice(name: str, text: str, *, choices: Mapping[str, T]) -> T:
    """The value of one of some names in lower case.

    Raises:
        KafkaConfigError: The text is not one of them.
    """
    chosen = text.strip().lower()
    if chosen not in choices:
        raise KafkaConfigError(f"Option '{name}' must be {' or '.join(choices)}, got '{text}'.")
    return choices[chosen]


parse_boolean: Final = partial(parse_choice, choices={"true": True, "false": False})
