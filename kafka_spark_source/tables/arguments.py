"""Checks the arguments of `topics_to_tables`, which describes them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeGuard, TypeVar

from kafka_formats.options.debezium import PREFIX as DEBEZIUM_PREFIX
from kafka_formats.options.envelope import ENVELOPE, Envelope
from kafka_formats.options.settings import Mode
from kafka_formats.options.table import MODE
from kafka_protocol.errors import KafkaConfigError, KafkaError
from kafka_protocol.options.nearest_name import did_you_mean
from kafka_protocol.options.option import Option
from kafka_spark_source.changes.target import FORMATS
from kafka_spark_source.options.table import STREAM_ONLY, Table
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.names import TableOf, of_topic, parse_table
from kafka_spark_source.tables.rows import METADATA, PREFIX
from kafka_spark_source.tables.target import Layout

DEFAULT_METADATA: Final = ("_kafka_topic", "_kafka_partition", "_kafka_offset", "_kafka_timestamp")
MERGE_OPTIONS: Final = ("sequence_by", "topic_ids", "delete", "columns", "history", "tombstones")
"""Arguments of `apply_changes` that a topic can have."""
_MAX_THREADS: Final = 64

E = TypeVar("E", bound=Enum)


class Rows(Enum):
    """The meaning of a topic's records for its table."""

    APPEND = "append"
    UPSERT = "upsert"
    CHANGES = "changes"


OF_THE_STREAM: Final = {
    *(each.lower() for each in STREAM_ONLY),
    *(
        each.key
        for each in (
            *(Table.SUBSCRIBE, Table.SUBSCRIBE_PATTERN, Table.ASSIGN),
            *(Table.STARTING_OFFSETS, Table.STARTING_OFFSETS_BY_TIMESTAMP),
            *(Table.STARTING_TIMESTAMP, Table.STARTING_STRATEGY),
        )
    ),
    "kafka.group.id",
}
"""Options that say which records the query reads, in lower case: no topic can have others."""
_NEEDED: Final[Mapping[Rows, Mapping[Option[Any], Enum]]] = {
    Rows.APPEND: {ENVELOPE: Envelope.NONE},
    # Not that envelope: it takes the newest record of a key before it is decoded, which may be a
    # broken one, and `merge_options` may give another key, another order, or want all versions.
    Rows.UPSERT: {ENVELOPE: Envelope.NONE},
    Rows.CHANGES: {ENVELOPE: Envelope.DEBEZIUM},
}
"""Options that a read needs for its records to be such rows."""
_ALSO: Final[Mapping[Rows, Mapping[str, str]]] = {
    Rows.APPEND: {},
    Rows.UPSERT: {Table.INCLUDE_TOPIC_ID.key: "true"},
    Rows.CHANGES: {DEBEZIUM_PREFIX.key: PREFIX},
}
"""Options that it has unless others are given."""


class OnError(Enum):
    """What becomes of the query if a table cannot be written."""

    FAIL = "fail"
    SUSPEND = "suspend"


@dataclass(frozen=True, slots=True)
class Arguments:
    """The checked arguments of `topics_to_tables`.

    Attributes:
        options: The stream's. Secrets are among them.
        rows, keys, topic_options, merge_options: For each topic; see `of_topic`.
    """

    options: Mapping[str, str]
    table_of: TableOf
    layout: Layout
    rows: object
    keys: object
    topic_options: object
    merge_options: object
    metadata: tuple[str, ...]
    on_error: OnError
    threads: int

    def __repr__(self) -> str:
        return f"<Arguments for tables of {self.layout.provider}>"

    def rows_of(self, topic: str) -> Rows:
        """What the records of a topic are.

        Raises:
            TableError: The argument says nothing, or nothing that exists, about the topic.
        """
        given = of_topic("rows", self.rows, topic)
        if given is None:
            raise TableError(
                f"`rows` does not say what the records of topic {topic} are: add it, with one of "
                f"{', '.join(each.value for each in Rows)}"
            )
        return _choice("rows", given, Rows, TableError)

    def keys_of(self, topic: str) -> tuple[str, ...] | None:
        """The columns of the key that the argument names for a topic; None if it names none."""
        given = self.keys if _is_texts(self.keys) else of_topic("keys", self.keys, topic)
        if given is None:
            return None
        texts = (given,) if isinstance(given, str) else given
        if not _is_texts(texts):
            raise TableError(f"`keys` gives {given!r} for topic {topic}, not names of columns")
        return tuple(texts)

    def merge_options_of(self, topic: str) -> Mapping[str, Any]:
        """The arguments of `apply_changes` for a topic, in addition to the query's.

        Raises:
            TableError: They are not a mapping, or one of them does not exist.
        """
        given = self.merge_options
        is_for_all = isinstance(given, Mapping) and bool(given) and {*given} <= {*MERGE_OPTIONS}
        given = given if is_for_all else of_topic("merge_options", given, topic) or {}
        if not isinstance(given, Mapping):
            raise TableError(
                f"`merge_options` gives {_kind(given)} for topic {topic}, not arguments"
            )
        for each in given:
            if each not in MERGE_OPTIONS:
                raise TableError(
                    f"`merge_options` has {each!r} for topic {topic}, not one of "
                    f"{', '.join(MERGE_OPTIONS)}"
                )
        return given

    def options_of(self, topic: str) -> dict[str, str]:
        """The options of the topic's read, with the envelope that its rows need."""
        more = of_topic("topic_options", self.topic_options, topic) or {}
        if not isinstance(more, Mapping):
            raise TableError(f"`topic_options` gives {_kind(more)} for topic {topic}, not options")
        own = by_lower_name(more)
        if of_the_stream := sorted(OF_THE_STREAM & own.keys()):
            raise TableError(
                f"`topic_options` has {of_the_stream[0]} for topic {topic}, which says what the "
                "whole query reads: give it in `options`"
            )
        given = {**self.options, **own}
        rows = self.rows_of(topic)
        for row, value in _NEEDED[rows].items():
            if row.key in given and row.value_in(given) != value:
                raise TableError(
                    f"topic {topic} has the option {row.name}={given[row.key]}, and `rows` says "
                    f"{rows.value}, which needs {value.value}: remove the option"
                )
        if rows is not Rows.APPEND and MODE.value_if_in(given) is Mode.PERMISSIVE:
            raise TableError(
                f"topic {topic} has the option {MODE.name}=PERMISSIVE, and `rows` says "
                f"{rows.value}: a broken payload would empty its row. Set DROPMALFORMED or "
                "deadLetterTopic, or remove the option"
            )
        needed = {row.key: value.value for row, value in _NEEDED[rows].items()}
        return {**_ALSO[rows], **given, **needed}


