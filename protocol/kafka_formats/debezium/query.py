"""A read of a database's changes: its columns, and the stages with which tasks fill them.

The rest of the room knows events, and `query` the schemas of a query; here they meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import pyarrow as pa

from kafka_formats.arrow.types import as_nullable
from kafka_formats.connect.plan import AssumedSemantics, Planner, default_type
from kafka_formats.connect.semantics import ConnectType
from kafka_formats.debezium.columns import SOURCE_TYPE, Columns
from kafka_formats.debezium.decoders import (
    DocumentDecoderFactory,
    EventDecoderFactory,
    P,
    Requested,
    RequestedEvent,
    RequestedKey,
    WriterSchemas,
    connect_type_of,
)
from kafka_formats.debezium.events import (
    AFTER,
    BEFORE,
    OF_MONGODB,
    SOURCE,
    TS_MS,
    UNAVAILABLE,
)
from kafka_formats.debezium.origin import Column, Origin
from kafka_formats.debezium.rows import KEY, VALUE, EventRows
from kafka_formats.errors import SchemaError
from kafka_formats.json.connect_schema import connect_type, is_connect_schema
from kafka_formats.json.ddl import is_ddl
from kafka_formats.options.debezium import DebeziumOptions
from kafka_formats.options.formats import FormatOptions, PayloadOptions
from kafka_formats.options.settings import ERROR_COLUMN, Format, Mode
from kafka_formats.payload.columns import ColumnFormat
from kafka_formats.payload.format import DecoderFactory
from kafka_formats.payload.nulls import NullsMadeNull
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.decoder import Decoder, PutAside
from kafka_formats.query.formats import FORMATS
from kafka_formats.query.query_formats import QueryFormats
from kafka_formats.query.schema_choice import newest_schema, only_schema
from kafka_formats.query.stage import Stage
from kafka_protocol.errors import KafkaConfigError

_ADDED: Final = {ERROR_COLUMN: pa.string()}


class DebeziumQuery:
    """The changes that one query reads.

    Args:
        options: The options of formats.
        debezium: The options of changes.
        topics: The topics to read; empty if they are not known, as with a pattern.
        has_headers: Whether there are headers.
        has_topic_ids: Whether there are ids of topics.
    """

    def __init__(
        self,
        options: FormatOptions,
        debezium: DebeziumOptions,
        topics: Sequence[str],
        *,
        has_headers: bool,
        has_topic_ids: bool = False,
    ) -> None:
        self._options = options
        self._debezium = debezium
        self._has_headers = has_headers
        self._has_topic_ids = has_topic_ids
        self._assumed = AssumedSemantics(debezium.moment, debezium.decimal_is_number)
        self._query = QueryFormats(options, topics)
        payloads = {each.column: each for each in options.payloads}
        self._value = payloads[VALUE]
        self._key = payloads.get(KEY)

    def schema(self) -> pa.Schema:
        """All columns.

        Raises:
            KafkaError: A schema cannot be found, or is not a schema of changes.
        """
        return self._columns.schema()

    def wanted(self, names: Sequence[str] | None, types: Mapping[str, pa.DataType]) -> pa.Schema:
        """Columns by their names, by default all.

        Args:
            names: The names; None for all.
            types: Other types for some, or the types of a table's columns where no schema has them.
        """
        columns = self._columns.completed_by(types)
        if columns.row is None:
            told = columns.names
            row = [pa.field(name, each) for name, each in types.items() if name not in told]
            if row or columns.before in types:
                columns = replace(columns, row=pa.struct(row))
        known = columns.types() | dict(types)
        known.setdefault(columns.before, columns.row)
        names = names or columns.schema().names
        for name in names:
            if name not in known:
                raise KafkaConfigError(f"there is no column {name!r}; there are {', '.join(known)}")
        return pa.schema([pa.field(name, known[name]) for name in names])

    def stages(self, wanted: pa.Schema, put_aside: PutAside | None = None) -> tuple[Stage, ...]:
        """The stages that make rows with the wanted columns.

        Args:
            wanted: The columns.
            put_aside: Takes records that are left out; None to log them.

        Raises:
            KafkaError: A column does not exist or has another type, or as from `schema`.
        """
        columns = self._columns.requested(wanted)
        row = _types_from(Origin.ROW, columns)
        events = _types_from(Origin.EVENT, columns)
        if UNAVAILABLE in events and not row:
            raise KafkaConfigError(
                f"Column '{UNAVAILABLE}' names columns of the table: name some of them, too."
            )
        before: pa.StructType | None = events.get(BEFORE)
        for field in before or ():
            _check_one_type(field.name, row.get(field.name, field.type), field.type, "in before")
        event = RequestedEvent(
            pa.struct([*row.items()]) if row else None,
            before,
            TS_MS in events,
            events.get(SOURCE),
            self._debezium.placeholder if UNAVAILABLE in events else None,
        )
        formats = {VALUE: self._format(self._value, event)}
        keys = [each.type for each in columns.values() if each.origin is Origin.KEY]
        key, shared = self._requested_key(event.row, keys)
        if key is not None and self._key is not None:
            formats[KEY] = self._format(self._key, RequestedKey(key))
        inner = {VALUE: event.type} | ({} if key is None else {KEY: key})
        inner |= _types_from(Origin.RECORD, columns)
        if self._options.mode is Mode.PERMISSIVE:
            inner |= _ADDED
        key_has_other_columns = self._key is not None
        has_shared = self._key_type is not None
        keeps_others = self._debezium.keep_others
        rows = EventRows(
            tuple(inner), wanted, columns, shared, has_shared, key_has_other_columns, keeps_others
        )
        records = Decoder(pa.schema(inner), formats, self._options.mode, put_aside, rows.completed)
        nulls = self._query.nulls(VALUE)
        if nulls is None:
            return records, rows
        return NullsMadeNull(records.source_columns, nulls), records, rows

    @cached_property
    def _columns(self) -> Columns:
        given = self._given(self._value)
        row = None if given is None else self._row_type(given)
        source = SOURCE_TYPE
        if given is not None and _part(given.type, SOURCE) is not None:
            source = as_nullable(_part(given.type, SOURCE))
        added = dict(_ADDED) if self._options.error_columns else {}
        added |= dict.fromkeys(self._options.raw_columns, pa.binary())
        return Columns(
            row,
            source,
            self._key_type,
            added,
            self._has_headers,
            self._has_topic_ids,
            self._debezium.prefix,
            self._debezium.has_before,
        )

    def _row_type(self, given: ConnectType) -> pa.StructType:
        after = _part(given.type, AFTER)
        if self._is_row(self._value):
            if not pa.types.is_struct(given.type):
                raise KafkaConfigError(
                    "Option 'value.schema' must be the columns of the table, for example 'id "
                    f"bigint, name string', got one type: {given.type}."
                )
            return given.type
        if after == pa.string():
            raise KafkaConfigError(f"The values do not have the columns of a table: {OF_MONGODB}.")
        if after is None or not pa.types.is_struct(after):
            raise KafkaConfigError(
                f"The values have no field {AFTER!r} with the columns of a table, so they are not "
                "Debezium's envelope. Heartbeats, schema changes, transactions and messages have "
                "topics of their own: leave them out. Events that are flattened already "
                "(ExtractNewRecordState) need no option envelope."
            )
        return default_type(ConnectType(after, given.semantics), (AFTER,))

    @cached_property
    def _key_type(self) -> pa.DataType | None:
        if self._key is None:
            return pa.binary()
        given = self._given(self._key)
        if given is None:
            return None
        if not pa.types.is_struct(given.type):
            raise KafkaConfigError(
                f"The keys are {given.type}, and no struct as Debezium's: set key.format to raw."
            )
        return given.type if self._is_row(self._key) else default_type(given)

    def _is_row(self, payload: PayloadOptions) -> bool:
        """Whether the schema of a column is a DDL: it names the types that are wanted."""
        schemas = self._query.schemas_of(payload)
        is_json = payload.format is Format.JSON and schemas.are_known
        return is_json and is_ddl(only_schema(payload, schemas.latest).schema.text)

    def _given(self, payload: PayloadOptions) -> ConnectType | None:
        """The type of a column's payloads, by its latest schema; None if there is no schema."""
        schemas = self._query.schemas_of(payload)
        if payload.format is Format.JSON and not schemas.are_known:
            return None
        try:
            return _type_in(payload, only_schema(payload, schemas.latest).schema)
        except SchemaError as error:
            raise KafkaConfigError(f"The {payload.column}s cannot be read: {error}") from error

    def _requested_key(
        self, row: pa.StructType | None, keys: Sequence[pa.StructType]
    ) -> tuple[pa.StructType | None, tuple[str, ...]]:
        """The fields of keys to decode: wanted ones, and columns of the table that keys have."""
        if self._key is None:
            return None, ()
        wanted = {field.name: field.type for each in keys for field in each}
        known = self._key_type
        columns = {} if row is None else {field.name: field.type for field in row}
        if known is not None:
            columns = {name: columns[name] for name in columns if _part(known, name) is not None}
        for name, each in columns.items():
            _check_one_type(name, each, wanted.setdefault(name, each), "in keys")
        return (pa.struct([*wanted.items()]) if wanted else None), tuple(columns)

    def _format(self, payload: PayloadOptions, wanted: Requested[P]) -> ColumnFormat:
        if payload.format is not Format.JSON:
            return self._with_schemas(payload, wanted)
        documents = self._documents(payload, wanted)
        schemas = self._query.schemas_of(payload)
        if not schemas.are_known:
            return ColumnFormat(payload.framing, wanted.type, documents)
        known = only_schema(payload, schemas.latest)
        # Documents are read whole, as their fields have names.
        part = _type_in(payload, known.schema).type
        return self._query.column_format(payload, known, wanted.type, documents, part)

    def _with_schemas(self, payload: PayloadOptions, wanted: Requested[P]) -> ColumnFormat:
        format_ = FORMATS[payload.format]

        def payload_type_in(schema: SchemaText) -> pa.DataType:
            given = _type_in(payload, schema)
            to = wanted.plan(Planner(given.semantics, self._assumed), given).payload
            format_.check_part(schema, to)
            return to

        known = newest_schema(payload, self._query.schemas_of(payload), payload_type_in)
        schema, part = known.schema, payload_type_in(known.schema)
        writers = self._query.writers(payload)
        decoders = EventDecoderFactory(
            format_.decoder_factory(schema, part, writers),
            _type_in(payload, schema),
            wanted,
            self._assumed,
            None if writers is None else WriterSchemas(writers, format_, schema, part),
        )
        return self._query.column_format(payload, known, wanted.type, decoders, part)

    def _documents(self, payload: PayloadOptions, wanted: Requested[P]) -> DecoderFactory:
        given = None if self._is_row(payload) else self._given(payload)
        try:
            without_schema = wanted.payload(self._assumed)
            FORMATS[payload.format].schema_to_read(without_schema)
            if given is not None:
                planner = Planner(given.semantics, self._assumed, is_checked=False)
                wanted.plan(planner, given)
        except SchemaError as error:
            raise KafkaConfigError(f"The {payload.column}s cannot be read: {error}") from error
        return DocumentDecoderFactory(given, wanted, self._assumed)


def _types_from(origin: Origin, columns: Mapping[str, Column]) -> dict[str, pa.DataType]:
    """The types of the columns of an origin, by their names there."""
    return {each.name: each.type for each in columns.values() if each.origin is origin}


def _type_in(payload: PayloadOptions, schema: SchemaText) -> ConnectType:
    if payload.format is Format.JSON and is_connect_schema(schema.text):
        return connect_type(schema.text)
    return connect_type_of(FORMATS[payload.format], schema)


def _check_one_type(name: str, wanted: pa.DataType, other: pa.DataType, where: str) -> None:
    if wanted != other:
        raise KafkaConfigError(
            f"Column '{name}' is wanted as {wanted}, and {where} as {other}: name one type for "
            "both."
        )


def _part(given: pa.DataType, name: str) -> pa.DataType | None:
    if not pa.types.is_struct(given) or given.get_field_index(name) < 0:
        return None
    return given.field(name).type
