"""The record types of a Protobuf schema: the messages of its file that are in no other.

Source: Confluent's "Wire format" and "Multiple event types in the same topic".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
from kafka_protocol.columnar.arrays.arrow_memory import indices_of

_FIRST: Final[Index] = (0,)
# A context of Confluent's registry, before the name of a subject.
_CONTEXT: Final = re.compile(r"^:\.[^:]*:")
# Nearly all indexes have fewer bytes.
_SHORT: Final = 8


def record_types(schema: SchemaText, subject: str) -> Mapping[str, SchemaText]:
    """Full name -> the schema of each record type, with its message named.

    A subject by the name of a message, also of one within another, has that one only, as
    RecordNameStrategy and TopicRecordNameStrategy name it.

    Raises:
        SchemaError: The schema is invalid, or has no message.
    """
    messages = messages_of(schema)
    outer = [name for place, name in messages.items() if len(place) == 1]
    if not outer:
        raise SchemaError("it has no message")
    plain = _CONTEXT.sub("", subject)
    own = [name for name in messages.values() if _is_of(plain, name)]
    return {name: replace(schema, message=name) for name in own or outer}


def _is_of(subject: str, name: str) -> bool:
    """Whether a strategy names the subject by a message: `orders-value` is by the topic."""
    return subject == name or (subject.endswith(f"-{name}") and name not in {"key", "value"})


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
    if not messages:
        raise SchemaError("its schema has no message")
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
        others = np.flatnonzero(~is_first)
        number[others] = -1
        if skipped_bytes:
            # Without bytes before them, the id is in a header, without an index.
            given = payloads.take(indices_of(others)).to_pylist()
            number[others] = self._numbers([each[skipped_bytes:] for each in given])
        return number

    def _numbers(self, payloads: Sequence[bytes]) -> list[int]:
        """The place of each payload's message. The same first bytes are read once."""
        known = {start: self._or_none(start) for start in {each[:_SHORT] for each in payloads}}
        numbers = []
        for payload in payloads:
            number = known[payload[:_SHORT]]
            is_whole = number >= 0 or len(payload) <= _SHORT
            numbers.append(number if is_whole else self._or_none(payload))
        return numbers

    def _or_none(self, payload: bytes) -> int:
        try:
            return self.number_in(payload)
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