def parse(  # noqa: PLR0913 - each is an argument of topics_to_tables
    options: Mapping[str, object],
    table: object,
    provider: str,
    rows: object,
    *,
    keys: object,
    topic_options: object,
    merge_options: object,
    metadata: Sequence[str],
    partition_by: Sequence[str],
    cluster_by: Sequence[str],
    properties: Mapping[str, str],
    on_error: str,
    threads: int,
) -> Arguments:
    """Check the arguments.

    Raises:
        KafkaConfigError: An argument is wrong; the text names it.
    """
    _check_mappings({"options": options, "properties": properties})
    if isinstance(rows, str):
        _choice("rows", rows, Rows, KafkaConfigError)
    elif not (isinstance(rows, Mapping) or callable(rows)):
        raise KafkaConfigError(f"rows must be a text, a mapping or a function, not {rows!r}")
    if provider not in FORMATS:
        raise KafkaConfigError(f"provider must be one of {', '.join(FORMATS)}, not {provider!r}")
    check_lists({"metadata": metadata, "partition_by": partition_by, "cluster_by": cluster_by})
    for each in metadata:
        if each not in METADATA:
            raise KafkaConfigError(
                f"metadata has no column {each!r}, only {', '.join(METADATA)}"
                f"{did_you_mean(each, {name: name for name in METADATA}, before='; ')}"
            )
    if type(threads) is not int or not 1 <= threads <= _MAX_THREADS:
        raise KafkaConfigError(f"threads must be 1 to {_MAX_THREADS}, not {threads!r}")
    if isinstance(merge_options, Mapping):
        _check_merge_options(merge_options)
    made_with = {name: _option_text(value) for name, value in properties.items()}
    layout = Layout(provider, tuple(partition_by), tuple(cluster_by), made_with)
    return Arguments(
        by_lower_name(options),
        *(parse_table(table), layout, rows, keys, topic_options, merge_options),
        tuple(metadata),
        _choice("on_error", on_error, OnError, KafkaConfigError),
        threads,
    )


def _check_mappings(arguments: Mapping[str, object]) -> None:
    for name, given in arguments.items():
        if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in given):
            raise KafkaConfigError(
                f"{name} must be a mapping of names to values, not {_kind(given)}"
            )


def _check_merge_options(given: Mapping[str, object]) -> None:
    """Refuse a mapping that is neither arguments for all topics nor topic -> arguments."""
    for name, value in given.items():
        if name not in MERGE_OPTIONS and not isinstance(value, Mapping):
            raise KafkaConfigError(
                f"merge_options has {name!r}, which is neither one of {', '.join(MERGE_OPTIONS)} "
                "nor a topic with a mapping of them"
            )


def check_lists(arguments: Mapping[str, object]) -> None:
    """Refuse arguments that are not lists of texts.

    Raises:
        KafkaConfigError: One of them; the text names it.
    """
    for name, given in arguments.items():
        is_empty = isinstance(given, (list, tuple)) and not given
        if not is_empty and not _is_texts(given):
            raise KafkaConfigError(f"{name} must be a list of texts, not {given!r}")


def by_lower_name(options: Mapping[str, object]) -> dict[str, str]:
    """Options by their names in lower case, with values as Spark's `option` makes texts of them."""
    return {name.lower(): _option_text(value) for name, value in options.items()}


def _is_texts(given: object) -> TypeGuard[Sequence[str]]:
    if not isinstance(given, (list, tuple)) or not given:
        return False
    return all(isinstance(each, str) and each for each in given)


def _choice(name: str, given: object, choices: type[E], error: type[KafkaError]) -> E:
    for each in choices:
        if each.value == given:
            return each
    names = {str(each.value): str(each.value) for each in choices}
    raise error(
        f"{name} must be one of {', '.join(names)}, not {given!r}"
        f"{did_you_mean(str(given), names, before='; ')}"
    )


def _kind(given: object) -> str:
    """What somebody gave, without its content: it may have secrets."""
    return f"a value of the type {type(given).__name__}"


def _option_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
