"""A read: the types of its columns, and the decoder with which tasks fill them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import pyarrow as pa

from kafka_formats.arrow.types import as_nullable
from kafka_formats.errors import SchemaError
from kafka_formats.options.formats import FormatOptions, PayloadOptions
from kafka_formats.options.settings import Framing, Mode, SchemaEvolution
from kafka_formats.payload.columns import ColumnFormat
from kafka_formats.payload.format import DecoderOf, SchemaById
from kafka_formats.payload.nulls import NullPayloads
from kafka_formats.payload.raw_columns import CHECKED_TEXT
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.evolution import Evolution
from kafka_formats.query.formats import FORMATS
from kafka_formats.query.record_decoder import RecordDecoder
from kafka_formats.query.registries import Registries
from kafka_formats.query.schema_choice import ColumnSchemas, KnownSchema
from kafka_formats.registry.schemas_by_id import SchemasById
from kafka_protocol.errors import KafkaConfigError

_log = logging.getLogger(__name__)


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

    def decoder(self, wanted: pa.Schema) -> RecordDecoder:
        """The decoder of the wanted columns, whose structs may have some of the fields only.

        Raises:
            KafkaError: A wanted field is in no schema, or as from `columns`.
        """
        options = self._options
        added = {*options.error_columns, *options.raw_columns}
        tells_faults = not added.isdisjoint(wanted.names)
        formats = {
            each.column: self._format_of(each, wanted)
            for each in options.payloads
            if tells_faults or each.column in wanted.names
        }
        return RecordDecoder(wanted, formats, options.mode)

    def _format_of(self, payload: PayloadOptions, wanted: pa.Schema) -> ColumnFormat:
        schemas = self._schemas[payload.column]
        if payload.column in wanted.names:
            to = wanted.field(payload.column).type
        else:
            to = self._type_of(payload)
        known = _schema_to_read(payload, schemas, to)
        decoders = FORMATS[payload.format].decoders
        return self.format_with(payload, known, to, partial(decoders, known.schema, to))

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
        format_, schemas = FORMATS[payload.format], self._schemas[payload.column]
        schema = schema_by_id = None
        config = self._registries.config(payload.framing)
        if format_.needs_written_schema:
            if payload.framing is Framing.NONE or config is None:
                schema = schemas.latest[0].schema
            else:
                schema_by_id = SchemasById(schemas.written(), payload.format, config)
        found = format_.null_payloads(schema, schema_by_id)
        return found and NullPayloads(payload.column, payload.framing, *found)

    def schemas_of(self, payload: PayloadOptions) -> ColumnSchemas:
        """The schemas of a column."""
        return self._schemas[payload.column]

    def format_with(
        self,
        payload: PayloadOptions,
        known: KnownSchema,
        to: pa.DataType,
        decoders: Callable[[SchemaById | None], DecoderOf],
        part: pa.DataType | None = None,
    ) -> ColumnFormat:
        """How to decode a column to a type.

        Args:
            payload: The column's options.
            known: The schema to read as.
            to: The type of the values.
            decoders: Makes the decoders of payloads of several schemas. It gets what finds the
                schemas that payloads were written with; None if they need not be found.
            part: The part of the schema that is read, if `to` is made of it.
        """
        format_ = FORMATS[payload.format]
        schemas = self._schemas[payload.column]
        schema_by_id = None
        config = self._registries.config(payload.framing)
        is_framed = payload.framing is not Framing.NONE
        stops = payload.evolution is SchemaEvolution.RESTART
        if is_framed and config is not None and (format_.needs_written_schema or stops):
            schema_by_id = SchemasById(schemas.written(), payload.format, config)
        decoder_of = decoders(schema_by_id if format_.needs_written_schema else None)
        if not stops or schema_by_id is None:
            return ColumnFormat(payload.framing, to, decoder_of)
        wanted = to if part is None else part
        evolution = _evolution(payload, known, schemas.latest, wanted, schema_by_id)
        return ColumnFormat(payload.framing, to, decoder_of, evolution.refusal)

    def _type_of(self, payload: PayloadOptions) -> pa.DataType:
        known = only_schema(payload, self._schemas[payload.column].latest)
        type_ = FORMATS[payload.format].type_of(known.schema)
        return as_nullable(type_) if self._options.mode is Mode.PERMISSIVE else type_


def record_decoder(
    wanted: pa.Schema,
    formats: QueryFormats | None,
    *,
    checked_text: Sequence[str],
    mode: Mode,
    puts_aside: bool,
) -> RecordDecoder:
    """The decoder of the wanted columns, with raw ones as the types that are wanted.

    Args:
        wanted: The columns.
        formats: The formats of the query; None if no column has one.
        checked_text: The raw columns of text whose bytes have to be UTF-8.
        mode: How to treat broken payloads.
        puts_aside: Whether records that are left out are given to the caller of `decode`.

    Raises:
        KafkaError: As from `QueryFormats.decoder`.
    """
    decoded = {} if formats is None else formats.decoder(wanted).formats
    text = dict.fromkeys(checked_text, CHECKED_TEXT)
    # The key before the value, as errors and dead letters name the first fault.
    in_order = dict(sorted({**decoded, **text}.items()))
    return RecordDecoder(wanted, in_order, mode, puts_aside)


def upsert_decoder(decoder: RecordDecoder, formats: QueryFormats | None) -> RecordDecoder:
    """The same for a read with a row for each key, which values that stand for null delete.

    Raises:
        KafkaError: As from `QueryFormats.nulls`.
    """
    return decoder if formats is None else replace(decoder, nulls=formats.nulls("value"))


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
    return Evolution(payload.column, known.schema, read_as, wanted, versions, schema_by_id)


def _schema_to_read(
    payload: PayloadOptions, schemas: ColumnSchemas, wanted: pa.DataType
) -> KnownSchema:
    """The newest schema that has the wanted fields, or the wanted type as a schema.

    A schema may have changed since the query's columns were determined.
    """
    if not schemas.are_known and (known := _type_as_schema(payload, wanted)) is not None:
        return known
    format_ = FORMATS[payload.format]
    return newest_schema(payload, schemas, lambda schema: format_.check_part(schema, wanted))


def newest_schema(
    payload: PayloadOptions, schemas: ColumnSchemas, check: Callable[[SchemaText], object]
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
    """The schema of a read that has only the type that it wants; None if that is not enough."""
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
