"""Avro as one of the formats."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_formats.avro.derive import derive_schema
from kafka_formats.avro.projection import project
from kafka_formats.avro.reader import AvroReaders, parsed
from kafka_formats.avro.types import arrow_type
from kafka_formats.avro.writer import AvroWriter
from kafka_formats.codec import Codec
from kafka_formats.schema_text import SchemaText


def _name_of(schema: SchemaText) -> str:
    return str(getattr(parsed(schema), "name", ""))


def _type_of(schema: SchemaText) -> pa.DataType:
    return arrow_type(parsed(schema))


def _check_part(schema: SchemaText, wanted: pa.DataType) -> None:
    project(parsed(schema), wanted)


def _derive(data_type: pa.DataType) -> SchemaText:
    return SchemaText(derive_schema(data_type))


AVRO: Final = Codec(_name_of, _type_of, _check_part, AvroReaders, AvroWriter, _derive)
