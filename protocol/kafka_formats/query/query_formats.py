"""A read: the types of its columns, and the decoder with which tasks fill them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from kafka_formats.arrow.types import as_nullable
from kafka_formats.errors import SchemaError
from kafka_formats.options.formats import FormatOptions, PayloadOptions
from kafka_formats.options.settings import Framing, Mode, SchemaEvolution
from kafka_formats.payload.columns import ColumnFormat
from kafka_formats.payload.format import DecoderFactory
from kafka_formats.payload.nulls import NullPayloads
from kafka_formats.payload.raw_columns import CHECKED_TEXT
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.decoder import Decoder, PutAside
from kafka_formats.query.evolution import Evolution, TypesEvolution
from kafka_formats.query.formats import FORMATS
from kafka_formats.query.record_types import (
    RecordType,
    record_types_of,
    struct_of,
    types_read,
)
from kafka_formats.query.registries import Registries
from kafka_formats.query.schema_choice import (
    ColumnSchemas,
    KnownSchema,
    only_schema,
    schema_to_read,
)
from kafka_formats.registry.schemas_by_id import SchemasById
from kafka_protocol.errors import KafkaConfigError


class QueryFormats:
    """The formats of one query.

    Args:
        options: The options of formats.
        topics: The topics to read; empty if they are not known, as with a pattern.
    """

    def __init__(self, options: FormatOptions, topics: Sequence[str]) -> None:
        self._options = options
        self._registries = Registries(
            options.registry, *(each.framing for each in options.payloads)
        )
        self._schemas = {
            each.column: ColumnSchemas(each, topics, self._registries.source(each.framing))
            for each in options.payloads
        }
        self._by_id: dict[str, SchemasById] = {}
        self._types: dict[str, list[RecordType]] = {}

    def columns(self, names: Collection[str] | None = None) -> Mapping[str, pa.DataType]:
        """The types of the decoded columns, of all or of some.

        Raises:
            KafkaError: A schema cannot be found, or topics have different ones.
        """
        return {
            each.column: self._type_of(each)
            for each in self._options.payloads
            if names is None or each.column in names
        }

    def record_types(self, column: str) -> Mapping[str, str]:
        """The record types of a column: full name -> member; empty unless it has several.

        A type without fields has no such member in the column's struct.

        Raises:
            KafkaError: As from `columns`.
        """
        return {
            each.name: each.member
            for payload in self._options.payloads
            if payload.column == column and payload.has_types
            for each in self._types_of(payload)
        }

    def types_of_members(self) -> Mapping[str, Sequence[str]]:
        """Path of a struct, from its column on -> the types of its fields `member0`, `member1`.

        Raises:
            KafkaError: As from `columns`.
        """
        return {
            ".".join(filter(None, (*place, path))): types
            for payload in self._options.payloads
            for place, schema in self._schemas_to_read(payload)
            for path, types in FORMATS[payload.format].types_of_members(schema).items()
        }

    def _schemas_to_read(
        self, payload: PayloadOptions
    ) -> Iterator[tuple[tuple[str, ...], SchemaText]]:
        """Where values are in the rows, and the schema that they are read as."""
        if not FORMATS[payload.format].needs_written_schema:
            return
        if payload.has_types:
            for each in self._types_of(payload):
                yield (payload.column, each.member), each.schemas.only().schema
        else:
            latest = self._schemas[payload.column].latest
            yield (payload.column,), only_schema(payload, latest).schema

    def column_formats(self, wanted: pa.Schema) -> dict[str, ColumnFormat]:
        """How to decode the wanted columns, whose structs may have some of the fields only.

        Raises:
            KafkaError: A wanted field is in no schema, or as from `columns`.
        """
        options = self._options
        added = {*options.error_columns, *options.raw_columns}
        tells_faults = not added.isdisjoint(wanted.names)
        return {
            each.column: self._format_of(each, wanted)
            for each in options.payloads
            if tells_faults or each.column in wanted.names
        }

    def _format_of(self, payload: PayloadOptions, wanted: pa.Schema) -> ColumnFormat:
        if payload.column in wanted.names:
            to = wanted.field(payload.column).type
        else:
            to = self._type_of(payload)
        if payload.has_types:
            return self._format_of_types(payload, to)
        known = schema_to_read(payload, self._schemas[payload.column], to)
        format_ = FORMATS[payload.format]
        decoders = format_.decoder_factory(known.schema, to, self.writers(payload))
        return self.column_format(payload, known, to, decoders)

    def _format_of_types(self, payload: PayloadOptions, to: pa.DataType) -> ColumnFormat:
        """How to decode a column of several record types."""
        schema_by_id = self._schemas_by_id(payload)
        if schema_by_id is None:
            raise AssertionError("the options were checked")
        types = self._types_of(payload)
        decoders, read_as = types_read(payload, types, to, schema_by_id)
        if payload.evolution is SchemaEvolution.NONE:
            return ColumnFormat(payload.framing, to, decoders)
        evolutions = [
            replace(
                _evolution(payload, known, each.schemas.latest, part, schema_by_id),
                record_type=each.name,
                member=each.member,
            )
            for each, known in read_as
            for part in [to.field(each.member).type]
        ]
        latest = self._schemas[payload.column].latest
        versions = {each.subject: each.version for each in latest}
        names = {each.name for each in types}
        evolution = TypesEvolution(
            *(evolutions, names, versions, payload.subjects_pattern, schema_by_id),
            is_exact=payload.evolution is SchemaEvolution.EXACT,
        )
        return ColumnFormat(payload.framing, to, decoders, evolution.refusal)

    def _types_of(self, payload: PayloadOptions) -> list[RecordType]:
        """The record types of a column that has several."""
        column = payload.column
        if column not in self._types:
            self._types[column] = record_types_of(payload, self._schemas[column])
        return self._types[column]

    def column_format(
        self,
        payload: PayloadOptions,
        known: KnownSchema,
        to: pa.DataType,
        decoders: DecoderFactory,
        part: pa.DataType | None = None,
    ) -> ColumnFormat:
        """How to decode a column to a type.

        Args:
            payload: The column's options.
            known: The schema to read as.
            to: The type of the values.
            decoders: The decoders of payloads of all schemas.
            part: The part of the schema that is read, if `to` is made of it.
        """
        schema_by_id = self._schemas_by_id(payload)
        if payload.evolution is SchemaEvolution.NONE or schema_by_id is None:
            return ColumnFormat(payload.framing, to, decoders)
        latest = self._schemas[payload.column].latest
        wanted = to if part is None else part
        evolution = _evolution(payload, known, latest, wanted, schema_by_id)
        return ColumnFormat(payload.framing, to, decoders, evolution.refusal)

    def schemas_of(self, payload: PayloadOptions) -> ColumnSchemas:
        """The schemas of a column."""
        return self._schemas[payload.column]

    def writers(self, payload: PayloadOptions) -> SchemasById | None:
        """Finds the schemas that the payloads of a column were written with.

        None where payloads name none, or the format does not need them.
        """
        needs_them = FORMATS[payload.format].needs_written_schema
        return self._schemas_by_id(payload) if needs_them else None

    def _schemas_by_id(self, payload: PayloadOptions) -> SchemasById | None:
        config = self._registries.config(payload.framing)
        if payload.framing is Framing.NONE or config is None:
            return None
        if payload.column not in self._by_id:
            known = self._schemas[payload.column].written()
            self._by_id[payload.column] = SchemasById(known, payload.format, config)
        return self._by_id[payload.column]

    def nulls(self, column: str) -> NullPayloads | None:
        """The payloads of a column that stand for null; None if only null itself does.

        Raises:
            KafkaError: A schema cannot be found.
        """
        for payload in self._options.payloads:
            if payload.column == column:
                return self._nulls_of(payload)
        return None

    def _nulls_of(self, payload: PayloadOptions) -> NullPayloads | None:
        format_ = FORMATS[payload.format]
        writers = self.writers(payload)
        schema = None
        if format_.needs_written_schema and writers is None:
            schema = self._schemas[payload.column].latest[0].schema
        null_form = format_.null_payloads(schema, writers)
        return null_form and NullPayloads(payload.column, payload.framing, *null_form)

    def _type_of(self, payload: PayloadOptions) -> pa.DataType:
        if payload.has_types:
            type_: pa.DataType = struct_of(payload, self._types_of(payload))
        else:
            known = only_schema(payload, self._schemas[payload.column].latest)
            type_ = FORMATS[payload.format].type_of(known.schema)
        return as_nullable(type_) if self._options.mode is Mode.PERMISSIVE else type_


def decoder_of(
    wanted: pa.Schema,
    formats: QueryFormats | None,
    *,
    checked_text: Sequence[str],
    mode: Mode,
    put_aside: PutAside | None = None,
) -> Decoder:
    """The decoder of the wanted columns, with raw ones as the types that are wanted.

    Args:
        wanted: The columns.
        formats: The formats of the query; None if no column has one.
        checked_text: The raw columns of text whose bytes have to be UTF-8.
        mode: How to treat broken payloads.
        put_aside: Takes records that are left out; None to log them.

    Raises:
        KafkaError: As from `QueryFormats.column_formats`.
    """
    decoded = {} if formats is None else formats.column_formats(wanted)
    text = dict.fromkeys(checked_text, CHECKED_TEXT)
    # The key before the value, as errors and dead letters name the first fault.
    in_order = dict(sorted({**decoded, **text}.items()))
    return Decoder(wanted, in_order, mode, put_aside)


def _evolution(
    payload: PayloadOptions,
    known: KnownSchema,
    latest: Sequence[KnownSchema],
    wanted: pa.DataType,
    schema_by_id: SchemasById,
) -> Evolution:
    """How the schemas of payloads are compared with that of the query."""
    try:
        read_as = FORMATS[payload.format].type_of(known.schema)
    except SchemaError as error:
        column = payload.column
        raise KafkaConfigError(
            f"Option '{column}.schema.evolution' needs a schema that can be read whole: {error}"
        ) from error
    versions = {each.subject: each.version for each in [*latest, known]}
    return Evolution(
        *(payload.column, known.schema, read_as, wanted, versions, schema_by_id),
        is_exact=payload.evolution is SchemaEvolution.EXACT,
    )
