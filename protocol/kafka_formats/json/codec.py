"""JSON as one of the formats."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_formats.codec import Codec
from kafka_formats.json.derive import derive_schema
from kafka_formats.json.reader import JsonReaders
from kafka_formats.json.schema import check_part, name_of, type_of
from kafka_formats.json.writer import JsonWriter
from kafka_formats.schema_text import SchemaText


def _derive(data_type: pa.DataType) -> SchemaText:
    return SchemaText(derive_schema(data_type))


JSON: Final = Codec(name_of, type_of, check_part, JsonReaders, JsonWriter, _derive)
