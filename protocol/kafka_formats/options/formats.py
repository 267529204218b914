"""Checks the options of formats, and returns them as frozen, typed values. Pure.

The options of the registry's client are only collected here: passwords are among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_formats.options.debezium import with_formats_of_events
from kafka_formats.options.envelope import ENVELOPE, Envelope
from kafka_formats.options.settings import (
    ERROR_COLUMN,
    RAW_COLUMNS,
    Format,
    Framing,
    Mode,
    SchemaEvolution,
    SubjectNameStrategy,
)
from kafka_formats.options.table import (
    AUTO_REGISTER,
    KEY,
    LATEST_VERSION,
    MODE,
    NORMALIZE,
    REGISTRY_PREFIX,
    USE_LATEST,
    USE_LATEST_WITH_METADATA,
    VALUE,
    PayloadRows,
)
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.option import Option

# Their payloads name their fields, so that a type says all.
_NEED_NO_SCHEMA: Final = frozenset({Format.JSON})
_APICURIO: Final = frozenset({Framing.APICURIO, Framing.APICURIO_CONTENT_ID})
_ONLY_READ: Final = frozenset({Framing.GLUE, Framing.CONNECT, Framing.AZURE}) | _APICURIO
_NEED_URL: Final = frozenset({Framing.CONFLUENT, Framing.AZURE}) | _APICURIO
# Serializers of other formats have other frames, or there are none.
_ONLY_FOR: Final[Mapping[Framing, tuple[Format, ...]]] = {
    Framing.CONNECT: (Format.JSON,),
    Framing.AZURE: (Format.AVRO,),
    **dict.fromkeys(_APICURIO, (Format.AVRO, Format.JSON)),
}
_URL: Final = f"{REGISTRY_PREFIX}url"
_GLUE: Final = "glue."
ID_PREFIX: Final = "id:"


@dataclass(frozen=True, slots=True)
class PayloadOptions:
    """How to read one column's payloads; `table` describes the options.

    Attributes:
        column: `key` or `value`.
        schema: A schema, the path of a file, or `id:` and an id. None: the subject's schema.
        subject: None for the default, by the strategy.
        version: The version of the subject; None for the latest.
        message: The name of Protobuf's message; None for the first of the schema.
        strategy: How the name of the subject is made.
        descriptor: The path of Protobuf's descriptor set, in place of a schema.
        metadata: Names and values that the version of the subject must have; empty for any.
        evolution: What a read does at a newer schema.
        subjects: The subjects of several record types; with TOPIC_RECORD without the topic before.
        subjects_pattern: A regular expression for their names.
    """

    column: str
    format: Format
    framing: Framing
    schema: str | None
    subject: str | None
    version: int | None
    message: str | None = None
    strategy: SubjectNameStrategy = SubjectNameStrategy.TOPIC
    descriptor: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    evolution: SchemaEvolution = SchemaEvolution.NONE
    subjects: tuple[str, ...] = ()
    subjects_pattern: str | None = None

    @property
    def has_types(self) -> bool:
        """Whether the payloads may have several record types, each with a subject of its own."""
        return bool(self.subjects or self.subjects_pattern)

    @property
    def has_schema(self) -> bool:
        """Whether the schema is given, and not that of the subject."""
        return self.schema is not None or self.descriptor is not None


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """The options of all decoded columns.

    Attributes:
        payloads: One or two.
        registry: The client's options without `schema.registry.`; empty without a registry.
            Secrets: kept from repr.
    """

    payloads: tuple[PayloadOptions, ...]
    mode: Mode
    registry: Mapping[str, str] = field(repr=False)

    @property
    def decoded_columns(self) -> list[str]:
        """`key`, `value`, or both."""
        return [each.column for each in self.payloads]

    @property
    def raw_columns(self) -> list[str]:
        """The columns that the mode adds for payloads as they are; `_raw` is always the value."""
        if self.mode is not Mode.PERMISSIVE:
            return []
        known = {"value", *self.decoded_columns}
        return [name for name, column in RAW_COLUMNS.items() if column in known]

    @property
    def error_columns(self) -> list[str]:
        """The columns that the mode adds for the reason."""
        return [ERROR_COLUMN] if self.mode is Mode.PERMISSIVE else []


@dataclass(frozen=True, slots=True)
class WriteFormatOptions:
    """The options of all encoded columns.

    Attributes:
        payloads: One or two.
        auto_register: Whether schemas that are not in their subjects are registered.
        normalize: Whether the registry ignores differences that mean nothing.
        use_latest: Whether to write with the subject's latest version, not with a schema that is
            made from the column. Has no effect if a schema is given, or is registered.
        registry: The client's options without `schema.registry.`; empty without a registry.
            Secrets: kept from repr.
    """

    payloads: tuple[PayloadOptions, ...]
    auto_register: bool
    registry: Mapping[str, str] = field(repr=False)
    normalize: bool = False
    use_latest: bool = True

    @property
    def encoded_columns(self) -> list[str]:
        """`key`, `value`, or both."""
        return [each.column for each in self.payloads]


def parse_formats(given: Mapping[str, str]) -> FormatOptions | None:
    """Check the options of formats of a read; None if all columns are raw.

    Args:
        given: All options of a read, by names in lower case.

    Raises:
        KafkaConfigError: An option has an unusable value, or needs another one.
    """
    if ENVELOPE.value_in(given) is Envelope.DEBEZIUM:
        _refuse_types(given)
        given = with_formats_of_events(given)
    payloads, registry = _parsed(given, (USE_LATEST_WITH_METADATA,))
    return FormatOptions(payloads, MODE.value_in(given), registry) if payloads else None


def _refuse_types(given: Mapping[str, str]) -> None:
    for row in (VALUE.subjects, VALUE.pattern, KEY.subjects, KEY.pattern):
        if row.key in given:
            raise KafkaConfigError(
                f"Option '{row.name}' is not for envelope debezium, whose topics have the changes "
                "of one table: remove it."
            )


def parse_write_formats(given: Mapping[str, str]) -> WriteFormatOptions | None:
    """Check the options of formats of a write, as `parse_formats` does."""
    needing = (AUTO_REGISTER, NORMALIZE, USE_LATEST, USE_LATEST_WITH_METADATA)
    payloads, registry = _parsed(given, needing)
    if not payloads:
        return None
    for each in payloads:
        if each.subjects_pattern:
            raise KafkaConfigError(
                f"Option '{each.column}.subjects.pattern' is for reads: name the subjects to write "
                f"with in {each.column}.subjects."
            )
        if each.framing in _ONLY_READ:
            raise KafkaConfigError(
                f"Option '{each.column}.framing' is {each.framing.value}, which is for reads: "
                "payloads are written with the framing confluent or none."
            )
    return write_options(payloads, given, registry)


def write_options(
    payloads: tuple[PayloadOptions, ...], given: Mapping[str, str], registry: Mapping[str, str]
) -> WriteFormatOptions:
    """The options of a write to a registry, with its own options and the options of all columns."""
    return WriteFormatOptions(
        payloads,
        AUTO_REGISTER.value_in(given),
        registry,
        NORMALIZE.value_in(given),
        USE_LATEST.value_in(given),
    )


def _parsed(
    given: Mapping[str, str], only_with_formats: tuple[Option[object], ...]
) -> tuple[tuple[PayloadOptions, ...], dict[str, str]]:
    """The options of each column, and the registry's options."""
    registry = {
        name.removeprefix(REGISTRY_PREFIX): value
        for name, value in given.items()
        if name.startswith(REGISTRY_PREFIX)
    }
    if _URL not in given and not all(name.startswith(_GLUE) for name in registry):
        raise KafkaConfigError(f"Option '{_URL}' is missing: set it to the registry's address.")
    parsed = [_payload(rows, given) for rows in (KEY, VALUE)]
    payloads = tuple(each for each in parsed if each is not None)
    needing = [each.name for each in only_with_formats]
    for name in (*needing, *(REGISTRY_PREFIX + each for each in registry)):
        if name in given and not payloads:
            raise KafkaConfigError(
                f"Option '{name}' needs a format: set value.format or key.format, or remove it."
            )
    glue = [name for name in registry if name.startswith(_GLUE)]
    if glue and all(each.framing is not Framing.GLUE for each in payloads):
        raise KafkaConfigError(
            f"Option '{REGISTRY_PREFIX}{min(glue)}' needs the framing glue: set value.framing or "
            "key.framing to it, or remove it."
        )
    return payloads, registry


