"""JSON as one of the formats."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_formats.codec import Codec, WriterOf
from kafka_formats.json.ddl import to_ddl
from kafka_formats.json.derive import derive_schema
from kafka_formats.json.reader import JsonReaders
from kafka_formats.json.schema import check_part, name_of, type_of
from kafka_formats.json.writer import JsonWriter
from kafka_formats.schema_text import SchemaText


def _readers(_schema: SchemaText, wanted: pa.DataType, _writer_of: WriterOf | None) -> JsonReaders:
    return JsonReaders(wanted)


def _derive(data_type: pa.DataType) -> SchemaText:
    return SchemaText(derive_schema(data_type))


def _schema_of(wanted: pa.DataType) -> SchemaText:
    return SchemaText(to_ddl(wanted))


JSON: Final = Codec(
    *(name_of, type_of, check_part, _readers, JsonWriter, _derive),
    needs_writer=False,
    schema_of=_schema_of,
)
