"""`PayloadFormat`: the tasks of a format with schemas and payloads.

Values only. Whatever is pickled with tasks is a decoder or an encoder, not the format.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_formats.connect.semantics import Semantics
from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.payload.schema_text import SchemaFile, SchemaText
from kafka_formats.payload.type_changes import Loss
from kafka_formats.schema_ids.frames import Longs, SchemaId

Bools: TypeAlias = npt.NDArray[np.bool_]


class Values(NamedTuple):
    """The values of payloads.

    Attributes:
        values: Null where a payload is null, any value where it is broken.
        is_broken: Whether each payload does not have its schema.
    """

    values: pa.Array
    is_broken: Bools


class TypeNumbers(Protocol):
    """Finds the types of payloads whose schema has several."""

    def of(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Longs:
        """The place of each payload's type among the types of the schema; -1 without a type."""

    def number_in(self, payload: bytes) -> int:
        """The place of the type of a payload without its frame.

        Raises:
            PayloadError: It has none.
        """


class RecordTypes(NamedTuple):
    """The record types of the payloads of one schema.

    Attributes:
        names: Full names; None stands for null.
        numbers: Finds the type of each payload; None if all have the first.
    """

    names: Sequence[str | None]
    numbers: TypeNumbers | None = None


class PayloadDecoder(Protocol):
    """Decodes the payloads of one schema."""

    def decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        """Decode payloads after frames of one size."""

    def explain(self, payload: bytes) -> PayloadError:
        """The fault in a broken payload, without its frame."""


class DecoderFactory(Protocol):
    """The decoders of a column's payloads, one for each schema. It is pickled with tasks."""

    def for_schema(self, schema_id: SchemaId) -> PayloadDecoder:
        """The decoder of the payloads of a schema.

        Raises:
            SchemaError: There is no such schema, or it cannot be read as wanted.
        """


class PayloadEncoder(Protocol):
    """Encodes values with one schema. It is pickled with tasks."""

    def encode(self, values: pa.Array) -> pa.BinaryArray:
        """Encode values without nulls, one payload each.

        Raises:
            PayloadError: A value does not fit.
            SchemaError: The schema is invalid, or the type does not fit it.
        """

    def check(self, data_type: pa.DataType) -> None:
        """Check that values of a type can be written. Nulls are not checked.

        Raises:
            SchemaError: They cannot. Names the field.
        """


# The schema with an id; raises SchemaError if there is none.
SchemaById: TypeAlias = Callable[[SchemaId], SchemaText]


class PayloadFormat(ABC):
    """A format. All methods raise SchemaError for a schema that is invalid or not supported.

    Attributes:
        needs_written_schema: Whether payloads are decoded with the schema that they were written
            with.
        finds_fields_by_name: Whether a field of a payload is one of its name; else schemas may give
            the number of one field to another, which `losses` finds.
    """

    needs_written_schema: ClassVar[bool] = True
    finds_fields_by_name: ClassVar[bool] = True

    @abstractmethod
    def name_of(self, schema: SchemaText) -> str:
        """The full name of the type that a schema defines; empty if it has no name."""

    @abstractmethod
    def type_of(self, schema: SchemaText) -> pa.DataType:
        """The Arrow type of the values of a schema."""

    @abstractmethod
    def check_part(self, schema: SchemaText, wanted: pa.DataType) -> None:
        """Check that a type equals a schema's type, or has some of the fields of its structs.

        Raises:
            SchemaError: It is another one. Names the field.
        """

    @abstractmethod
    def decoder_factory(
        self, schema: SchemaText, wanted: pa.DataType, schema_by_id: SchemaById | None
    ) -> DecoderFactory:
        """The decoders of payloads of several schemas, as a part of one.

        Args:
            schema: The schema to read as.
            wanted: The type to read as: all of the schema, or a part.
            schema_by_id: Finds the others. None where payloads have no frames, and all have
                `schema`.
        """

    @abstractmethod
    def losses(
        self, written: SchemaText, schema: SchemaText, wanted: pa.DataType
    ) -> Iterator[Loss]:
        """The values of a schema that are not read as they were written.

        Args:
            written: The schema of payloads.
            schema: The schema to read as.
            wanted: The type to read as: all of `schema`, or a part. Other parts do not count.
        """

    @abstractmethod
    def encoder(self, schema: SchemaText) -> PayloadEncoder:
        """The encoder of a schema's payloads."""

    @abstractmethod
    def derive(self, data_type: pa.DataType) -> SchemaText:
        """The schema to write a column with that has no schema."""

    @staticmethod
    def semantics_of(schema: SchemaText) -> Semantics:  # noqa: ARG004
        """Kafka Connect's semantic types in a schema. Tasks call it, too."""
        return {}

    def schema_to_read(self, wanted: pa.DataType) -> SchemaText | None:  # noqa: ARG002
        """A schema made from the wanted type, if payloads name their fields.

        None if the user has to give a schema.
        """
        return None

    def record_types(self, schema: SchemaText, subject: str) -> Mapping[str, SchemaText]:  # noqa: ARG002
        """Full name -> the schema of each record type of a subject's schema."""
        name = self.name_of(schema)
        if not name:
            raise SchemaError("it has no name, and a record type needs one")
        return {name: schema}

    def types_of_members(self, schema: SchemaText) -> Mapping[str, Sequence[str]]:  # noqa: ARG002
        """Path of a struct whose fields have no names in the schema -> the types of these fields.

        The names are made by their order, which a new version may change.
        """
        return {}

    def types_in(self, schema_id: SchemaId, schema_by_id: SchemaById) -> RecordTypes:
        """The record types of the payloads with an id."""
        return RecordTypes([*self.record_types(schema_by_id(schema_id), "")])

    def null_payloads(
        self,
        schema: SchemaText | None,  # noqa: ARG002
        schema_by_id: SchemaById | None,  # noqa: ARG002
    ) -> tuple[Callable[[SchemaId], str | None], str] | None:
        """The form of payloads that stand for null; None if the format has no such payloads.

        Args:
            schema: The schema of payloads without frames; None if there is none.
            schema_by_id: Finds the schemas of others.

        Returns:
            A regular expression by the schema of a payload, or None for it; and a text that all of
            these payloads contain. As in `kafka_formats.payload.nulls`.
        """
        return None

    def frame_suffix(self, schema: SchemaText) -> bytes:  # noqa: ARG002
        """The bytes between the id of a schema and a payload."""
        return b""

    def files(self, schema: SchemaText) -> Sequence[SchemaFile]:
        """The files that a registry must have: imported ones, and the schema itself as the last."""
        return [SchemaFile("", schema.text)]
