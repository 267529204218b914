"""Several record types in one column: their names, the struct that holds them, and how to read it.

The subjects that the user names decide which types there are. The schema of a payload decides which
of them it has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

import pyarrow as pa

from kafka_formats.errors import NoFieldsError, SchemaError
from kafka_formats.options.formats import PayloadOptions
from kafka_formats.options.settings import Format
from kafka_formats.payload.format import RecordTypes
from kafka_formats.payload.record_types import TYPE_FIELD, Member, RecordTypesFactory
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.formats import FORMATS
from kafka_formats.query.schema_choice import (
    ColumnSchemas,
    KnownSchema,
    only_schema,
    schema_to_read,
)
from kafka_formats.registry.schemas_by_id import SchemasById
from kafka_formats.schema_ids.frames import SchemaId
from kafka_protocol.errors import KafkaConfigError

# A full name in Avro, Java and Protobuf; the title of a JSON Schema may be any text.
_DOTTED: Final = re.compile(r"(?:[^\W\d]\w*\.)+([^\W\d]\w*)")


@dataclass(frozen=True, slots=True)
class TypeSchemas:
    """The schemas of one record type.

    Attributes:
        name: The full name of the type.
        latest: That of the latest version of each subject that has the type.
        column: The schemas of the column.
        payload: The column's options.
    """

    name: str
    latest: list[KnownSchema]
    column: ColumnSchemas
    payload: PayloadOptions

    are_known: bool = True

    def older(self) -> Iterator[KnownSchema]:
        """The schemas of the versions before the latest, newest first."""
        own = {each.subject for each in self.latest}
        for known in self.column.older():
            if known.subject not in own:
                continue
            try:
                schema = parts_of(self.payload, known).get(self.name)
            except KafkaConfigError:
                # An old version may have had no names.
                continue
            if schema is not None:
                yield known._replace(schema=schema)

    def only(self) -> KnownSchema:
        """The latest schema: that of the subject by the name of the type, else of the first.

        Raises:
            KafkaConfigError: Subjects have different ones.
        """
        try:
            first = only_schema(self.payload, self.latest)
        except KafkaConfigError as error:
            listed = ", ".join(each.origin for each in self.latest)
            raise KafkaConfigError(
                f"The record type {self.name!r} of the {self.payload.column}s has different "
                f"schemas: {listed}. Leave the other subjects out of {subjects_of(self.payload)}."
            ) from error
        named = (each for each in self.latest if each.subject == self.name)
        with_topic = (each for each in self.latest if each.subject.endswith(f"-{self.name}"))
        return next(chain(named, with_topic), first)


class RecordType(NamedTuple):
    """A record type.

    Attributes:
        name: The full name.
        member: The name of its member in the struct.
        schemas: Its schemas.
    """

    name: str
    member: str
    schemas: TypeSchemas


def record_types_of(payload: PayloadOptions, schemas: ColumnSchemas) -> list[RecordType]:
    """The record types of a column, in the order of their subjects.

    Raises:
        KafkaError: A schema cannot be found, a type has no name, or two names are the same to
            Spark.
    """
    latest: dict[str, list[KnownSchema]] = {}
    for known in schemas.latest:
        for name, schema in parts_of(payload, known).items():
            latest.setdefault(name, []).append(known._replace(schema=schema))
    if not latest:
        raise KafkaConfigError(f"The subjects of {subjects_of(payload)} have no record type.")
    members = member_names([*latest], payload.column)
    return [
        RecordType(name, members[name], TypeSchemas(name, of_type, schemas, payload))
        for name, of_type in latest.items()
    ]


def subjects_of(payload: PayloadOptions) -> str:
    """The option that names the subjects."""
    return f"{payload.column}.subjects" + (".pattern" if payload.subjects_pattern else "")


def parts_of(payload: PayloadOptions, known: KnownSchema) -> Mapping[str, SchemaText]:
    """Full name -> schema of each record type in a subject's schema.

    Raises:
        KafkaConfigError: A type has no name, or the schema is invalid.
    """
    try:
        return FORMATS[payload.format].record_types(known.schema, known.subject)
    except SchemaError as error:
        raise KafkaConfigError(
            f"The record types of the {payload.column}s cannot be found in {known.origin}: {error}"
        ) from error


def member_names(names: Sequence[str], column: str) -> dict[str, str]:
    """Full name -> name of the member: the short name, or the full one where two are equal.

    To Spark names that differ in case only are the same.

    Raises:
        KafkaConfigError: Two full names are the same to Spark, or one is TYPE_FIELD.
    """
    short = {name: match[1] if (match := _DOTTED.fullmatch(name)) else name for name in names}
    counts = Counter(each.casefold() for each in short.values())
    for name in names:
        # A type without a package would take the member that another one has without it.
        if "." not in name and counts[name.casefold()] > 1:
            raise _ambiguous(name, column)
    members = {
        name: each if counts[each.casefold()] == 1 and each.casefold() != TYPE_FIELD else name
        for name, each in short.items()
    }
    taken = Counter([TYPE_FIELD, *(each.casefold() for each in members.values())])
    for name, member in members.items():
        if taken[member.casefold()] > 1:
            raise _ambiguous(name, column)
    return members


def _ambiguous(name: str, column: str) -> KafkaConfigError:
    return KafkaConfigError(
        f"The record type {name!r} of the {column}s has the short name of another one, or a name "
        f"that Spark takes for it: leave its subject out of {column}.subjects."
    )


def struct_of(payload: PayloadOptions, types: Sequence[RecordType]) -> pa.StructType:
    """The struct of the types: TYPE_FIELD, and a member for each, of which one is not null.

    Raises:
        KafkaError: A type cannot be read, or differs between subjects.
    """
    fields = [pa.field(TYPE_FIELD, pa.string(), nullable=False)]
    for each in types:
        known = each.schemas.only()
        try:
            fields.append(pa.field(each.member, FORMATS[payload.format].type_of(known.schema)))
        except NoFieldsError:
            # As a field with such a message: only its name is there.
            continue
        except SchemaError as error:
            raise SchemaError(f"the record type {each.name!r}: {error}") from error
    return pa.struct(fields)


class TypesRead(NamedTuple):
    """How to read the wanted types.

    Attributes:
        decoders: The decoders of payloads.
        known: The wanted types, each with the schema to read it as.
    """

    decoders: RecordTypesFactory
    known: Sequence[tuple[RecordType, KnownSchema]]


def types_read(
    payload: PayloadOptions,
    types: Sequence[RecordType],
    to: pa.DataType,
    schema_by_id: SchemasById,
) -> TypesRead:
    """How to read types as a struct of all of them, or of some.

    Args:
        payload: The column's options.
        types: The types that there are.
        to: The struct that is wanted.
        schema_by_id: Finds the schemas of payloads.

    Raises:
        KafkaError: The struct has something else, or a schema does not have a wanted field.
    """
    format_ = FORMATS[payload.format]
    _check(payload, types, to)
    members, known = {}, []
    for each in types:
        place = to.get_field_index(each.member)
        if place < 0:
            members[each.name] = Member()
            continue
        wanted = to.field(place).type
        read_as = schema_to_read(payload, each.schemas, wanted)
        needed = schema_by_id if format_.needs_written_schema else None
        decoders = format_.decoder_factory(read_as.schema, wanted, needed)
        members[each.name] = Member(place, decoders)
        known.append((each, read_as))
    option = subjects_of(payload)
    types_of = _TypesById(payload.format, schema_by_id)
    return TypesRead(RecordTypesFactory(to, members, option, types_of), known)


def _check(payload: PayloadOptions, types: Sequence[RecordType], to: pa.DataType) -> None:
    """Refuse a wanted type that is not a struct of these types."""
    members = [TYPE_FIELD, *(each.member for each in types)]
    if not pa.types.is_struct(to) or not to.num_fields:
        raise KafkaConfigError(
            f"Column '{payload.column}' has several record types, and cannot be read as {to}: it "
            f"is a struct of {', '.join(members)}, or of some of them."
        )
    names = [field.name for field in to]
    for field in to:
        if names.count(field.name) > 1:
            raise KafkaConfigError(
                f"Column '{payload.column}' has the field {field.name!r} twice: name it once."
            )
        if field.name in members[1:] and not field.nullable:
            raise KafkaConfigError(
                f"Column '{payload.column}': the field {field.name!r} can be null: leave NOT NULL "
                "out of its type."
            )
        if field.name not in members:
            raise KafkaConfigError(
                f"Column '{payload.column}' has no record type {field.name!r}: there are "
                f"{', '.join(members)}."
            )
        if field.name == TYPE_FIELD and field.type != pa.string():
            raise KafkaConfigError(
                f"Column '{payload.column}': the field {TYPE_FIELD} is a string, not {field.type}."
            )


@dataclass(frozen=True, slots=True)
class _TypesById:
    """Finds the record types of the payloads with an id. It is pickled with tasks."""

    format: Format
    schemas: SchemasById

    def __call__(self, schema_id: SchemaId) -> RecordTypes:
        return FORMATS[self.format].types_in(schema_id, self.schemas)
