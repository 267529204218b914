"""How an option is declared, and read from text. Which options there are is said elsewhere.

`config` and `security_options` are tables of such declarations: a field of a frozen dataclass
whose metadata holds Kafka's name, how its text is read, and what it means. No I/O.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, field, fields
from typing import Any, Final

from kafka_protocol.errors import KafkaConfigError


def option(
    name: str, parse: Callable[[str], Any], default: Any, doc: str, aliases: tuple[str, ...] = ()
) -> Any:
    """Declare an option.

    Args:
        name: Kafka's name for it, that of the Java clients where they have one.
        parse: Makes a value of its text; a ValueError says what is wrong with it. `Secret` keeps
            the text out of errors, too.
        default: The value where nothing is given.
        doc: What it means.
        aliases: Other clients' names for it.
    """
    metadata = {"name": name, "parse": parse, "doc": doc, "aliases": aliases}
    return field(default=default, metadata=metadata)


def names_of(declared: Field[Any]) -> tuple[str, ...]:
    """All names of an option, Kafka's first."""
    return (declared.metadata["name"], *declared.metadata["aliases"])


def declared_in(table: type[Any]) -> dict[str, Field[Any]]:
    """The options of a table by name; aliases are names, too."""
    options = [declared for declared in fields(table) if declared.metadata]
    return {name: declared for declared in options for name in names_of(declared)}


def read_options(table: type[Any], options: Mapping[str, str]) -> dict[str, Any]:
    """The values of a table's fields, from text.

    Args:
        table: A dataclass of options.
        options: Names of that table only, without `kafka.`.

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
                f"Options {shown([given[declared.name], name])} are two names of the same: keep one"
            )
        given[declared.name] = name
        values[declared.name] = _parsed(name, text, declared.metadata["parse"])
    return values


def _parsed(name: str, text: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise KafkaConfigError(f"Option 'kafka.{name}' has the value {text!r}: {error}") from None


def shown(names: Iterable[str]) -> str:
    """Names of options, as errors show them."""
    return " and ".join(f"'kafka.{name}'" for name in names)


# Not all that int() takes. Twelve digits are enough for every bound there is.
_WHOLE_NUMBER: Final = re.compile(r"\s*[+-]?[0-9]{1,12}\s*")


def integer(lowest: int, highest: int = 2**31 - 1) -> Callable[[str], int]:
    """For whole numbers between two bounds."""

    def parse(text: str) -> int:
        if not _WHOLE_NUMBER.fullmatch(text):
            raise ValueError(f"it must be a whole number from {lowest} to {highest}")
        value = int(text)
        if not lowest <= value <= highest:
            raise ValueError(f"it must be from {lowest} to {highest}")
        return value

    return parse


def boolean(text: str) -> bool:
    """For true and false."""
    value = {"true": True, "false": False}.get(text.strip().lower())
    if value is None:
        raise ValueError("it must be true or false")
    return value


def one_of(*accepted: str) -> Callable[[str], str]:
    """For a closed set of words, matched without regard to case, kept as they are given here."""
    by_key = {word.lower(): word for word in accepted}

    def parse(text: str) -> str:
        value = by_key.get(text.strip().lower())
        if value is None:
            raise ValueError(f"it must be one of {', '.join(accepted)}")
        return value

    return parse


def only(*accepted: str) -> Callable[[str], str]:
    """For options of which only some values, all with one meaning, are there so far."""

    def parse(text: str) -> str:
        value = text.strip().lower()
        if value not in accepted:
            raise ValueError(f"this version of pykafka supports only {' and '.join(accepted)}")
        return accepted[0]

    return parse