def _payload(rows: PayloadRows, given: Mapping[str, str]) -> PayloadOptions | None:
    format_ = rows.format.value_in(given)
    if format_ is Format.RAW:
        for row in rows.rows[1:]:
            if row.key in given:
                raise KafkaConfigError(
                    f"Option '{row.name}' needs a format: set {rows.format.name}, or remove it."
                )
        return None
    has_registry = _URL in given
    framing = rows.framing.value_if_in(given)
    if framing is None:
        framing = Framing.CONFLUENT if has_registry else Framing.NONE
    payload = PayloadOptions(
        rows.column,
        format_,
        framing,
        rows.schema.value_if_in(given),
        rows.subject.value_if_in(given),
        rows.version.value_in(given),
        rows.message.value_if_in(given),
        rows.strategy.value_in(given),
        rows.descriptor.value_if_in(given),
        USE_LATEST_WITH_METADATA.value_if_in(given) or (),
        rows.evolution.value_in(given),
        rows.subjects.value_if_in(given) or (),
        rows.pattern.value_if_in(given),
    )
    _check_names(payload, rows, given)
    _check(payload, rows, has_version=rows.version.key in given, has_registry=has_registry)
    if payload.evolution is not SchemaEvolution.NONE:
        _check_evolution(payload, rows)
    return payload


