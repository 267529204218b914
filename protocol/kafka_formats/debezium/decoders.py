"""Decoders of payloads of several schemas -> the types that a query wants of events and keys.

All of it is pickled with tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import pyarrow as pa

from kafka_formats.connect.plan import AssumedSemantics, ConnectPlan, Planner, payload_type
from kafka_formats.connect.semantics import ConnectType, Semantics, type_at
from kafka_formats.debezium.events import (
    AFTER,
    BEFORE,
    OF_MONGODB,
    OP,
    ROW,
    SOURCE,
    TS_MS,
    UNAVAILABLE,
    EventPayloadDecoder,
    EventPlan,
    KeyPayloadDecoder,
    KeyPlan,
)
from kafka_formats.debezium.placeholder import Placeholder
from kafka_formats.errors import SchemaError, named
from kafka_formats.json.connect_schema import connect_type
from kafka_formats.json.decoder import exact_decoder_for
from kafka_formats.payload.format import DecoderFactory, PayloadDecoder, PayloadFormat, SchemaById
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.schema_ids.frames import InPayload, SchemaId

P = TypeVar("P", EventPlan, KeyPlan)
_NAMES: Final = pa.list_(pa.field("element", pa.string()))


class Requested(Protocol[P]):
    """The wanted parts of a column of payloads. It is pickled with tasks."""

    @property
    def type(self) -> pa.DataType:
        """The type of the decoded values."""

    def payload(self, assumed: AssumedSemantics) -> pa.DataType:
        """The type of payloads without a schema, whose documents name their fields."""

    def plan(self, planner: Planner, given: ConnectType) -> P:
        """How payloads of a schema are read.

        Raises:
            SchemaError: They do not have what is wanted. Names the field.
        """

    def decoder(self, inner: PayloadDecoder, plan: P) -> PayloadDecoder:
        """The decoder of payloads, from one that reads them as `plan.payload`."""


@dataclass(frozen=True, slots=True)
class RequestedEvent:
    """The parts of events.

    Attributes:
        row: The columns of the table; None if no column of it is wanted.
        before: The columns of the row before the change; None if it is not wanted.
        ts_ms: Whether the time of the event is wanted.
        source: The type of the source; None if it is not wanted.
        placeholder: For values that are not available; None to leave them as they are.
    """

    row: pa.StructType | None
    before: pa.StructType | None
    ts_ms: bool
    source: pa.DataType | None
    placeholder: bytes | None

    @property
    def type(self) -> pa.StructType:
        """The type of the events."""
        fields = [pa.field(OP, pa.string())]
        if self.row is not None:
            fields.append(pa.field(ROW, self.row))
            fields += [pa.field(UNAVAILABLE, _NAMES)] if self.placeholder is not None else []
        fields += [] if self.before is None else [pa.field(BEFORE, self.before)]
        fields += [pa.field(TS_MS, pa.int64())] if self.ts_ms else []
        fields += [] if self.source is None else [pa.field(SOURCE, self.source)]
        return pa.struct(fields)

    def payload(self, assumed: AssumedSemantics) -> pa.StructType:
        """The envelope of the wanted columns."""
        fields = [pa.field(OP, pa.string()), pa.field(TS_MS, pa.int64())]
        before = [payload_type(each, assumed) for each in (self.row, self.before) if each]
        if before:
            fields.append(pa.field(BEFORE, _united(before)))
        if self.row is not None:
            fields.append(pa.field(AFTER, payload_type(self.row, assumed)))
        if self.source is not None:
            fields.append(pa.field(SOURCE, payload_type(self.source, assumed)))
        return pa.struct(fields)

    def decoder(self, inner: PayloadDecoder, plan: EventPlan) -> EventPayloadDecoder:
        """The decoder of envelopes."""
        placeholder = None if self.placeholder is None else Placeholder(self.placeholder)
        return EventPayloadDecoder(inner, plan, placeholder)

    def plan(self, planner: Planner, given: ConnectType) -> EventPlan:
        """How envelopes are read: the wanted part of them."""
        parts = _parts_of_envelope(given)
        # A document may have a part that its schema lacks.
        of_before = BEFORE if BEFORE in parts or planner.is_checked else AFTER

        def plan_of(name: str, wanted: pa.DataType) -> ConnectPlan:
            if name in parts or planner.is_checked:
                return planner.plan(_needed(parts, name), wanted, (name,))
            # A document need not have a part: it is null.
            return ConnectPlan(wanted, None)

        fields = {OP: pa.string()} | ({TS_MS: pa.int64()} if self.ts_ms else {})
        row = before = source = None
        rows_before: list[pa.StructType] = []
        if self.row is not None:
            fields[AFTER], row = plan_of(AFTER, self.row)
            written = (planner.writer or given).semantics
            differ = _columns_in(written, BEFORE, self.row) != _columns_in(written, AFTER, self.row)
            if BEFORE in parts and (differ or plan_of(BEFORE, self.row).type != fields[AFTER]):
                raise SchemaError("the fields before and after of the envelope differ in type")
            if BEFORE in parts or not planner.is_checked:
                rows_before.append(fields[AFTER])
        if self.before is not None:
            before = plan_of(of_before, self.before)
            rows_before.append(before.type)
        if rows_before:
            fields[BEFORE] = _united(rows_before)
        if self.source is not None:
            if SOURCE in parts and not planner.is_checked:
                parts[SOURCE] = _with_texts(parts[SOURCE], self.source)
            fields[SOURCE], source = plan_of(SOURCE, self.source)
        return EventPlan(pa.struct([*fields.items()]), row, before, source)


@dataclass(frozen=True, slots=True)
class RequestedKey:
    """The fields of keys."""

    type: pa.StructType

    def payload(self, assumed: AssumedSemantics) -> pa.DataType:
        """The fields as documents have them."""
        return payload_type(self.type, assumed)

    def plan(self, planner: Planner, given: ConnectType) -> KeyPlan:
        """How keys are read: the wanted fields."""
        payload, conversion = planner.plan(given.type, self.type)
        written = given.type if planner.writer is None else planner.writer.type
        missing = [each.name for each in self.type if type_at(written, (each.name,)) is None]
        return KeyPlan(payload, conversion, tuple(missing))

    def decoder(self, inner: PayloadDecoder, plan: KeyPlan) -> KeyPayloadDecoder:
        """The decoder of keys."""
        return KeyPayloadDecoder(inner, plan)


def connect_type_of(format_: PayloadFormat, schema: SchemaText) -> ConnectType:
    """The type of a schema's values, with Kafka Connect's semantic types.

    Raises:
        SchemaError: The schema is invalid, or not supported.
    """
    return ConnectType(format_.type_of(schema), format_.semantics_of(schema))


@dataclass(frozen=True, slots=True)
class WriterSchemas:
    """The schemas that payloads were written with, as types of Connect. It is pickled with tasks.

    Attributes:
        schema_by_id: Finds them.
        format: Their format.
        reader: The schema of the query.
        part: The wanted part of that.
    """

    schema_by_id: SchemaById
    format: PayloadFormat
    reader: SchemaText
    part: pa.DataType

    def type_of(self, schema_id: SchemaId) -> ConnectType:
        """The type of a schema.

        Raises:
            SchemaError: There is no such schema, or it has other numbers for fields.
        """
        written = self.schema_by_id(schema_id)
        if not self.format.finds_fields_by_name:
            self._check_numbers(written)
        return connect_type_of(self.format, written)

    def _check_numbers(self, written: SchemaText) -> None:
        """Converters number the columns in their order: a dropped one gives its number away."""
        loss = next(iter(self.format.losses(written, self.reader, self.part)), None)
        if loss is not None:
            raise SchemaError(f"{named(loss.path)} {loss.why()}")


@dataclass(frozen=True, slots=True)
class EventDecoderFactory(Generic[P]):
    """The decoders of events and keys that have schemas; for all formats.

    Attributes:
        inner: The format's decoders, as `payload` of the plan for the reader's schema.
        given: The reader's schema.
        wanted: What to read.
        assumed: The semantic types for parts that have none in the schemas.
        written: The schemas of writers; None: all payloads have the reader's.
    """

    inner: DecoderFactory
    given: ConnectType
    wanted: Requested[P]
    assumed: AssumedSemantics
    written: WriterSchemas | None

    def for_schema(self, schema_id: SchemaId) -> PayloadDecoder:
        """The decoder of the payloads of a schema.

        Raises:
            SchemaError: There is no such schema, or it does not fit the reader's.
        """
        inner = self.inner.for_schema(schema_id)
        writer = None if self.written is None else self.written.type_of(schema_id)
        planner = Planner(self.given.semantics, self.assumed, writer)
        return self.wanted.decoder(inner, self.wanted.plan(planner, self.given))


@dataclass(frozen=True, slots=True)
class DocumentDecoderFactory(Generic[P]):
    """The decoders of documents of JSON, which name their fields, and may have schemas in them.

    Attributes:
        given: The schema of documents without one; None if it is only what is wanted.
        wanted: What to read.
        assumed: The semantic types for parts that have none in the schemas.
    """

    given: ConnectType | None
    wanted: Requested[P]
    assumed: AssumedSemantics

    def for_schema(self, schema_id: SchemaId) -> PayloadDecoder:
        """The decoder of the payloads of a schema.

        Raises:
            SchemaError: The schema is invalid, or does not have the wanted types.
        """
        own = None
        if isinstance(schema_id, InPayload):
            own = connect_type(schema_id.text.decode("utf-8"))
        given = own or self.given or ConnectType(self.wanted.payload(self.assumed), {})
        reader = (self.given or given).semantics
        planner = Planner(reader, self.assumed, given, is_checked=False, implies=own is None)
        plan = self.wanted.plan(planner, given)
        return self.wanted.decoder(exact_decoder_for(plan.payload), plan)


def _columns_in(semantics: Semantics, part: str, row: pa.StructType) -> Semantics:
    """The semantic types of wanted columns in a part of envelopes."""
    names = {field.name for field in row}
    return {
        path[1:]: each
        for path, each in semantics.items()
        if len(path) > 1 and path[0] == part and path[1] in names
    }


def _with_texts(raw: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """The type of a source, with its numbers that are wanted as texts, which documents are read as.

    Connectors differ: Oracle's `txId` is a text, PostgreSQL's a number.
    """
    if not (pa.types.is_struct(raw) and pa.types.is_struct(wanted)):
        return raw
    texts = {each.name for each in wanted if each.type == pa.string()}
    return pa.struct(
        [
            pa.field(each.name, pa.string())
            if each.name in texts and pa.types.is_integer(each.type)
            else each
            for each in raw
        ]
    )


def _united(structs: Sequence[pa.StructType]) -> pa.StructType:
    """The fields of all structs, which have one type for a name."""
    return pa.struct([*{field.name: field.type for each in structs for field in each}.items()])


def _parts_of_envelope(given: ConnectType) -> dict[str, pa.DataType]:
    """The types of the parts of an envelope.

    Raises:
        SchemaError: It is none.
    """
    fields = given.type if pa.types.is_struct(given.type) else ()
    parts = {field.name: field.type for field in fields}
    _needed(parts, OP)
    if parts.get(AFTER) == pa.string():
        raise SchemaError(OF_MONGODB)
    return parts


def _needed(parts: Mapping[str, pa.DataType], name: str) -> pa.DataType:
    if name not in parts:
        raise SchemaError(
            f"it is not the schema of Debezium's envelope, as it has no field {name!r}: "
            "heartbeats, schema changes, transactions and messages have topics of their own, so "
            "leave this one out; events that are flattened already (ExtractNewRecordState) need no "
            "option envelope"
        )
    return parts[name]
