"""Protobuf as one of the formats.

The libraries are an extra, and are imported when the format is used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from kafka_formats.codec import Codec, SchemaWriter, WriterOf
from kafka_formats.errors import SchemaError
from kafka_formats.payloads import ReaderOf
from kafka_formats.schema_text import SchemaFile, SchemaText


def _require() -> None:
    if importlib.util.find_spec("google") is None or (
        importlib.util.find_spec("google.protobuf") is None
    ):
        raise SchemaError(
            "Protobuf needs the library protobuf: pip install 'pyspark-pykafka[protobuf]'"
        )


def _name_of(schema: SchemaText) -> str:
    _require()
    from kafka_formats.protobuf.descriptors import name_in

    return name_in(schema)


def _type_of(schema: SchemaText) -> pa.DataType:
    _require()
    from kafka_formats.protobuf.descriptors import message_in
    from kafka_formats.protobuf.types import message_type

    return message_type(message_in(schema))


def _check_part(schema: SchemaText, wanted: pa.DataType) -> None:
    _require()
    from kafka_formats.protobuf.descriptors import message_in
    from kafka_formats.protobuf.plan import plan_for

    plan_for(message_in(schema), wanted)


def _readers(schema: SchemaText, wanted: pa.DataType, writer_of: WriterOf | None) -> ReaderOf:
    _require()
    from kafka_formats.protobuf.reader import readers_of

    return readers_of(schema, wanted, writer_of)


def _writer(schema: SchemaText) -> SchemaWriter:
    _require()
    from kafka_formats.protobuf.writer import writer_of

    return writer_of(schema)


def _derive(_data_type: pa.DataType) -> SchemaText:
    raise SchemaError(
        "a Protobuf schema is not made from a column, as the numbers of its fields would change "
        "with their order: give the schema"
    )


def _frame_suffix(schema: SchemaText) -> bytes:
    _require()
    from kafka_formats.protobuf.descriptors import name_in, place_of
    from kafka_formats.protobuf.indexes import write_index

    return write_index(place_of(schema, name_in(schema)))


def _files(schema: SchemaText) -> Sequence[SchemaFile]:
    _require()
    from kafka_formats.protobuf.files import files_to_register

    return files_to_register(schema)


PROTOBUF: Final = Codec(
    _name_of, _type_of, _check_part, _readers, _writer, _derive, _frame_suffix, _files
)