def _check_names(payload: PayloadOptions, rows: PayloadRows, given: Mapping[str, str]) -> None:
    """Refuse names of subjects and versions that contradict each other or the framing."""
    if payload.has_types:
        _check_types(payload, rows, given)
    if payload.metadata and (payload.has_schema or rows.version.key in given):
        row = rows.schema if payload.has_schema else rows.version
        raise _contradiction(USE_LATEST_WITH_METADATA.name, row.name)
    if payload.metadata and payload.framing is not Framing.CONFLUENT:
        raise KafkaConfigError(
            f"Option '{USE_LATEST_WITH_METADATA.name}' needs a registry of Confluent's: set {_URL}."
        )
    if payload.subject is not None and rows.strategy.key in given:
        raise _contradiction(rows.subject.name, rows.strategy.name)
    if payload.framing is Framing.GLUE and rows.strategy.key in given:
        raise KafkaConfigError(
            f"Option '{rows.strategy.name}' is not for AWS Glue: set {rows.subject.name} to the "
            "name of the schema, if it is not that of the topic."
        )


def _check_types(payload: PayloadOptions, rows: PayloadRows, given: Mapping[str, str]) -> None:
    """Refuse what names one schema or another subject beside the subjects of record types."""
    row = rows.subjects if payload.subjects else rows.pattern
    others: list[Option[Any]] = [rows.schema, rows.subject, rows.version]
    others += [rows.descriptor, rows.message]
    if row is rows.subjects:
        others.append(rows.pattern)
    else:
        others.append(rows.strategy)
    for other in others:
        if other.key in given:
            raise _contradiction(row.name, other.name)
    if rows.strategy.key in given and payload.strategy is SubjectNameStrategy.TOPIC:
        raise KafkaConfigError(
            f"Option '{row.name}' is for several record types, and {payload.strategy.value} gives "
            f"all of a topic one subject: remove '{rows.strategy.name}', or set it to "
            f"{SubjectNameStrategy.TOPIC_RECORD.value}."
        )
    if payload.framing is Framing.GLUE and payload.subjects_pattern:
        raise KafkaConfigError(
            f"Option '{row.name}' is not for AWS Glue: name the schemas in {rows.subjects.name}."
        )
    if payload.framing not in {Framing.CONFLUENT, Framing.GLUE}:
        raise KafkaConfigError(
            f"Option '{row.name}' needs the ids of schemas in a registry, by which record types "
            f"differ: set {_URL}, and {rows.framing.name} to confluent."
        )


