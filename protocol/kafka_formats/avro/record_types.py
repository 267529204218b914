"""The record types of an Avro schema: itself, or the types of a union.

Source: Apache Avro 1.12, "Unions"; Confluent's "Multiple event types in the same topic".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import bounds_of, data_of
from kafka_formats.arrow.bytes_cursor import Cursor
from kafka_formats.avro.schema import Array, Map, Schema, Union, kind_of, parsed
from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.payload.format import RecordTypes
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.schema_ids.frames import Longs
from kafka_protocol.columnar.arrays.slices import varint_array


def record_types(schema: SchemaText) -> Mapping[str, SchemaText]:
    """Full name -> the schema of each record type: itself, or the types of a union except null.

    Raises:
        SchemaError: The schema is invalid, or a type has no name.
    """
    tree = parsed(schema)
    if not isinstance(tree, Union):
        return {_name_of(tree): schema}
    names = [_name_of(each) for each in tree.branches if kind_of(each) != "null"]
    return {name: replace(schema, message=name) for name in names}


def types_in(writer: SchemaText) -> RecordTypes:
    """The record types of a writer's payloads.

    Raises:
        SchemaError: The schema is invalid, or a type has no name.
    """
    tree = parsed(writer)
    if not isinstance(tree, Union):
        return RecordTypes([_name_of(tree)])
    names = [None if kind_of(each) == "null" else _name_of(each) for each in tree.branches]
    return RecordTypes(names, _Numbers(len(names)))


def number_of(schema: SchemaText) -> bytes:
    """What is before a value of a type of a union: its number; nothing before other values."""
    if schema.message is None:
        return b""
    union = parsed(replace(schema, message=None))
    if not isinstance(union, Union):
        return b""
    place = [kind_of(each) for each in union.branches].index(schema.message)
    return bytes(varint_array(np.array([place]))[0].as_py())


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Reads the number of a union's type, which is before its value."""

    count: int

    def of(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Longs:
        """-1 for a number that the union does not have."""
        bounds = bounds_of(payloads)
        is_broken = np.zeros(len(payloads), dtype=np.bool_)
        cursor = Cursor(data_of(payloads), bounds[:-1] + skipped_bytes, bounds[1:], is_broken)
        number = cursor.longs()
        # It reads beyond payloads that are cut off.
        cursor.fail(cursor.at > cursor.end)
        return np.where(cursor.is_broken | (number < 0) | (number >= self.count), -1, number)

    def number_in(self, payload: bytes) -> int:
        """The number before a value.

        Raises:
            PayloadError: The union does not have it.
        """
        number = int(self.of(pa.array([payload], pa.binary()), 0)[0])
        if number < 0:
            raise PayloadError(
                "",
                f"it does not begin with the number of one of {self.count} types, but with "
                f"'{payload[:2].hex(' ')}'",
            )
        return number


def _name_of(schema: Schema) -> str:
    if isinstance(schema, Array | Map | Union):
        raise SchemaError(f"the record type {kind_of(schema)} has no name")
    return schema.name
