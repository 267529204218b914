"""The options of formats, for keys and for values, in one table. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Final, TypeVar

from kafka_formats.options.option import (
    ALL,
    READ,
    WRITE,
    parse_boolean,
    parse_choice,
    parse_metadata,
    parse_names,
    parse_pattern,
    parse_text,
)
from kafka_formats.options.settings import (
    Format,
    Framing,
    Mode,
    SchemaEvolution,
    SubjectNameStrategy,
)
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.option import Option

E = TypeVar("E", bound=Enum)

REGISTRY_PREFIX: Final = "schema.registry."
LATEST_VERSION: Final = None


def _by_value(kind: type[E]) -> dict[str, E]:
    return {str(each.value).lower(): each for each in kind}


_parse_format: Final = partial(parse_choice, choices=_by_value(Format))
_parse_framing: Final = partial(parse_choice, choices=_by_value(Framing))
_parse_evolution: Final = partial(parse_choice, choices=_by_value(SchemaEvolution))
_parse_mode: Final = partial(parse_choice, choices=_by_value(Mode))


def _parse_strategy(name: str, text: str) -> SubjectNameStrategy:
    """A name of Confluent's, also with the package of its class."""
    simple = text.strip().rpartition(".")[2]
    return parse_choice(name, simple, choices=_by_value(SubjectNameStrategy))


def _parse_version(name: str, text: str) -> int | None:
    version = text.strip().lower()
    if version == "latest":
        return LATEST_VERSION
    if not (version.isascii() and version.isdigit() and 0 < int(version[:10]) < 2**31):
        raise KafkaConfigError(f"Option '{name}' must be latest or a version, got '{text}'.")
    return int(version)


@dataclass(frozen=True, slots=True)
class PayloadRows:
    """The rows for a column."""

    column: str
    format: Option[Format]
    framing: Option[Framing]
    schema: Option[str]
    subject: Option[str]
    subjects: Option[tuple[str, ...]]
    pattern: Option[str]
    strategy: Option[SubjectNameStrategy]
    version: Option[int | None]
    descriptor: Option[str]
    message: Option[str]
    evolution: Option[SchemaEvolution]

    @property
    def rows(self) -> tuple[Option[object], ...]:
        """All of them, that of the format first."""
        named = (self.subject, self.subjects, self.pattern, self.strategy, self.version)
        protobuf = (self.descriptor, self.message)
        return (self.format, self.framing, self.schema, *named, *protobuf, self.evolution)


