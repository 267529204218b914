"""Whether payloads have a newer schema than a query, with values that its columns cannot hold.

A restart reads as the latest version of the subject. So it helps only where the payloads' schema
is a later version than that which the query was planned with: older ones never stop a query.
Schemas of other subjects are not parsed here.

Source: the modes are as for `schemaEvolutionMode` of Databricks' `from_avro`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa

from kafka_formats.errors import NotFoundError, SchemaError, UnknownSchemaError, path_of
from kafka_formats.json.ddl import to_ddl
from kafka_formats.payload.columns import Refusal
from kafka_formats.payload.format import DecoderFactory
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.payload.type_changes import new_fields
from kafka_formats.query.formats import FORMATS
from kafka_formats.registry.schemas import Place
from kafka_formats.registry.schemas_by_id import SchemasById, schema_text_of
from kafka_formats.registry.sources import source_with
from kafka_formats.schema_ids.frames import InHeader, SchemaId


class _Difference(NamedTuple):
    """What the columns of a query lack for a schema: fields, or why it cannot be read into them."""

    lacking: str
    why: str


@dataclass(frozen=True, slots=True)
class Evolution:
    """Compares the schemas of payloads with that of a query. It is pickled with tasks.

    Attributes:
        column: `key` or `value`.
        reader: The schema that the query reads as.
        read_as: The type of all of it.
        wanted: The part of it that the query reads.
        versions: Subject -> the version of it that the query reads as.
        schemas: Finds the schema with an id.
        record_type: The one that is read, of a column with several; None without.
        member: The name of its member in the column.
        is_exact: Whether also a schema that is not newer stops a query.
    """

    column: str
    reader: SchemaText
    read_as: pa.DataType
    wanted: pa.DataType
    versions: Mapping[str, int]
    schemas: SchemasById
    record_type: str | None = None
    member: str = ""
    is_exact: bool = False

    def refusal(self, schema_id: SchemaId, decoders: DecoderFactory) -> Refusal | None:
        """Why a query has to stop at payloads of a schema; None if it has not.

        Raises:
            RegistryError: The registry cannot be asked.
        """
        # After an id in a header is the index of Protobuf's message.
        number = schema_id.schema_id if isinstance(schema_id, InHeader) else schema_id
        try:
            if self.is_exact and self._is_of_other_subject(number):
                # It is not parsed: anybody who may register a schema could choose it.
                return self._of_other_subject(number)
            if self.is_exact or self.schemas.is_known(number):
                # Mostly nothing is new, and the registry need not be asked.
                difference = self._difference(number, schema_id, decoders)
                place = difference and self._newer_version(number)
            else:
                place = self._newer_version(number)
                difference = place and self._difference(number, schema_id, decoders)
        except UnknownSchemaError:
            # What becomes of the payload is a matter of the mode.
            return None
        if not difference:
            return None
        if place:
            return self._of_newer(number, place, difference)
        return self._of_older(number, difference) if self.is_exact else None

    def _of_newer(self, number: SchemaId, place: Place, difference: _Difference) -> Refusal:
        has = f"has version {place.version} of the subject {place.subject!r} (schema id {number}), "
        if difference.lacking:
            return Refusal(
                "[KAFKA_SCHEMA_EVOLVED]",
                f"{has}with fields that the query's columns lack: {difference.lacking}. Start the "
                "query again: it has them then. If .schema(...) names its fields, add them there.",
            )
        return Refusal(
            "[KAFKA_SCHEMA_INCOMPATIBLE]",
            f"{has}which cannot be read into the query's columns: {difference.why}. Start the "
            f"query again if its sink takes the types of that version; or set {self._option} to "
            "none: the option mode decides about such records then.",
        )

    def _is_of_other_subject(self, number: SchemaId) -> bool:
        if self.schemas.is_known(number):
            return False
        places = self.schemas.places(number)
        return places is not None and not any(each.subject in self.versions for each in places)

    def _of_other_subject(self, number: SchemaId) -> Refusal:
        subjects = ", ".join(map(repr, sorted(self.versions)))
        return Refusal(
            "[KAFKA_OLDER_SCHEMA]",
            f"has the schema with id {number}, which is of another subject than {subjects}. Set "
            f"{self._option} to restart: it is read as the newest version then, as far as it can.",
        )

    def _of_older(self, number: SchemaId, difference: _Difference) -> Refusal:
        has = f"has the schema with id {number}, which is not a newer version of the query's, "
        if difference.lacking:
            return Refusal(
                "[KAFKA_OLDER_SCHEMA]",
                f"{has}with fields that the newest version lacks: {difference.lacking}. Register a "
                "version that has them, too, as fields that may be missing; or set "
                f"{self._option} to restart: they are left out then.",
            )
        return Refusal(
            "[KAFKA_OLDER_SCHEMA]",
            f"{has}and cannot be read as the newest version: {difference.why}. Set {self._option} "
            "to restart: the option mode decides about such records then.",
        )

    def _difference(
        self, number: SchemaId, schema_id: SchemaId, decoders: DecoderFactory
    ) -> _Difference | None:
        """What the columns lack for a schema; None if all of it can be read."""
        try:
            written = self._written(number)
            if written is None:
                return None
            lacking = ", ".join(self._lacking(written))
            why = "" if lacking else self._why_unreadable(written, schema_id, decoders)
        except UnknownSchemaError:
            raise
        except SchemaError as error:
            lacking, why = "", str(error)
        return _Difference(lacking, why) if lacking or why else None

    @property
    def _option(self) -> str:
        return f"{self.column}.schema.evolution"

    @property
    def _at(self) -> str:
        """Where the values are that it reads."""
        return path_of(self.column, self.member)

    def _written(self, number: SchemaId) -> SchemaText | None:
        """The schema with an id, or its part for the record type; None if it lacks the type.

        Raises:
            SchemaError: There is no such schema, or its record types have no names.
        """
        schema = self.schemas(number)
        if self.record_type is None:
            return replace(schema, message=self.reader.message)
        # As of a subject of its name, which may be a message within another.
        parts = FORMATS[self.schemas.format].record_types(schema, self.record_type)
        return parts.get(self.record_type)

    def _lacking(self, written: SchemaText) -> Iterator[str]:
        type_ = FORMATS[self.schemas.format].type_of(written)
        for path, each in new_fields(type_, self.read_as):
            yield f"{path_of(self._at, path)} {_shown(each)}"

    def _why_unreadable(
        self, written: SchemaText, schema_id: SchemaId, decoders: DecoderFactory
    ) -> str:
        format_ = FORMATS[self.schemas.format]
        losses = [
            f"{path_of(self._at, loss.path)} {loss.why(_shown)}"
            for loss in format_.losses(written, self.reader, self.wanted)
        ]
        if losses:
            return ", ".join(losses)
        try:
            decoders.for_schema(schema_id)
        except UnknownSchemaError:
            raise
        except SchemaError as error:
            return f"the {self.column}, {error}"
        return ""

    def _newer_version(self, number: SchemaId) -> Place | None:
        """The newest version of a subject that is this schema; None if no newer one is."""
        told = self.schemas.places(number)
        newer = [
            place
            for place in (
                _places_by_text(number, self.versions, self.schemas) if told is None else told
            )
            if place.subject in self.versions and place.version > self.versions[place.subject]
        ]
        return max(newer, key=lambda place: place.version, default=None)


@dataclass(frozen=True, slots=True)
class TypesEvolution:
    """Compares the schemas of payloads with the record types of a query. Pickled with tasks.

    Attributes:
        known: For each record type that the query reads.
        names: The full names of all record types that it knows.
        versions: Subject -> the version that it reads as.
        pattern: The subjects whose types it would know after a restart; None if they are named.
        schemas: Finds the schema with an id.
        is_exact: As for Evolution.
    """

    known: Sequence[Evolution]
    names: Collection[str]
    versions: Mapping[str, int]
    pattern: str | None
    schemas: SchemasById
    is_exact: bool = False

    def refusal(self, schema_id: SchemaId, decoders: DecoderFactory) -> Refusal | None:
        """Why a query has to stop at payloads of a schema; None if it has not.

        Raises:
            RegistryError: The registry cannot be asked.
        """
        number = schema_id.schema_id if isinstance(schema_id, InHeader) else schema_id
        try:
            if self.schemas.is_known(number):
                return self._of_known_types(schema_id, decoders)
            place = next(filter(self._is_later, self._places(number)), None)
            if place is None:
                return self._of_known_types(schema_id, decoders) if self.is_exact else None
            refused = self._of_known_types(schema_id, decoders)
            return refused or self._of_new_type(number, place)
        except UnknownSchemaError:
            return None

    def _of_known_types(self, schema_id: SchemaId, decoders: DecoderFactory) -> Refusal | None:
        for each in self.known:
            if refused := each.refusal(schema_id, decoders):
                return refused
        return None

    def _of_new_type(self, number: SchemaId, place: Place) -> Refusal | None:
        subject, version = place
        try:
            parts = FORMATS[self.schemas.format].record_types(self.schemas(number), subject)
        except UnknownSchemaError:
            raise
        except SchemaError:
            # What becomes of the payload is a matter of the mode.
            return None
        added = [name for name in parts if name not in self.names]
        if not added:
            return None
        return Refusal(
            "[KAFKA_SCHEMA_EVOLVED]",
            f"has version {version} of the subject {subject!r} (schema id {number}), with record "
            f"types that the query's columns lack: {', '.join(added)}. Start the query again: it "
            "has them then. If .schema(...) names its fields, add them there.",
        )

    def _places(self, number: SchemaId) -> Iterable[Place]:
        places = self.schemas.places(number)
        if places is not None:
            return places
        added = {}
        if self.pattern is not None:
            listed = source_with(self.schemas.config).subjects()
            added = dict.fromkeys(filter(re.compile(self.pattern).fullmatch, listed), 0)
        return _places_by_text(number, added | dict(self.versions), self.schemas)

    def _is_later(self, place: Place) -> bool:
        """Whether a query that is started now would read a version of a subject."""
        if place.subject in self.versions:
            return place.version > self.versions[place.subject]
        return self.pattern is not None and bool(re.fullmatch(self.pattern, place.subject))


def _places_by_text(
    number: SchemaId, versions: Mapping[str, int], schemas: SchemasById
) -> Iterator[Place]:
    """The newer versions with a schema's text, for a registry that does not list them.

    Args:
        number: The schema.
        versions: Subject -> the version before the newer ones.
        schemas: Finds the schema.
    """
    try:
        written = schemas(number)
    except UnknownSchemaError:
        raise
    except SchemaError:
        # It is one of another format, as a newer version may be.
        return
    registry = source_with(schemas.config)
    for subject, read_version in versions.items():
        try:
            newer = [each for each in registry.versions(subject) if each > read_version]
        except NotFoundError:
            continue
        for version in sorted(newer, reverse=True):
            body = registry.version(subject, version).schema
            try:
                text = schema_text_of(body, schemas.format, subject)
            except SchemaError:
                continue
            if text == written:
                yield Place(subject, version)
                break


def _shown(type_: pa.DataType) -> str:
    """A type as Spark's DDL, where it has one."""
    try:
        return to_ddl(type_)
    except SchemaError:
        return str(type_)
