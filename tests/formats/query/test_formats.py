"""Each format has its class, and what distinguishes them is theirs."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_formats.errors import SchemaError
from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaFile, SchemaText
from kafka_formats.query.formats import FORMATS

TYPE = pa.struct([("id", pa.int64())])
NEEDS_NO_SCHEMA = {Format.JSON}


def test_each_format_but_raw_has_a_class() -> None:
    assert FORMATS.keys() == {*Format} - {Format.RAW}


@pytest.mark.parametrize("format_", FORMATS)
def test_only_payloads_that_name_their_fields_need_no_schema(format_: Format) -> None:
    schema = FORMATS[format_].schema_to_read(TYPE)
    assert (schema is not None) == (format_ in NEEDS_NO_SCHEMA)
    assert FORMATS[format_].needs_written_schema == (format_ not in NEEDS_NO_SCHEMA)


@pytest.mark.parametrize("format_", [Format.AVRO, Format.JSON])
def test_a_derived_schema_has_the_type(format_: Format) -> None:
    found = FORMATS[format_]
    schema = found.derive(TYPE)
    assert found.type_of(schema) == TYPE
    assert found.frame_suffix(schema) == b""
    assert found.files(schema) == [SchemaFile("", schema.text)]
    assert found.encoder(schema).encode(pa.array([{"id": 5}], TYPE)).null_count == 0


def test_protobuf_derives_no_schema_and_frames_its_message() -> None:
    protobuf = FORMATS[Format.PROTOBUF]
    with pytest.raises(SchemaError, match="the numbers of its fields would change"):
        protobuf.derive(TYPE)
    text = 'syntax="proto3"; message A {} message Order { int64 id = 1; }'
    assert protobuf.frame_suffix(SchemaText(text, message="Order")) == b"\x02\x02"