def _check_evolution(payload: PayloadOptions, rows: PayloadRows) -> None:
    """Refuse a restart that would read as the same schema again."""
    option = f"Option '{rows.evolution.name}' is {payload.evolution.value}, which"
    if payload.framing is Framing.NONE:
        raise KafkaConfigError(f"{option} needs the ids of schemas in a registry: set {_URL}.")
    fixing = {
        rows.schema.name: payload.schema is not None,
        rows.descriptor.name: payload.descriptor is not None,
        rows.version.name: payload.version is not LATEST_VERSION,
        USE_LATEST_WITH_METADATA.name: bool(payload.metadata),
    }
    for name in (name for name, is_given in fixing.items() if is_given):
        raise KafkaConfigError(
            f"{option} needs the latest version of a subject, and '{name}' names another schema: "
            "remove one of the two."
        )


def _contradiction(first: str, second: str) -> KafkaConfigError:
    return KafkaConfigError(f"Options '{first}' and '{second}' contradict each other: keep one.")


def _check(
    payload: PayloadOptions, rows: PayloadRows, *, has_version: bool, has_registry: bool
) -> None:
    if has_version and payload.has_schema:
        row = rows.descriptor if payload.schema is None else rows.schema
        raise _contradiction(row.name, rows.version.name)
    _check_protobuf(payload, rows)
    formats = _ONLY_FOR.get(payload.framing, (payload.format,))
    if payload.format not in formats:
        listed = " or ".join(each.value for each in formats)
        raise KafkaConfigError(
            f"Option '{rows.framing.name}' is {payload.framing.value}, which is for {listed}: set "
            f"{rows.format.name} to {listed}, or the framing to another one."
        )
    if payload.framing is Framing.AZURE:
        _check_azure(payload, rows)
    if has_registry or payload.framing is Framing.GLUE:
        return
    if payload.framing in _NEED_URL:
        raise KafkaConfigError(
            f"Option '{rows.framing.name}' is {payload.framing.value}, which needs "
            f"'{_URL}': set it to the registry's address."
        )
    is_lacking = not payload.has_schema and payload.format not in _NEED_NO_SCHEMA
    if is_lacking or (payload.schema is not None and payload.schema.startswith(ID_PREFIX)):
        raise KafkaConfigError(
            f"Option '{rows.format.name}' needs a schema: set {rows.schema.name} to it, or "
            f"{_URL} to the address of a registry."
        )


def _check_azure(payload: PayloadOptions, rows: PayloadRows) -> None:
    if payload.column == "key":
        raise KafkaConfigError(
            f"Option '{rows.framing.name}' is azure, which is for values: a record has one "
            "content type, and it belongs to the value."
        )
    if not payload.has_schema:
        raise KafkaConfigError(
            f"Option '{rows.framing.name}' is azure, whose registry has no subjects: set "
            f"{rows.schema.name} to the schema to read as, or to id: and an id of a schema."
        )


def _check_protobuf(payload: PayloadOptions, rows: PayloadRows) -> None:
    for row, value in ((rows.descriptor, payload.descriptor), (rows.message, payload.message)):
        if value is not None and payload.format is not Format.PROTOBUF:
            raise KafkaConfigError(
                f"Option '{row.name}' is for Protobuf: set {rows.format.name} to protobuf, or "
                "remove it."
            )
    if payload.descriptor is not None and payload.schema is not None:
        raise _contradiction(rows.schema.name, rows.descriptor.name)
    if payload.descriptor is not None and payload.message is None:
        raise KafkaConfigError(
            f"Option '{rows.descriptor.name}' needs the name of a message: set "
            f"{rows.message.name} to it."
        )
