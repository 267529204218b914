"""The name of a topic's table, or of the table of one record type in a topic. Pure.

Names of topics and of record types come from outside: whoever may create topics, or register
schemas, chooses them. So each fills one part of a name at most, of letters, digits and underscores,
and is always quoted.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.changes.sql import quoted
from kafka_spark_source.tables.errors import TableError

TOPIC: Final = "{topic}"
RECORD_TYPE: Final = "{type}"
MAX_PART: Final = 255
"""The longest part of a name, in characters: catalogs keep a table in a folder of its name."""

_PART: Final = re.compile(r"[A-Za-z0-9_]+")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_]")
_EXAMPLE: Final = '"lake.shop.{topic}"'


class TableOf(NamedTuple):
    """How tables are named.

    Attributes:
        name: Topic -> the name of its table; or topic, record type -> the name of its table.
        has_types: Whether each record type of a topic has a table of its own.
    """

    name: Callable[..., str]
    has_types: bool = False


def source_of(topic: str, record_type: str | None = None) -> str:
    """What a table is filled from: a topic, or one record type in a topic.

    Topics have no colon in their names.
    """
    return topic if record_type is None else f"{topic}:{record_type}"


def parse_table(table: object) -> TableOf:
    """How tables are named: by a text with `{topic}` or `{type}`, or by a function.

    In the place of `{topic}` is the topic's name, and of `{type}` the full name of the record type,
    with an underscore for each character that is not a letter, a digit or an underscore.

    Raises:
        KafkaConfigError: It is neither, or the text can name only one table.
    """
    if callable(table):
        return TableOf(table, _takes_types(table))
    if not isinstance(table, str):
        raise KafkaConfigError(
            f"table must be a text such as {_EXAMPLE}, or a function of the topic, not {table!r}"
        )
    if TOPIC not in table and RECORD_TYPE not in table:
        raise KafkaConfigError(
            f"table is {table!r}, one name for all topics: write {TOPIC} where the topic's name "
            f"stands, e.g. {_EXAMPLE}, or give a function of the topic"
        )
    try:
        name_of(table.replace(TOPIC, "topic").replace(RECORD_TYPE, "type"), "topic")
    except TableError as error:
        raise KafkaConfigError(f"table is {table!r}, and {error}") from None

    def name(topic: str, record_type: str = "") -> str:
        named = table.replace(TOPIC, _NOT_IN_NAMES.sub("_", topic))
        return named.replace(RECORD_TYPE, _NOT_IN_NAMES.sub("_", record_type))

    return TableOf(name, RECORD_TYPE in table)


def _takes_types(function: Callable[..., Any]) -> bool:
    """Whether a function takes a topic and a record type, and not also a topic alone."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # written in C
        return False
    return not _takes(signature, 1) and _takes(signature, 2)


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


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

    def of(self, topic: str, record_type: str | None = None) -> str:
        """The name of the table of a topic, or of a record type in it, as SQL spells it.

        Raises:
            TableError: It cannot be, or another one has it; case does not matter, because most
                catalogs do not keep it.
        """
        more = () if record_type is None else (record_type,)
        source = source_of(topic, record_type)
        name = name_of(of_topic("table", self._table_of.name, topic, *more), source)
        other = self._topics.setdefault(name.lower(), source)
        if other != source:
            raise TableError(
                f"the topics {other} and {source} would both be the table {name}: leave one out, "
                "or give a function as `table`, which names them apart"
            )
        return name


def of_topic(name: str, given: object, topic: str, *more: str) -> object:
    """The value of an argument for a topic; None if a mapping lacks it.

    Raises:
        TableError: The function that was given failed.
    """
    if isinstance(given, Mapping):
        return given.get(topic)
    if not callable(given):
        return given
    try:
        return given(topic, *more)
    except Exception as error:
        raise TableError(
            f"the function `{name}` failed for topic {topic}: {type(error).__name__}: {error}"
        ) from error
