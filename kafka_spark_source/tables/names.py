"""The name of a topic's table. Pure.

A topic's name comes from outside: whoever may create topics chooses it. So it fills one part of a
name at most, of letters, digits and underscores, and is always quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.changes.sql import quoted
from kafka_spark_source.tables.errors import TableError

TOPIC: Final = "{topic}"
MAX_PART: Final = 255
"""The longest part of a name, in characters: catalogs keep a table in a folder of its name."""

_PART: Final = re.compile(r"[A-Za-z0-9_]+")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_]")
_EXAMPLE: Final = '"lake.shop.{topic}"'

TableOf = Callable[[str], str]
"""Topic -> the name of its table."""


def parse_table(table: object) -> TableOf:
    """The function that names tables, of a text with `{topic}` or of a function.

    In the place of `{topic}` is the topic's name, with an underscore for each character that is not
    a letter, a digit or an underscore.

    Raises:
        KafkaConfigError: It is neither, or the text can name only one table.
    """
    if callable(table):
        return table
    if not isinstance(table, str):
        raise KafkaConfigError(
            f"table must be a text such as {_EXAMPLE}, or a function of the topic, not {table!r}"
        )
    if TOPIC not in table:
        raise KafkaConfigError(
            f"table is {table!r}, one name for all topics: write {TOPIC} where the topic's name "
            f"stands, e.g. {_EXAMPLE}, or give a function of the topic"
        )
    try:
        name_of(table.replace(TOPIC, "topic"), "topic")
    except TableError as error:
        raise KafkaConfigError(f"table is {table!r}, and {error}") from None
    return lambda topic: table.replace(TOPIC, _NOT_IN_NAMES.sub("_", topic))


def name_of(name: object, topic: str) -> str:
    """A table's name as SQL spells it, each part quoted.

    Raises:
        TableError: It is not one to four parts of letters, digits and underscores with dots
            between them, or a part is too long.
    """
    parts = name.split(".") if isinstance(name, str) else []
    if not 1 <= len(parts) <= 4 or not all(map(_PART.fullmatch, parts)):
        raise TableError(
            f"the table of topic {topic} is named {name!r}: give one to four parts of letters, "
            "digits and underscores, with dots between them, e.g. lake.shop.orders"
        )
    longest = max(parts, key=len)
    if len(longest) > MAX_PART:
        raise TableError(
            f"the table of topic {topic} is named {longest[:40]}..., which has {len(longest)} "
            f"characters, and catalogs take {MAX_PART} at most: give a function of the topic as "
            "`table`, which returns a shorter name"
        )
    return ".".join(map(quoted, parts))


class Names:
    """The names of the tables of a query. Threads may share it."""

    def __init__(self, table_of: TableOf) -> None:
        self._table_of = table_of
        self._topics: dict[str, str] = {}

    def of(self, topic: str) -> str:
        """The name of a topic's table, as SQL spells it.

        Raises:
            TableError: It cannot be, or another topic has it; case does not matter, because most
                catalogs do not keep it.
        """
        name = name_of(of_topic("table", self._table_of, topic), topic)
        other = self._topics.setdefault(name.lower(), topic)
        if other != topic:
            raise TableError(
                f"the topics {other} and {topic} would both be the table {name}: leave one out, or "
                "give a function of the topic as `table`, which names them apart"
            )
        return name


def of_topic(name: str, given: object, topic: str) -> object:
    """The value of an argument for a topic; None if a mapping lacks it.

    Raises:
        TableError: The function that was given failed.
    """
    if isinstance(given, Mapping):
        return given.get(topic)
    if not callable(given):
        return given
    try:
        return given(topic)
    except Exception as error:
        raise TableError(
            f"the function `{name}` failed for topic {topic}: {type(error).__name__}: {error}"
        ) from error
