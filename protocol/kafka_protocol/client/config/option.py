"""Declares the options of a client, and reads their values from texts. No I/O.

A table is a frozen dataclass whose fields hold an option in their metadata. The options themselves
are in `client` and `security_options`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from functools import partial
from typing import Any, Final

from kafka_protocol.client.config.references import ResolvedText
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.nearest_name import did_you_mean
from kafka_protocol.options.option import Option

KAFKA: Final = "kafka."

# The key in the metadata of a field.
_OPTION: Final = "option"


def option(
    name: str, parse: Callable[[str], Any], default: Any, doc: str, aliases: tuple[str, ...] = ()
) -> Any:
    """Declare an option.

    Args:
        name: The name in Kafka's Java clients, if they have the option.
        parse: Makes the value from its text; raises ValueError with the reason. `Secret` also
            keeps the text out of errors.
        default: The value if the option is not given.
        doc: The description, for docs/options.md.
        aliases: The names in other clients.
    """
    declared = Option(name, partial(_parse, parse), doc=doc, aliases=aliases)
    return field(default=default, metadata={_OPTION: declared})


def options_of(table: type[Any]) -> dict[str, Option[Any]]:
    """The options of a table by the name of their field, in order."""
    return {each.name: each.metadata[_OPTION] for each in fields(table) if _OPTION in each.metadata}


def declared_in(table: type[Any]) -> dict[str, str]:
    """The field of each option of a table by the option's name, including aliases."""
    return {name: of for of, declared in options_of(table).items() for name in declared.names}


def read_options(
    table: type[Any], options: Mapping[str, str], prefix: str = KAFKA
) -> dict[str, Any]:
    """Read the values of a table's fields from texts by name, without the prefix.

    All names must be in the table, which is a dataclass of options. Errors show the prefix.

    Raises:
        KafkaConfigError: A value cannot be used, or an option is given under two names.
    """
    declared, options_by_field = declared_in(table), options_of(table)
    given: dict[str, str] = {}
    values: dict[str, Any] = {}
    for name, text in options.items():
        to = declared[name]
        if to in given:
            raise KafkaConfigError(
                f"Options {quoted([given[to], name], prefix)} are two names of one option: keep one"
            )
        given[to] = name
        values[to] = options_by_field[to].parse(prefix + name, text)
    return values


def _parse(parse: Callable[[str], Any], name: str, text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        if isinstance(text, ResolvedText):
            raise KafkaConfigError(
                f"Option {name!r} does not take the value of {text.references}, which is not shown"
            ) from None
        raise KafkaConfigError(f"Option {name!r} has the value {text!r}: {error}") from None


def quoted(names: Iterable[str], prefix: str = KAFKA) -> str:
    """The names of options for an error text."""
    return " and ".join(f"'{prefix}{name}'" for name in names)


# Stricter than int(). Twelve digits are enough for all bounds.
_WHOLE_NUMBER: Final = re.compile(r"\s*[+-]?[0-9]{1,12}\s*")


def integer(lowest: int, highest: int = 2**31 - 1) -> Callable[[str], int]:
    """A parser for whole numbers between two bounds, inclusive."""

    def parse(text: str) -> int:
        if not _WHOLE_NUMBER.fullmatch(text):
            raise ValueError(f"it must be a whole number from {lowest} to {highest}")
        value = int(text)
        if not lowest <= value <= highest:
            raise ValueError(f"it must be from {lowest} to {highest}")
        return value

    return parse


def boolean(text: str) -> bool:
    """Parse true or false."""
    value = {"true": True, "false": False}.get(text.strip().lower())
    if value is None:
        raise ValueError("it must be true or false")
    return value


def one_of(*accepted: str) -> Callable[[str], str]:
    """A parser for a set of values, matched without case; returns the value as spelled here."""
    by_key = {value.lower(): value for value in accepted}

    def parse(text: str) -> str:
        value = by_key.get(text.strip().lower())
        if value is None:
            hint = did_you_mean(text.strip().lower(), by_key, before="; ")
            raise ValueError(f"it must be one of {', '.join(accepted)}{hint}")
        return value

    return parse


def only(*accepted: str) -> Callable[[str], str]:
    """A parser for options that support only some values, all with the meaning of the first."""

    def parse(text: str) -> str:
        value = text.strip().lower()
        if value not in accepted:
            raise ValueError(f"this version of pykafka supports only {' and '.join(accepted)}")
        return accepted[0]

    return parse


def check_texts(given: Mapping[str, object], what: str = "Option", prefix: str = "") -> None:
    """Check that all values are text, as Kafka's and Spark's are. Shows no value.

    Raises:
        KafkaConfigError: One is not.
    """
    for name, value in given.items():
        if not isinstance(value, str):
            raise KafkaConfigError(
                f"{what} '{prefix}{name}' is of the type {type(value).__name__}: write it as text, "
                "for example '1000' or 'true'"
            )
