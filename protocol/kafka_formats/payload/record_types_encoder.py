"""A struct with a member for each record type -> payloads, each with the schema of its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import fields_of
from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.payload.column_encoder import ColumnEncoder, encode_column
from kafka_formats.payload.record_types import TYPE_FIELD
from kafka_protocol.columnar.arrays.arrow_memory import indices_of, is_valid


class WrittenType(NamedTuple):
    """A record type to write: its full name, and how to encode its member with the frame."""

    name: str
    encoder: ColumnEncoder


@dataclass(frozen=True, slots=True)
class RecordTypesEncoder:
    """Encodes values of which exactly one member is not null. It is pickled with tasks.

    Attributes:
        types: Name of the member -> its type.
    """

    types: Mapping[str, WrittenType]

    def encode(self, values: pa.StructArray) -> pa.BinaryArray:
        """Encode values without nulls, one payload with its frame each.

        Raises:
            PayloadError: A value has no member or several, or its TYPE_FIELD names another one.
            SchemaError: The type of a member does not fit its schema.
        """
        self._check_names(values.type)
        columns = fields_of(values)
        said = columns.pop(TYPE_FIELD, None)
        given = {name: is_valid(column) for name, column in columns.items()}
        count = np.zeros(len(values), dtype=np.int64)
        for each in given.values():
            count += each
        if (count != 1).any():
            wrong = int(count[count != 1][0])
            raise PayloadError("", f"{wrong or 'no'} members of a value are not null: give one")
        pieces, rows = [], []
        for name, column in columns.items():
            if not given[name].any():
                continue
            own = indices_of(given[name].nonzero()[0])
            if said is not None:
                self._check_said(said.take(own), name)
            pieces.append(encode_column(column.take(own), self.types[name].encoder, name))
            rows.append(np.flatnonzero(given[name]))
        if not pieces:
            return pa.array([], pa.binary())
        place = np.argsort(np.concatenate(rows))
        return pa.concat_arrays(pieces).take(indices_of(place))

    def _check_said(self, said: pa.StringArray, member: str) -> None:
        name = self.types[member].name
        if said.null_count or pc.any(pc.not_equal(said, pa.scalar(name))).as_py():
            raise PayloadError(
                TYPE_FIELD, f"it is not {name!r}, whose member {member!r} is not null"
            )

    def check(self, data_type: pa.DataType) -> None:
        """Check that values of a type can be written.

        Raises:
            SchemaError: It is not a struct of record types, or a member does not fit its schema.
        """
        self._check_names(data_type)
        for field in data_type:
            if field.name != TYPE_FIELD:
                try:
                    self.types[field.name].encoder.payloads.check(field.type)
                except SchemaError as error:
                    raise SchemaError(f"the record type {field.name!r}: {error}") from error

    def _check_names(self, data_type: pa.DataType) -> None:
        names = [field.name for field in data_type] if pa.types.is_struct(data_type) else []
        if twice := [name for name in names if names.count(name) > 1]:
            raise SchemaError(f"the field {twice[0]!r} is there twice: name it once")
        if TYPE_FIELD in names and not _is_text(data_type.field(TYPE_FIELD).type):
            raise SchemaError(f"the field {TYPE_FIELD} is not a string")
        others = [name for name in names if name not in {*self.types, TYPE_FIELD}]
        if others or not {*names} - {TYPE_FIELD}:
            given = f"the field {others[0]!r}" if others else str(data_type)
            raise SchemaError(
                f"{given} is not one of the record types: the column is a struct of some of "
                f"{', '.join(self.types)}"
            )


def _is_text(data_type: pa.DataType) -> bool:
    if pa.types.is_dictionary(data_type):
        return _is_text(data_type.value_type)
    return bool(pa.types.is_string(data_type) or pa.types.is_large_string(data_type))
