"""Payloads of several record types in one column: a struct with a member for each type.

The schema of a payload, which its id names, decides its type. No format and no registry enter here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import in_rows, with_type
from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.payload.format import Bools, DecoderFactory, PayloadDecoder, RecordTypes, Values
from kafka_formats.schema_ids.frames import Longs, SchemaId
from kafka_protocol.columnar.arrays.arrow_memory import (
    array_of,
    array_of_bools,
    indices_of,
    is_valid,
)

TYPE_FIELD: Final = "_type"
"""The field with the full name of a value's record type."""


class Member(NamedTuple):
    """A record type that a query knows.

    Attributes:
        place: The place of its member in the struct; None if it is not wanted, and is skipped.
        decoders: The decoders of its payloads; None without a place.
    """

    place: int | None = None
    decoders: DecoderFactory | None = None


@dataclass(frozen=True, slots=True)
class RecordTypesFactory:
    """The decoders of payloads of several record types. It is pickled with tasks.

    Attributes:
        type: The struct: TYPE_FIELD and members, all or some of them.
        members: Full name -> the type.
        option: The option that names the types, for errors.
        types_of: Finds the record types of a schema.
    """

    type: pa.StructType
    members: Mapping[str, Member]
    option: str
    types_of: Callable[[SchemaId], RecordTypes]

    def for_schema(self, schema_id: SchemaId) -> RecordTypesDecoder:
        """The decoder of the payloads of a schema.

        Raises:
            SchemaError: There is no such schema, or its only type is unknown or does not fit.
        """
        types = self.types_of(schema_id)
        readers = [self._reader(name, schema_id) for name in types.names]
        if types.numbers is None and isinstance(readers[0], SchemaError):
            raise readers[0]
        return RecordTypesDecoder(self.type, types, readers)

    def _reader(self, name: str | None, schema_id: SchemaId) -> _Reader:
        if name is None:
            return None
        member = self.members.get(name)
        if member is None:
            return SchemaError(
                f"the record type {name!r} is unknown: {self.option} names "
                f"{', '.join(self.members)}"
            )
        if member.place is None or member.decoders is None:
            return None
        try:
            return _Placed(member.place, member.decoders.for_schema(schema_id))
        except SchemaError as error:
            return error


class _Placed(NamedTuple):
    """Decodes the payloads of one type, to a place in the struct."""

    place: int
    decoder: PayloadDecoder


# None decodes nothing, and an error breaks all payloads of a type.
_Reader: TypeAlias = "_Placed | SchemaError | None"


@dataclass(frozen=True, slots=True)
class RecordTypesDecoder:
    """Decodes the payloads of one schema. `readers` are in the order of its types."""

    type: pa.StructType
    types: RecordTypes
    readers: Sequence[_Reader]

    def decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        """Decode payloads after frames of one size."""
        number = self._numbers(payloads, skipped_bytes)
        is_broken = number < 0
        is_null = np.array([name is None for name in self.types.names])[number] | is_broken
        columns: dict[int, pa.Array] = {}
        for place in np.unique(number[~is_broken]).tolist():
            is_own, reader = number == place, self.readers[place]
            if isinstance(reader, SchemaError):
                is_broken |= is_own
            elif reader is not None:
                own = payloads if is_own.all() else payloads.take(indices_of(is_own.nonzero()[0]))
                values, broken = reader.decoder.decode(own, skipped_bytes)
                is_broken[is_own] = broken
                # As the null of JSON.
                is_null[is_own] |= ~is_valid(values)
                values = with_type(values, self.type.field(reader.place).type)
                columns[reader.place] = values if own is payloads else in_rows(is_own, values)
        return Values(self._structs(number, columns, is_null), is_broken)

    def _numbers(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Longs:
        if self.types.numbers is None:
            return np.zeros(len(payloads), dtype=np.int64)
        return self.types.numbers.of(payloads, skipped_bytes)

    def _structs(
        self, number: Longs, columns: Mapping[int, pa.Array], is_null: Bools
    ) -> pa.StructArray:
        names = pa.array(self.types.names, pa.string())
        arrays = [
            names.take(array_of(np.where(is_null, 0, number), pa.int64(), is_null))
            if field.name == TYPE_FIELD
            else columns.get(place, pa.nulls(len(number), field.type))
            for place, field in enumerate(self.type)
        ]
        mask = array_of_bools(is_null)
        return pa.StructArray.from_arrays(arrays, fields=[*self.type], mask=mask)

    def explain(self, payload: bytes) -> PayloadError:
        """The fault in a broken payload."""
        try:
            number = 0 if self.types.numbers is None else self.types.numbers.number_in(payload)
        except PayloadError as error:
            return error
        reader = self.readers[number]
        if isinstance(reader, SchemaError):
            return PayloadError("", str(reader))
        if reader is None:
            return PayloadError("", "the header of its schema does not name its record type")
        return reader.decoder.explain(payload)
