"""A write: the schema of each column, found or registered, and the encoder of its rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple, cast

import pyarrow as pa

from kafka_formats.errors import NotFoundError, SchemaError
from kafka_formats.options.formats import PayloadOptions, WriteFormatOptions
from kafka_formats.options.settings import Framing
from kafka_formats.options.table import AUTO_REGISTER, USE_LATEST
from kafka_formats.payload.column_encoder import ColumnEncoder
from kafka_formats.payload.format import PayloadEncoder
from kafka_formats.payload.record_types_encoder import RecordTypesEncoder, WrittenType
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.formats import FORMATS
from kafka_formats.query.record_encoder import RecordEncoder
from kafka_formats.query.record_types import record_types_of
from kafka_formats.query.registration import Registration
from kafka_formats.query.schema_choice import ColumnSchemas, KnownSchema
from kafka_formats.registry.client import RegistryClient
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.schema_ids.confluent import id_frame
from kafka_formats.schema_ids.frames import NO_FRAME
from kafka_protocol.errors import KafkaConfigError

_log = logging.getLogger(__name__)

# For messages.
_OF_TYPES: Final = KnownSchema("the schemas of its record types", SchemaText(""))


class WrittenColumn(NamedTuple):
    """A column to encode: its place in the rows, and its type; None if that is not known yet."""

    place: int
    type: pa.DataType | None


def encoder_for(
    options: WriteFormatOptions, topic: str | None, columns: Mapping[str, WrittenColumn]
) -> RecordEncoder:
    """The encoder of the rows of a write.

    Args:
        options: The options of formats.
        topic: The topic of all rows; None if a column has it.
        columns: The columns to encode, by name; columns that rows do not have are left out.

    Raises:
        KafkaError: A schema cannot be found or registered, or does not fit the column.
    """
    config = RegistryConfig.from_options(options.registry) if options.registry else None
    client = None if config is None else RegistryClient(config)
    topics = [] if topic is None else [topic]
    encoders = {}
    for payload in options.payloads:
        if payload.column in columns:
            column = columns[payload.column]
            schemas = ColumnSchemas(payload, topics, client)
            if payload.has_types:
                of_types = _encoder_of_types(payload, schemas, options)
                if column.type is not None:
                    _check(of_types, column.type, payload.column, _OF_TYPES)
                encoders[column.place] = ColumnEncoder(NO_FRAME, of_types)
                continue
            known = _schema_of(payload, schemas, column.type, options)
            encoder = FORMATS[payload.format].encoder(known.schema)
            if column.type is not None:
                _check(encoder, column.type, payload.column, known)
            frame = NO_FRAME
            if payload.framing is Framing.CONFLUENT and client is not None:
                frame = id_frame(_id_of(payload, schemas, known, client, options))
                frame += FORMATS[payload.format].frame_suffix(known.schema)
            _log.info("The %ss are written with %s.", payload.column, known.origin)
            encoders[column.place] = ColumnEncoder(frame, encoder)
    return RecordEncoder(encoders)


def _encoder_of_types(
    payload: PayloadOptions, schemas: ColumnSchemas, options: WriteFormatOptions
) -> RecordTypesEncoder:
    """The encoder of several record types, each with the latest version of its subject."""
    if options.auto_register or not (options.use_latest or payload.metadata):
        row = AUTO_REGISTER if options.auto_register else USE_LATEST
        raise KafkaConfigError(
            f"Option '{row.name}' makes a schema of the column, which {payload.column}.subjects "
            "does not: register a schema for each record type, and remove it."
        )
    format_ = FORMATS[payload.format]
    types = {}
    for each in record_types_of(payload, schemas):
        known = each.schemas.only()
        # An id in Confluent's registry: only reads have UUIDs.
        frame = id_frame(cast("int", known.id)) + format_.frame_suffix(known.schema)
        encoder = ColumnEncoder(frame, format_.encoder(known.schema))
        types[each.member] = WrittenType(each.name, encoder)
        _log.info("The record type %s is written with %s.", each.name, known.origin)
    return RecordTypesEncoder(types)


def _schema_of(
    payload: PayloadOptions,
    schemas: ColumnSchemas,
    data_type: pa.DataType | None,
    options: WriteFormatOptions,
) -> KnownSchema:
    uses_latest = options.use_latest or bool(payload.metadata)
    is_made = not payload.has_schema and (
        options.auto_register or not uses_latest or not schemas.are_known
    )
    if is_made and data_type is not None:
        derived = FORMATS[payload.format].derive(data_type)
        return KnownSchema("the schema of the column", derived)
    try:
        return schemas.latest[0]
    except NotFoundError as error:
        if payload.has_schema or payload.version or payload.metadata:
            raise
        raise NotFoundError(
            f"{error}. To register the schema of the column there, set auto.register.schemas to "
            "true"
        ) from error


def _check(
    encoder: PayloadEncoder, data_type: pa.DataType, column: str, known: KnownSchema
) -> None:
    try:
        encoder.check(data_type)
    except SchemaError as error:
        raise KafkaConfigError(
            f"Column '{column}' cannot be written with {known.origin}: {error}"
        ) from error


def _id_of(
    payload: PayloadOptions,
    schemas: ColumnSchemas,
    known: KnownSchema,
    client: RegistryClient,
    options: WriteFormatOptions,
) -> int:
    if isinstance(known.id, int):
        return known.id
    (subject,) = schemas.subjects(known.schema)
    in_registry = Registration(
        payload.column, payload.format, client, options.auto_register, options.normalize
    )
    return in_registry.id_in(subject, known)
