"""The record types of a Protobuf schema: the messages of its file that are in no other.

Source: Confluent's "Wire format" and "Multiple event types in the same topic".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import bounds_of, data_of
from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.payload.format import RecordTypes, SchemaById
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.indexes import CONFLUENT, GLUE, Index, IndexStyle, index_in_header
from kafka_formats.protobuf.proto_text import messages_of
from kafka_formats.schema_ids.frames import GlueVersion, InHeader, Longs, SchemaId

_FIRST: Final[Index] = (0,)


def record_types(schema: SchemaText, subject: str) -> Mapping[str, SchemaText]:
    """Full name -> the schema of each record type, with its message named.

    A subject by the name of a message has that one only, as RecordNameStrategy and
    TopicRecordNameStrategy name it.

    Raises:
        SchemaError: The schema is invalid, or has no message.
    """
    names = [name for place, name in messages_of(schema).items() if len(place) == 1]
    own = [name for name in names if subject == name or subject.endswith(f"-{name}")]
    if not names:
        raise SchemaError("it has no message")
    return {name: replace(schema, message=name) for name in own or names}


def types_in(schema_id: SchemaId, schema_by_id: SchemaById) -> RecordTypes:
    """The record types of the payloads with an id: one if the message index is in the header.

    Raises:
        SchemaError: There is no such schema, or its header has no index of a message.
    """
    if isinstance(schema_id, InHeader):
        index = index_in_header(schema_id.suffix)
        name = messages_of(schema_by_id(schema_id.schema_id)).get(index)
        if name is None:
            raise SchemaError(f"it has no message with the index {list(index)}")
        return RecordTypes([name])
    style = GLUE if isinstance(schema_id, GlueVersion) else CONFLUENT
    messages = style.by_index(messages_of(schema_by_id(schema_id)))
    places = {index: place for place, index in enumerate(messages)}
    return RecordTypes([*messages.values()], _Numbers(places, style))


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Reads message indexes.

    Attributes:
        places: Index -> the place of its message among the messages of the schema.
        style: How indexes are written.
    """

    places: Mapping[Index, int]
    style: IndexStyle

    def of(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Longs:
        """-1 for an index that is cut off, or that the schema does not have."""
        at, end = bounds_of(payloads)[:-1] + skipped_bytes, bounds_of(payloads)[1:]
        # Nearly all payloads have the short index of the first message.
        is_first = (data_of(payloads).take(at, mode="clip") == 0) & (at < end) & (skipped_bytes > 0)
        number = np.full(len(payloads), self.places.get(_FIRST, -1), dtype=np.int64)
        for row in np.flatnonzero(~is_first).tolist():
            number[row] = self._number_or_none(payloads[row].as_py(), skipped_bytes)
        return number

    def _number_or_none(self, payload: bytes, start: int) -> int:
        try:
            # Without bytes before it, the id is in a header, without an index.
            return self.number_in(payload[start:]) if start else -1
        except PayloadError:
            return -1

    def number_in(self, payload: bytes) -> int:
        """The place of the message whose index is before it.

        Raises:
            PayloadError: The index is cut off, or the schema does not have it.
        """
        index, _ = self.style.read(payload, 0)
        if index not in self.places:
            raise PayloadError("", f"its schema has no message with the index {list(index)}")
        return self.places[index]
