"""Whether payloads have a newer schema than a query, with fields that its columns lack.

A restart reads as the latest version of the subject. So it helps only where the payloads' schema
is a later version than that which the query was planned with: older ones never stop a query.

Source: the modes are those of `schemaEvolutionMode` of Databricks' `from_avro`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import pyarrow as pa

from kafka_formats.errors import ITEMS, VALUES, NotFoundError, SchemaError, path_of
from kafka_formats.json.ddl import to_ddl
from kafka_formats.payload.columns import Refusal
from kafka_formats.payload.format import DecoderOf
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.formats import FORMATS
from kafka_formats.registry.schemas_by_id import SchemasById, schema_text_of
from kafka_formats.registry.sources import source_with
from kafka_formats.schema_ids.frames import SchemaId

# The newest versions of a subject that are looked at. A query is seldom that far behind.
_MAX_VERSIONS: Final = 100


@dataclass(frozen=True, slots=True)
class Evolution:
    """Compares the schemas of payloads with that of a query. It is pickled with tasks.

    Attributes:
        column: `key` or `value`.
        read_as: The type of the whole schema that the query reads as.
        versions: Subject -> the version of it that the query reads as.
        schemas: Finds the schema with an id.
        message: The name of Protobuf's message; None for the first.
    """

    column: str
    read_as: pa.DataType
    versions: Mapping[str, int]
    schemas: SchemasById
    message: str | None = None

    def refusal(self, schema_id: SchemaId, decoder_of: DecoderOf) -> Refusal | None:
        """Why a query has to stop at payloads of a schema; None if it has not.

        Raises:
            RegistryError: The registry cannot be asked.
        """
        try:
            written = replace(self.schemas(schema_id), message=self.message)
        except SchemaError:
            # It is broken, or no schema: what becomes of the payload is a matter of the mode.
            return None
        lacking = self._lacking(written)
        reason = None if lacking else self._why_unreadable(schema_id, written, decoder_of)
        if not lacking and reason is None:
            return None
        newer = self._newer_version(written)
        if newer is None:
            return None
        subject, number = newer
        version = f"has version {number} of the subject {subject!r} (schema id {schema_id})"
        if reason is None:
            return Refusal(
                "[KAFKA_SCHEMA_EVOLVED]",
                f"{version}, with fields that the query's columns lack: {', '.join(lacking)}. "
                "Start the query again: it has them then. If .schema(...) names its fields, add "
                "them there.",
            )
        return Refusal(
            "[KAFKA_SCHEMA_INCOMPATIBLE]",
            f"{version}, which cannot be read into the query's columns: {reason}. Start the query "
            "again if its sink takes the types of that version; or set "
            f"{self.column}.schema.evolution to none: the option mode decides about such records "
            "then.",
        )

    def _lacking(self, written: SchemaText) -> list[str]:
        try:
            type_ = FORMATS[self.schemas.format].type_of(written)
        except SchemaError:
            return []
        return [
            f"{path_of(self.column, path)} {_shown(each)}"
            for path, each in new_fields(type_, self.read_as)
        ]

    def _why_unreadable(
        self, schema_id: SchemaId, written: SchemaText, decoder_of: DecoderOf
    ) -> str | None:
        format_ = FORMATS[self.schemas.format]
        try:
            decoder_of(schema_id)
            if format_.needs_written_schema:
                return None
            changed = changed_types(format_.type_of(written), self.read_as)
        except SchemaError as error:
            return str(error)
        for path, type_, read in changed:
            where = path_of(self.column, path)
            return f"{where} has the type {_shown(type_)}, not {_shown(read)}"
        return None

    def _newer_version(self, written: SchemaText) -> tuple[str, int] | None:
        """The subject and the newest version that is this schema; None if it is not newer."""
        registry = source_with(self.schemas.config)
        for subject, read_version in self.versions.items():
            try:
                newest_first = sorted(registry.versions(subject), reverse=True)
            except NotFoundError:
                continue
            for version in newest_first[:_MAX_VERSIONS]:
                if version <= read_version:
                    break
                found = registry.version(subject, version).schema
                try:
                    text = schema_text_of(found, self.schemas.format, subject)
                except SchemaError:
                    continue
                if text == SchemaText(written.text, written.dependencies):
                    return subject, version
        return None


def new_fields(
    written: pa.DataType, read: pa.DataType, path: str = ""
) -> Iterator[tuple[str, pa.DataType]]:
    """The fields that a written type has and a read one lacks: path and type, at any depth."""
    for part in _parts(written, read, path) or ():
        if part.read is None:
            yield part.path, part.written
        else:
            yield from new_fields(part.written, part.read, part.path)


def changed_types(
    written: pa.DataType, read: pa.DataType, path: str = ""
) -> Iterator[tuple[str, pa.DataType, pa.DataType]]:
    """The fields of both types whose types are of different kinds: path, written and read type."""
    parts = _parts(written, read, path)
    if parts is None and written != read:
        yield path, written, read
    for part in parts or ():
        if part.read is not None:
            yield from changed_types(part.written, part.read, part.path)


class _Part(NamedTuple):
    """A part of a written type, and what a read type has in its place, if it has."""

    path: str
    written: pa.DataType
    read: pa.DataType | None


def _parts(written: pa.DataType, read: pa.DataType, path: str) -> list[_Part] | None:
    """The parts of two nested types of one kind; None for other types."""
    if pa.types.is_struct(written) and pa.types.is_struct(read):
        known = {field.name: field.type for field in read}
        return [
            _Part(path_of(path, field.name), field.type, known.get(field.name)) for field in written
        ]
    if pa.types.is_list(written) and pa.types.is_list(read):
        return [_Part(path_of(path, ITEMS), written.value_type, read.value_type)]
    if pa.types.is_map(written) and pa.types.is_map(read):
        return [_Part(path_of(path, VALUES), written.item_type, read.item_type)]
    return None


def _shown(type_: pa.DataType) -> str:
    """A type as Spark's DDL, where it has one."""
    try:
        return to_ddl(type_)
    except SchemaError:
        return str(type_)