def _rows_of(column: str) -> PayloadRows:
    what = f"{column}s"
    return PayloadRows(
        column,
        Option(f"{column}.format", _parse_format, ALL, "raw").about(
            f"How {what} are encoded: `raw`, or for a column with a struct `avro`, `protobuf` or "
            "`json`. See [formats](formats.md)."
        ),
        Option(f"{column}.framing", _parse_framing, ALL).about(
            f"The bytes before encoded {what}: `confluent`, the id of a schema in the registry "
            "(a read also finds it in a header); `glue`, the header of AWS Glue's serializers, for "
            "reads; `connect`, the schema that Kafka Connect's JSON converter writes around "
            "payloads, for reads; `apicurio` or `apicurio-content-id`, a globalId or a contentId "
            "of Apicurio's own serializers, for reads; `azure`, the header of Azure's Avro "
            "serializers, for reads of values; or `none`. Default: `confluent` if "
            "`schema.registry.url` is given, else `none`."
        ),
        Option(f"{column}.schema", parse_text, ALL).about(
            f"The schema of {what}: its text, the path of a file on the driver, or `id:7` for a "
            f"schema of the registry; for `json` also Spark DDL. Default: the schema of "
            f"`{column}.subject`."
        ),
        Option(f"{column}.subject", parse_text, ALL).about(
            f"The registry's subject of the {what}; in AWS Glue the schema's name. Default: by "
            f"`{column}.subject.name.strategy`; in AWS Glue the topic's name."
        ),
        Option(f"{column}.subjects", parse_names, ALL).about(
            f"Several subjects, with commas, where {what} of a topic have several record types. "
            "The column is a struct with a member for each type, and `_type`. See "
            "[several record types](formats.md#several-record-types-in-one-topic)."
        ),
        Option(f"{column}.subjects.pattern", parse_pattern, READ).about(
            f"A regular expression for all names of `{column}.subjects` in the registry."
        ),
        Option(f"{column}.subject.name.strategy", _parse_strategy, ALL, "TopicNameStrategy").about(
            "The parts of the subject's name, as in Confluent's serializers: "
            f"`TopicNameStrategy`, the topic's name and `-{column}`; `RecordNameStrategy`, the "
            f"full name in the schema, so a read needs `{column}.schema` or `{column}.subjects`; "
            "or `TopicRecordNameStrategy`, the topic's name, `-`, and the full name in the schema."
        ),
        Option(f"{column}.subject.version", _parse_version, ALL, "latest").about(
            "The version of the subject for reads and writes. A read resolves records of older and "
            "newer versions to it."
        ),
        Option(f"{column}.protobuf.descriptor", parse_text, ALL).about(
            "The path on the driver of a Protobuf descriptor set with all imports, in place of "
            f"`{column}.schema`. It needs `{column}.protobuf.message`."
        ),
        Option(f"{column}.protobuf.message", parse_text, ALL).about(
            f"The full name of the Protobuf message of {what}, or the end of it after a dot. "
            "Default: the first message of the schema's file."
        ),
        Option(f"{column}.schema.evolution", _parse_evolution, READ, "none").about(
            f"What to do if {what} of a newer version of the subject have fields that the "
            "columns lack. `none`: leave these fields out. `restart`: fail, so that a restarted "
            "query has them. `exact`: fail also at versions that are not newer. See "
            "[schema evolution](schema-evolution.md)."
        ),
    )


KEY: Final = _rows_of("key")
VALUE: Final = _rows_of("value")

MODE: Final = Option("mode", _parse_mode, READ, "FAILFAST").about(
    "What to do with a record whose key or value cannot be decoded. `FAILFAST`: fail. "
    "`PERMISSIVE`: null, with the reason in the column `_error` and the payload in `_raw`. "
    "`DROPMALFORMED`: leave the record out, and log it. It applies to columns with a format, and "
    "to raw columns that `.schema(...)` names as `string`, whose bytes are checked only if a mode "
    "is given."
)
AUTO_REGISTER: Final = Option("auto.register.schemas", parse_boolean, WRITE, "false").about(
    "Whether to register the schema of a column, or the given one, in its subject. Otherwise the "
    "subject must have it."
)
NORMALIZE: Final = Option("normalize.schemas", parse_boolean, WRITE, "false").about(
    "Whether the registry ignores meaningless differences between schemas, such as the order of "
    "attributes, when it registers or looks up a schema."
)
USE_LATEST: Final = Option("use.latest.version", parse_boolean, WRITE, "true").about(
    "Whether to write rows with the latest version of the subject. `false` uses the schema of the "
    "column, which must be in the subject. No effect if a schema is given or "
    "`auto.register.schemas` is set."
)
USE_LATEST_WITH_METADATA: Final = Option("use.latest.with.metadata", parse_metadata, ALL).about(
    "`name=value`, several with commas: read and write with the latest version of the subject that "
    "has these properties in its metadata (in Confluent's registry)."
)
REGISTRY: Final = Option(f"{REGISTRY_PREFIX}*", parse_text, ALL).about(
    "The options of the schema registry's client, below."
)

PAYLOAD_OPTIONS: Final[tuple[Option[object], ...]] = (
    *VALUE.rows,
    *KEY.rows,
    MODE,
    AUTO_REGISTER,
    NORMALIZE,
    USE_LATEST,
    USE_LATEST_WITH_METADATA,
    REGISTRY,
)
# Reads accept them without an effect, as serializers and deserializers are given the same options.
WRITE_ONLY: Final = tuple(row.name for row in PAYLOAD_OPTIONS if row.uses == WRITE)
