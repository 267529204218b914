"""Protobuf as one of the formats.

The libraries are an extra, and are imported when the format is used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pyarrow as pa

from kafka_formats.errors import SchemaError
from kafka_formats.payload.format import (
    DecoderFactory,
    PayloadEncoder,
    PayloadFormat,
    RecordTypes,
    SchemaById,
)
from kafka_formats.payload.schema_text import SchemaFile, SchemaText
from kafka_formats.payload.type_changes import Loss
from kafka_formats.schema_ids.frames import SchemaId


def _require() -> None:
    if importlib.util.find_spec("google") is None or (
        importlib.util.find_spec("google.protobuf") is None
    ):
        raise SchemaError(
            "Protobuf needs the library protobuf: pip install 'pyspark-pykafka[protobuf]'"
        )


class ProtobufFormat(PayloadFormat):
    """Payloads number their fields; of the schema that one was written with the names count."""

    finds_fields_by_name: ClassVar[bool] = False

    def name_of(self, schema: SchemaText) -> str:
        """The full name of the message."""
        _require()
        from kafka_formats.protobuf.descriptors import name_in

        return name_in(schema)

    def type_of(self, schema: SchemaText) -> pa.DataType:
        """As Spark's `from_protobuf` shows it."""
        _require()
        from kafka_formats.protobuf.descriptors import message_in
        from kafka_formats.protobuf.types import message_type

        return message_type(message_in(schema))

    def check_part(self, schema: SchemaText, wanted: pa.DataType) -> None:
        """Raise SchemaError unless the message has the wanted fields."""
        _require()
        from kafka_formats.protobuf.descriptors import message_in
        from kafka_formats.protobuf.plan import plan_for

        plan_for(message_in(schema), wanted)

    def decoder_factory(
        self, schema: SchemaText, wanted: pa.DataType, schema_by_id: SchemaById | None
    ) -> DecoderFactory:
        """With the message that is named, or the first one."""
        _require()
        from kafka_formats.protobuf.decoder import factory_for

        return factory_for(schema, wanted, schema_by_id)

    def losses(
        self, written: SchemaText, schema: SchemaText, wanted: pa.DataType
    ) -> Iterator[Loss]:
        """The losses of the fields that have the numbers of wanted fields."""
        _require()
        from kafka_formats.protobuf.descriptors import message_in
        from kafka_formats.protobuf.losses import losses
        from kafka_formats.protobuf.plan import plan_for

        message = message_in(schema)
        return losses(message_in(written), message, plan_for(message, wanted))

    def encoder(self, schema: SchemaText) -> PayloadEncoder:
        """With the message that is named, or the first one."""
        _require()
        from kafka_formats.protobuf.encoder import encoder_of

        return encoder_of(schema)

    def record_types(self, schema: SchemaText, subject: str) -> Mapping[str, SchemaText]:
        """The messages of its file that are in no other, or the one that the subject names."""
        _require()
        from kafka_formats.protobuf.record_types import record_types

        return record_types(schema, subject)

    def types_in(self, schema_id: SchemaId, schema_by_id: SchemaById) -> RecordTypes:
        """The messages of the written schema, by their index."""
        _require()
        from kafka_formats.protobuf.record_types import types_in

        return types_in(schema_id, schema_by_id)

    def derive(self, data_type: pa.DataType) -> SchemaText:  # noqa: ARG002
        """Always an error."""
        raise SchemaError(
            "a Protobuf schema is not made from a column, as the numbers of its fields would "
            "change with their order: give the schema"
        )

    def frame_suffix(self, schema: SchemaText) -> bytes:
        """The message index."""
        _require()
        from kafka_formats.protobuf.descriptors import name_in, place_of
        from kafka_formats.protobuf.indexes import write_index

        return write_index(place_of(schema, name_in(schema)))

    def files(self, schema: SchemaText) -> Sequence[SchemaFile]:
        """The files of a descriptor set, except files that every registry knows."""
        _require()
        from kafka_formats.protobuf.descriptors import files_to_register

        return files_to_register(schema)
