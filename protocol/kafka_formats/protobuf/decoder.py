"""The decoder of Protobuf payloads, as the type that a query wants.

Payloads are parsed as the query's message, as Protobuf intends: fields are matched by their
numbers, and unknown ones are skipped. Only the message's name is compared
with the schema that a payload was written with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
from google.protobuf.message import DecodeError, Message

from kafka_formats.arrow.arrays import bounds_of, data_of
from kafka_formats.arrow.bytes_cursor import Cursor
from kafka_formats.errors import PayloadError
from kafka_formats.payload.columns import decode_present
from kafka_formats.payload.format import SchemaById, Values
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.decode import read
from kafka_formats.protobuf.decode_parsed import decode_parsed
from kafka_formats.protobuf.descriptors import files_of, message_of, name_in
from kafka_formats.protobuf.indexes import CONFLUENT, GLUE, Index, IndexStyle, index_in_header
from kafka_formats.protobuf.layout import Layout, layout_for
from kafka_formats.protobuf.plan import MessagePlan, plan_for
from kafka_formats.protobuf.proto_text import messages_of
from kafka_formats.protobuf.runtime import message_class, missing
from kafka_formats.schema_ids.frames import GlueVersion, InHeader, SchemaId
from kafka_protocol.columnar.arrays.arrow_memory import indices_of

# Only the runtime in Python raises others than the first one.
_ERRORS: Final = (DecodeError, LookupError, RecursionError, TypeError, ValueError)
# Before a reason: the name that the class has in the runtime.
_OWN_NAME: Final = re.compile(r"^Error parsing message with type '\w+'(?:: )?")
# Fewer payloads are parsed faster one by one.
_MANY: Final = 64
# The index of most payloads.
_FIRST: Final[Index] = (0,)


@dataclass(frozen=True, slots=True)
class MessageReader:
    """Parses payloads without frames as one message.

    Attributes:
        parsed: The class of the message.
        name: The name of the message.
        plan: The wanted fields.
        layout: To read many payloads at once; None if each has to be parsed.
    """

    parsed: type[Message]
    name: str
    plan: MessagePlan
    layout: Layout | None

    def parse(self, payload: bytes) -> Message:
        """Parse a payload.

        Raises:
            PayloadError: It does not have the message.
        """
        message = self.parsed()
        try:
            message.MergeFromString(payload)
        except _ERRORS as error:
            reason = _OWN_NAME.sub("", str(error))
            raise PayloadError("", f"it is not a {self.name}: {reason}") from error
        if not message.IsInitialized():
            names = ", ".join(missing(self.plan, message))
            raise PayloadError("", f"it lacks required fields: {names}")
        return message

    def values(self, messages: Sequence[Message | None]) -> Values:
        """The values of parsed messages; None is broken."""
        is_broken = np.array([each is None for each in messages], dtype=np.bool_)
        try:
            return Values(decode_parsed(self.plan, messages), is_broken)
        except PayloadError:
            # Some message has a value that its type has not: look at each.
            kept = [None if self.fault_in(each) else each for each in messages]
            is_broken = np.array([each is None for each in kept], dtype=np.bool_)
            return Values(decode_parsed(self.plan, kept), is_broken)

    def fault_in(self, message: Message | None) -> PayloadError | None:
        """Why a parsed message cannot be shown; None if it can."""
        try:
            decode_parsed(self.plan, [message])
        except PayloadError as error:
            return error
        return None


@dataclass(frozen=True, slots=True)
class ProtobufPayloadDecoder:
    """Decodes the payloads that were written with one schema.

    Attributes:
        message: Reads the message that a query wants.
        names: Index -> name of the messages of the schema. None where no message index
            is before payloads.
        index: The message index where a header has it; None where it is before each payload.
        style: How indexes are written.
    """

    message: MessageReader
    names: Mapping[Index, str] | None
    index: Index | None = None
    style: IndexStyle = CONFLUENT

    def decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        """Decode payloads after frames of one size."""
        return decode_present(payloads, lambda given: self._decode(given, skipped_bytes))

    def _decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        """Read many payloads at once, and parse unusual or damaged ones."""
        layout = self.message.layout
        if layout is None or len(payloads) < _MANY:
            return self._one_by_one(payloads, skipped_bytes)
        cursor = self._cursor(payloads, skipped_bytes)
        values = read(self.message.plan, layout, cursor)
        others = np.flatnonzero(cursor.is_broken)
        if not others.size:
            return Values(values, cursor.is_broken)
        parsed = self._one_by_one(payloads.take(indices_of(others)), skipped_bytes)
        is_broken = np.zeros(len(payloads), dtype=np.bool_)
        is_broken[others] = parsed.is_broken
        place = np.arange(len(payloads))
        place[others] = len(payloads) + np.arange(len(others))
        return Values(pa.concat_arrays([values, parsed.values]).take(indices_of(place)), is_broken)

    def _cursor(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Cursor:
        """A cursor over the messages; payloads of others are marked."""
        data, bounds = data_of(payloads), bounds_of(payloads)
        at, end = bounds[:-1] + skipped_bytes, bounds[1:]
        prefix = self._prefix(skipped_bytes)
        if prefix is None:
            return Cursor(data, end, end, np.ones(len(payloads), dtype=np.bool_))
        is_other = at + len(prefix) > end
        for byte in prefix:
            is_other |= data.take(at, mode="clip") != byte
            at = at + 1
        return Cursor(data, np.where(is_other, end, at), end, is_other)

    def _prefix(self, skipped_bytes: int) -> bytes | None:
        """The bytes between a frame and the message; None if no payload has the message."""
        if self.names is None:
            return b""
        place = next((each for each in self.names if self.names[each] == self.message.name), None)
        if place is None:
            return None
        if self.index is not None:
            return b"" if self.index == place else None
        # The id is in a header, without an index.
        return self.style.write(place) if skipped_bytes else None

    def _one_by_one(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        messages = [self._parsed_or_none(each, skipped_bytes) for each in payloads.to_pylist()]
        return self.message.values(messages)

    def explain(self, payload: bytes) -> PayloadError:
        """The fault in a broken payload."""
        try:
            fault = self.message.fault_in(self._parsed(payload, 0))
        except PayloadError as error:
            return error
        return fault or PayloadError("", "the header of its schema has no message index")

    def _parsed_or_none(self, payload: bytes, start: int) -> Message | None:
        if self.names is not None and self.index is None and not start:
            # The id is in a header, without an index.
            return None
        try:
            return self._parsed(payload, start)
        except PayloadError:
            return None

    def _parsed(self, payload: bytes, start: int) -> Message:
        if self.names is not None:
            if self.index is None:
                # Nearly all payloads have the short index of the first message.
                if payload[start : start + 1] == b"\x00":
                    index, start = _FIRST, start + 1
                else:
                    index, start = self.style.read(payload, start)
            else:
                index = self.index
            self._check(index)
        return self.message.parse(payload[start:] if start else payload)

    def _check(self, index: Index) -> None:
        name = (self.names or {}).get(index)
        if name == self.message.name:
            return
        if name is None:
            raise PayloadError("", f"its schema has no message with the index {list(index)}")
        raise PayloadError("", f"it is a {name}, not a {self.message.name}")


@lru_cache(maxsize=100)
def message_reader(files: bytes, name: str, wanted: pa.DataType) -> MessageReader:
    """The reader of a message, made once for a process.

    Raises:
        SchemaError: The message does not have the wanted fields.
    """
    message = message_of(files, name)
    plan = plan_for(message, wanted)
    parsed = message_class(message, plan)
    return MessageReader(parsed, name, plan, layout_for(message, plan))


@dataclass(frozen=True, slots=True)
class ProtobufDecoderFactory:
    """The decoders of payloads of several schemas, as one type. It is pickled with tasks.

    Attributes:
        files: The compiled files of the schema to read as.
        name: The message to read as.
        wanted: The type to read as: all of the message, or a part.
        schema_by_id: Finds the schemas of payloads. None where payloads have no frames, and all
            have the schema to read as.
    """

    files: bytes
    name: str
    wanted: pa.DataType
    schema_by_id: SchemaById | None

    def for_schema(self, schema_id: SchemaId) -> ProtobufPayloadDecoder:
        """The decoder of the payloads of a schema.

        Raises:
            SchemaError: There is no such schema.
        """
        message = message_reader(self.files, self.name, self.wanted)
        if self.schema_by_id is None:
            return ProtobufPayloadDecoder(message, None)
        if isinstance(schema_id, InHeader):
            names = messages_of(self.schema_by_id(schema_id.schema_id))
            return ProtobufPayloadDecoder(message, names, index_in_header(schema_id.suffix))
        if isinstance(schema_id, GlueVersion):
            names = GLUE.by_index(messages_of(self.schema_by_id(schema_id)))
            return ProtobufPayloadDecoder(message, names, style=GLUE)
        return ProtobufPayloadDecoder(message, messages_of(self.schema_by_id(schema_id)))


def factory_for(
    schema: SchemaText, wanted: pa.DataType, schema_by_id: SchemaById | None
) -> ProtobufDecoderFactory:
    """The decoders of a schema's payloads, compiled on the driver.

    Raises:
        SchemaError: The schema is invalid, or does not have the wanted fields.
    """
    return ProtobufDecoderFactory(files_of(schema), name_in(schema), wanted, schema_by_id)
