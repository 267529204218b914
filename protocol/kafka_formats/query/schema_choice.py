"""The schemas of a column of payloads: given by the user, or by the registry. Only the driver asks.

An executor asks the registry only for schemas that were registered after the query began.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

import pyarrow as pa

from kafka_formats.errors import NotFoundError, SchemaError
from kafka_formats.json.ddl import is_ddl
from kafka_formats.options.formats import ID_PREFIX, PayloadOptions
from kafka_formats.options.settings import Format, Framing, SubjectNameStrategy
from kafka_formats.payload.schema_text import DESCRIPTOR_SET, SchemaText, descriptor_set_text
from kafka_formats.query.formats import FORMATS
from kafka_formats.registry.schemas import SchemaSource, SubjectVersion
from kafka_formats.registry.schemas_by_id import schema_text_of
from kafka_protocol.errors import KafkaConfigError

_log = logging.getLogger(__name__)

# The newest versions of a subject that the driver fetches; executors ask for older ones.
_MAX_VERSIONS: Final = 100
# The most record types of a column.
_MAX_SUBJECTS: Final = 1_000
# The beginnings of a schema, which a path does not have.
_SCHEMA_STARTS: Final = ("{", "[", '"', DESCRIPTOR_SET)
# The ends of Protobuf's text.
_SCHEMA_ENDS: Final = ("}", ";")


class KnownSchema(NamedTuple):
    """A schema that payloads may be read as.

    Attributes:
        origin: Where it is from, for messages.
        schema: Its text.
        id: In the registry; None if it may not be there.
        subject: The registry's subject; empty without one.
        version: The version of the subject.
    """

    origin: str
    schema: SchemaText
    id: int | uuid.UUID | None = None
    subject: str = ""
    version: int = 0


class SchemaVersions(Protocol):
    """The schemas to choose from for a column, or for one record type of it."""

    @property
    def are_known(self) -> bool:
        """Whether there is a schema, and not only the type that a query wants or has."""

    @property
    def latest(self) -> Sequence[KnownSchema]:
        """The schema to read as: one, or that of each topic."""

    def older(self) -> Iterator[KnownSchema]:
        """The versions before the latest, newest first."""


class ColumnSchemas:
    """The schemas of one column.

    Args:
        payload: The column's options.
        topics: The topics to read; empty if they are not known, as with a pattern.
        source: The registry; None without one.
    """

    def __init__(
        self, payload: PayloadOptions, topics: Sequence[str], source: SchemaSource | None
    ) -> None:
        self._payload = payload
        self._topics = topics
        self._source = source

    @property
    def are_known(self) -> bool:
        """Whether there is a schema, and not only the type that a query wants or has."""
        return self._payload.has_schema or self._source is not None

    @cached_property
    def latest(self) -> list[KnownSchema]:
        """The schema to read as: one, or that of each topic. It is found once for a query.

        Raises:
            KafkaError: There is no schema, or the registry cannot be asked.
        """
        if self._payload.schema is not None:
            return [self._given(self._payload.schema)]
        if self._payload.descriptor is not None:
            return [self._described(self._payload.descriptor)]
        if not self.are_known:
            column = self._payload.column
            raise KafkaConfigError(
                f"The type of the {column}s is not known: set {column}.schema, or give "
                f".schema('{column} struct<...>') with the fields to read, or without Spark types."
            )
        return [self._known(self._chosen_version(subject)) for subject in self.subjects()]

    def _chosen_version(self, subject: str) -> SubjectVersion:
        if self._payload.metadata:
            return self._registry.version_with_metadata(subject, self._payload.metadata)
        version: int | Literal["latest"] = self._payload.version or "latest"
        return self._registry.version(subject, version)

    def older(self) -> Iterator[KnownSchema]:
        """The versions before the latest, newest first; empty if a version or a schema is given."""
        payload = self._payload
        if not (payload.has_schema or payload.version or payload.metadata):
            for subject in self.subjects():
                newest_first = sorted(self._registry.versions(subject), reverse=True)
                for version in newest_first[1:_MAX_VERSIONS]:
                    yield self._known(self._registry.version(subject, version))

    def written(self) -> dict[int | uuid.UUID, SchemaText]:
        """The schemas that payloads are likely to have, by id."""
        schemas: dict[int | uuid.UUID, SchemaText] = {}
        payload = self._payload
        by_topic = payload.subject is None and payload.strategy is not SubjectNameStrategy.RECORD
        if payload.has_types:
            by_topic = payload.strategy is SubjectNameStrategy.TOPIC_RECORD
        if by_topic and not self._topics:
            return schemas
        for subject in self.subjects():
            try:
                versions = sorted(self._registry.versions(subject))
            except NotFoundError:
                # With a schema of the user's the subject may have another name.
                continue
            for version in versions[-_MAX_VERSIONS:]:
                known = self._known(self._registry.version(subject, version))
                if known.id is not None:
                    schemas[known.id] = known.schema
        return schemas

    @property
    def _registry(self) -> SchemaSource:
        if self._source is None:
            raise AssertionError("the options were checked")
        return self._source

    def subjects(self, written: SchemaText | None = None) -> list[str]:
        """The subjects of the column: one, or that of each topic.

        Args:
            written: The schema to write with, if no option has it.

        Raises:
            KafkaConfigError: It follows from the topic or the schema, which is not known yet.
        """
        payload = self._payload
        if payload.has_types:
            return self._of_types
        if payload.subject is not None:
            return [payload.subject]
        end = payload.column
        if payload.strategy is not SubjectNameStrategy.TOPIC:
            end = self._record_name(written)
        if payload.strategy is SubjectNameStrategy.RECORD:
            return [end]
        if not self._topics:
            raise KafkaConfigError(
                f"The subject of the {payload.column}s follows from the topic's name, which is not "
                "known yet (subscribePattern, or a column 'topic'): set "
                f"{payload.column}.subject to the registry's subject."
            )
        if payload.framing is Framing.GLUE:
            # The default of AWS's serializers, for keys and values.
            return [*self._topics]
        return [f"{topic}-{end}" for topic in self._topics]

    @cached_property
    def _of_types(self) -> list[str]:
        """The subjects of several record types."""
        payload = self._payload
        if payload.subjects_pattern is not None:
            return self._matching(payload.subjects_pattern)
        if payload.strategy is not SubjectNameStrategy.TOPIC_RECORD:
            return [*payload.subjects]
        if not self._topics:
            raise KafkaConfigError(
                f"The subjects of the {payload.column}s follow from the topic's name, which is not "
                "known yet (subscribePattern, or a column 'topic'): write them with the topic in "
                f"{payload.column}.subjects, and remove {payload.column}.subject.name.strategy."
            )
        return [f"{topic}-{name}" for topic in self._topics for name in payload.subjects]

    def _matching(self, pattern: str) -> list[str]:
        listed = sorted({*filter(re.compile(pattern).fullmatch, self._registry.subjects())})
        if not 0 < len(listed) <= _MAX_SUBJECTS:
            raise KafkaConfigError(
                f"Option '{self._payload.column}.subjects.pattern', {pattern!r}, matches "
                f"{len(listed) or 'no'} subjects of the registry, of whole names: it may be 1 to "
                f"{_MAX_SUBJECTS}."
            )
        return listed

    def _record_name(self, written: SchemaText | None) -> str:
        payload = self._payload
        if written is None and payload.has_schema:
            written = self.latest[0].schema
        name = written and FORMATS[payload.format].name_of(written)
        if not name:
            raise KafkaConfigError(
                f"The subject of the {payload.column}s follows from the name of their schema "
                f"({payload.strategy.value}), and it has no name: set {payload.column}.schema to a "
                f"schema with a name, or {payload.column}.subject to the registry's subject."
            )
        return name

    def _known(self, registered: SubjectVersion) -> KnownSchema:
        schema = registered.schema
        number = "" if schema.id is None else f" (id {schema.id})"
        origin = f"version {registered.version} of the subject {registered.subject!r}{number}"
        text = schema_text_of(schema, self._payload.format, origin)
        named = self._named(text)
        return KnownSchema(origin, named, schema.id, registered.subject, registered.version)

    def _named(self, schema: SchemaText) -> SchemaText:
        return replace(schema, message=self._payload.message)

    def _given(self, text: str) -> KnownSchema:
        option = f"{self._payload.column}.schema"
        if (
            text.startswith(_SCHEMA_STARTS)
            or text.rstrip().endswith(_SCHEMA_ENDS)
            or _is_ddl(text, self._payload.format)
        ):
            return KnownSchema(f"the option {option}", self._named(SchemaText(text)))
        if text.startswith(ID_PREFIX):
            return self._of_id(option, text.removeprefix(ID_PREFIX).strip())
        try:
            read = _BY_FORMAT.get(self._payload.format, _text_of)(Path(text).read_bytes())
            return KnownSchema(f"the file {text}", self._named(SchemaText(read)))
        except (OSError, ValueError) as error:
            raise KafkaConfigError(
                f"Option '{option}' must be a schema, the path of a file on the driver, or id: and "
                f"an id. As a path it cannot be read: {error}"
            ) from error

    def _described(self, path: str) -> KnownSchema:
        option = f"{self._payload.column}.protobuf.descriptor"
        try:
            schema = self._named(SchemaText(descriptor_set_text(Path(path).read_bytes())))
            FORMATS[self._payload.format].name_of(schema)
        except (OSError, ValueError) as error:
            raise KafkaConfigError(
                f"Option '{option}' must be the path on the driver of a descriptor set. It cannot "
                f"be read: {error}"
            ) from error
        except SchemaError as error:
            raise KafkaConfigError(f"Option '{option}', the file {path}: {error}") from error
        return KnownSchema(f"the file {path}", schema)

    def _of_id(self, option: str, given: str) -> KnownSchema:
        if given.isascii() and given.isdigit() and len(given) <= 10:
            schema = self._registry.schema_of_id(int(given))
        else:
            try:
                guid = uuid.UUID(given)
            except ValueError:
                raise KafkaConfigError(
                    f"Option '{option}' has no id after {ID_PREFIX!r}: it is a number, or a UUID "
                    "in AWS Glue and Azure."
                ) from None
            schema = self._registry.schema_of_guid(guid)
        try:
            text = schema_text_of(schema, self._payload.format, f"the id {given}")
        except SchemaError as error:
            raise KafkaConfigError(f"Option '{option}': {error}") from error
        return KnownSchema(f"the id {given}", self._named(text), schema.id)


def only_schema(payload: PayloadOptions, schemas: Sequence[KnownSchema]) -> KnownSchema:
    """The schema of all topics: one name and one type."""
    format_ = FORMATS[payload.format]
    first = schemas[0].schema
    for other in schemas[1:]:
        if other.schema == first:
            # It need not have a type: a query may want a part that has one.
            continue
        is_same_name = format_.name_of(other.schema) == format_.name_of(first)
        if not is_same_name or format_.type_of(other.schema) != format_.type_of(first):
            column = payload.column
            raise KafkaConfigError(
                f"The {column}s of the topics have different schemas, {schemas[0].origin} and "
                f"{other.origin}: read each topic with a query of its own, or set "
                f"{column}.subject or {column}.schema to the schema to read all of them as."
            )
    return schemas[0]


def schema_to_read(
    payload: PayloadOptions, schemas: SchemaVersions, wanted: pa.DataType
) -> KnownSchema:
    """The newest schema that has the wanted fields, or the wanted type as a schema.

    A schema may have changed since the query's columns were determined.

    Raises:
        KafkaConfigError: No schema has the wanted fields.
    """
    if not schemas.are_known and (known := _type_as_schema(payload, wanted)) is not None:
        return known
    format_ = FORMATS[payload.format]
    return newest_schema(payload, schemas, lambda schema: format_.check_part(schema, wanted))


def newest_schema(
    payload: PayloadOptions, schemas: SchemaVersions, check: Callable[[SchemaText], object]
) -> KnownSchema:
    """The newest schema that a check does not refuse by SchemaError.

    Raises:
        KafkaConfigError: All are refused. Names the reason why the latest is.
    """
    latest = only_schema(payload, schemas.latest)
    refusal = None
    for known in chain([latest], schemas.older()):
        try:
            check(known.schema)
        except SchemaError as error:
            refusal = refusal or error
            continue
        if known is not latest:
            _log.warning(
                "The %ss are read as %s. There is %s, which the query can use after a new load().",
                payload.column,
                known.origin,
                latest.origin,
            )
        return known
    raise KafkaConfigError(
        f"Column '{payload.column}' cannot be read as {latest.origin}: {refusal}"
    ) from refusal


def _type_as_schema(payload: PayloadOptions, wanted: pa.DataType) -> KnownSchema | None:
    """A schema made from the wanted type of a read; None if the format needs a given schema."""
    format_ = FORMATS[payload.format]
    try:
        schema = format_.schema_to_read(wanted)
        if schema is None:
            return None
        format_.check_part(schema, wanted)
    except SchemaError as error:
        raise KafkaConfigError(
            f"Column '{payload.column}' cannot be read as {wanted} from {payload.format.value}: "
            f"{error}"
        ) from error
    return KnownSchema("the schema of the read", schema)


def _text_of(content: bytes) -> str:
    return content.decode("utf-8")


def _proto_text_of(content: bytes) -> str:
    """The text of a `.proto` file, or the text that stands for a binary FileDescriptorSet."""
    is_binary = any(byte < 0x20 and byte not in b"\t\n\v\f\r" for byte in content)
    return descriptor_set_text(content) if is_binary else _text_of(content)


_BY_FORMAT: Final[Mapping[Format, Callable[[bytes], str]]] = {Format.PROTOBUF: _proto_text_of}


def _is_ddl(text: str, format_: Format) -> bool:
    return format_ is Format.JSON and is_ddl(text)
