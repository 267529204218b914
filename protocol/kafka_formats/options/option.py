"""The operations that take options, and how texts of options are parsed. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import partial
from typing import Final, TypeVar

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.nearest_name import did_you_mean

T = TypeVar("T")


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
        hint = did_you_mean(chosen, {each: each for each in choices}, before=": ", otherwise=".")
        raise KafkaConfigError(
            f"Option '{name}' must be {' or '.join(choices)}, got '{text}'{hint}"
        )
    return choices[chosen]


def parse_metadata(name: str, text: str) -> tuple[tuple[str, str], ...]:
    """`name=value,name=value` as pairs.

    Raises:
        KafkaConfigError: A part has no name or no value.
    """
    parts = [part.partition("=") for part in text.split(",")]
    pairs = tuple((key.strip(), value.strip()) for key, _, value in parts)
    if not all(key and value for key, value in pairs):
        raise KafkaConfigError(
            f"Option '{name}' must be name=value, several with commas, got '{text}'."
        )
    return pairs


def parse_names(name: str, text: str) -> tuple[str, ...]:
    """Names with commas.

    Raises:
        KafkaConfigError: A name is empty, or is there twice.
    """
    names = tuple(each.strip() for each in text.split(","))
    if not all(names) or len({*names}) < len(names):
        raise KafkaConfigError(
            f"Option '{name}' must be names with commas, each of them once, got '{text}'."
        )
    return names


def parse_pattern(name: str, text: str) -> str:
    """A regular expression.

    Raises:
        KafkaConfigError: It is empty or invalid.
    """
    pattern = text.strip()
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise KafkaConfigError(
            f"Option '{name}' must be a regular expression, got '{text}': {error}."
        ) from error
    if not pattern:
        raise KafkaConfigError(f"Option '{name}' is empty: write one, for example com\\.shop\\..*")
    return pattern


parse_boolean: Final = partial(parse_choice, choices={"true": True, "false": False})
