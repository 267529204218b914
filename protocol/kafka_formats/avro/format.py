"""Avro as one of the formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from kafka_formats.arrow.types import passed_on
from kafka_formats.avro.connect import semantics_of
from kafka_formats.avro.decoder import AvroDecoderFactory
from kafka_formats.avro.derive import derive_schema
from kafka_formats.avro.encoder import AvroEncoder
from kafka_formats.avro.losses import losses
from kafka_formats.avro.members import types_of_members
from kafka_formats.avro.nulls import AvroNulls
from kafka_formats.avro.projection import project
from kafka_formats.avro.record_types import number_of, record_types, types_in
from kafka_formats.avro.schema import parsed
from kafka_formats.avro.types import arrow_type
from kafka_formats.connect.semantics import Semantics
from kafka_formats.payload.format import PayloadFormat, RecordTypes, SchemaById
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.payload.type_changes import Loss
from kafka_formats.schema_ids.frames import SchemaId


class AvroFormat(PayloadFormat):
    """Payloads name no fields: each is decoded with its writer's schema."""

    def name_of(self, schema: SchemaText) -> str:
        """The name of a record, enum or fixed type; empty for others."""
        return str(getattr(parsed(schema), "name", ""))

    def type_of(self, schema: SchemaText) -> pa.DataType:
        """As Spark's `from_avro` shows it."""
        return passed_on(arrow_type(parsed(schema)))

    def check_part(self, schema: SchemaText, wanted: pa.DataType) -> None:
        """Raise SchemaError unless the schema has the wanted fields."""
        project(parsed(schema), wanted)

    def decoder_factory(
        self, schema: SchemaText, wanted: pa.DataType, schema_by_id: SchemaById | None
    ) -> AvroDecoderFactory:
        """The decoders with `schema` as the reader's schema."""
        return AvroDecoderFactory(schema, wanted, schema_by_id)

    def losses(
        self, written: SchemaText, schema: SchemaText, wanted: pa.DataType
    ) -> Iterator[Loss]:
        """The losses for all values that the writer's schema allows."""
        return losses(parsed(written), project(parsed(schema), wanted))

    @staticmethod
    def semantics_of(schema: SchemaText) -> Semantics:
        """The names that Connect's converters leave in schemas."""
        return semantics_of(schema)

    def null_payloads(
        self, schema: SchemaText | None, schema_by_id: SchemaById | None
    ) -> tuple[Callable[[SchemaId], str | None], str]:
        """The payloads of null in a schema that is a union, or only null."""
        return AvroNulls(schema, schema_by_id), ""

    def record_types(self, schema: SchemaText, subject: str) -> Mapping[str, SchemaText]:  # noqa: ARG002
        """Itself, or the types of a union."""
        return record_types(schema)

    def types_of_members(self, schema: SchemaText) -> Mapping[str, Sequence[str]]:
        """The types of unions of several types, which are structs of `member0`, `member1`."""
        return dict(types_of_members(parsed(schema)))

    def types_in(self, schema_id: SchemaId, schema_by_id: SchemaById) -> RecordTypes:
        """The types of the writer's schema."""
        return types_in(schema_by_id(schema_id))

    def frame_suffix(self, schema: SchemaText) -> bytes:
        """The number of a union's type."""
        return number_of(schema)

    def encoder(self, schema: SchemaText) -> AvroEncoder:
        """The encoder with `schema` as the writer's schema."""
        return AvroEncoder(schema)

    def derive(self, data_type: pa.DataType) -> SchemaText:
        """A schema as Spark's `to_avro` makes it."""
        return SchemaText(derive_schema(data_type))
