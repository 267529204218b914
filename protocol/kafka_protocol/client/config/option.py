"""Declares an option, and reads its value from text. No I/O.

An option is a field of a frozen dataclass; its metadata holds Kafka's name, the parser and the
description. The options themselves are in `client` and `security_options`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, field, fields
from typing import Any, Final

from kafka_protocol.errors import KafkaConfigError

KAFKA: Final = "kafka."


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
    metadata = {"name": name, "parse": parse, "doc": doc, "aliases": aliases}
    return field(default=default, metadata=metadata)


def names_of(declared: Field[Any]) -> tuple[str, ...]:
    """All names of an option, Kafka's first."""
    return (declared.metadata["name"], *declared.metadata["aliases"])


def declared_in(table: type[Any]) -> dict[str, Field[Any]]:
    """The options of a table by name, including aliases."""
    options = [declared for declared in fields(table) if declared.metadata]
    return {name: declared for declared in options for name in names_of(declared)}


def read_options(
    table: type[Any], options: Mapping[str, str], prefix: str = KAFKA
) -> dict[str, Any]:
    """Read the values of a table's fields from texts by name, without the prefix.

    All names must be in the table, which is a dataclass of options. Errors show the prefix.

    Raises:
        KafkaConfigError: A value cannot be used, or an option is given under two names.
    """
    known = declared_in(table)
    given: dict[str, str] = {}
    values: dict[str, Any] = {}
    for name, text in options.items():
        declared = known[name]
        if declared.name in given:
            raise KafkaConfigError(
                f"Options {quoted([given[declared.name], name], prefix)} are two names of one "
                "option: keep one"
            )
        given[declared.name] = name
        values[declared.name] = _parse(prefix + name, text, declared.metadata["parse"])
    return values


def _parse(name: str, text: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(text)
    except ValueError as error:
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
            raise ValueError(f"it must be one of {', '.join(accepted)}")
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
