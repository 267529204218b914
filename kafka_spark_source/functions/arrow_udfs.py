"""The functions of payloads as Arrow UDFs, which PySpark has since 4.1; `pandas_udfs` for 4.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from kafka_formats.arrow.types import passed_on
from kafka_formats.options.settings import Format
from kafka_formats.payload.column_encoder import encode_column
from kafka_formats.payload.column_reader import ColumnReader
from kafka_formats.payload.schema_text import descriptor_set_text
from kafka_formats.query.query_formats import QueryFormats
from kafka_formats.query.write import WrittenColumn, encoder_for
from kafka_spark_source.columns.arrow_types import to_spark
from kafka_spark_source.options.functions import (
    COLUMN,
    Arguments,
    parse_decoding,
    parse_encoding,
)
from kafka_spark_source.worker.errors import hide_traceback

if TYPE_CHECKING:
    from pyspark.sql import Column

_Options: TypeAlias = "Mapping[str, str] | None"
# None on PySpark 4.0.
_arrow_udf: Final = getattr(F, "arrow_udf", None)
if _arrow_udf is None:
    from kafka_spark_source.functions import pandas_udfs  # which needs pandas


def from_avro(
    data: Column | str,
    jsonFormatSchema: str | None = None,
    options: _Options = None,
    subject: str | None = None,
    schemaRegistryAddress: str | None = None,
) -> Column:
    """Decode payloads of Avro to the type of a schema, as `value.format` does.

    Args:
        data: A column of binary.
        jsonFormatSchema: The schema to read as: its text, a file on the driver, or `id:7`. Without
            it, the latest version of the subject.
        options: `mode`, FAILFAST (default) or PERMISSIVE, which returns null for a broken payload;
            and the registry's options, with `schema.registry.` before their names.
        subject: The registry's subject.
        schemaRegistryAddress: With it, each payload begins with Confluent's schema id; without it,
            all payloads have the given schema.

    Raises:
        KafkaError: A schema cannot be found, or an option cannot be used.
    """
    schemas = {"jsonFormatSchema": jsonFormatSchema}
    given = Arguments(Format.AVRO, schemas, None, subject, schemaRegistryAddress, options)
    return _decoded(data, given)


def to_avro(
    data: Column | str,
    jsonFormatSchema: str | None = None,
    subject: str | None = None,
    schemaRegistryAddress: str | None = None,
    options: _Options = None,
) -> Column:
    """Encode values as payloads of Avro, as `value.format` does.

    Args:
        data: A column of the schema's type; null for null.
        jsonFormatSchema: The schema: its text, a file on the driver, or `id:7`. Without it, the
            latest version of the subject.
        subject: The registry's subject.
        schemaRegistryAddress: With it, the id of the schema is written before each payload.
        options: `auto.register.schemas`, to register a given schema; and the registry's options.

    Raises:
        KafkaError: A schema cannot be found or registered, or an option cannot be used.
    """
    schemas = {"jsonFormatSchema": jsonFormatSchema}
    given = Arguments(Format.AVRO, schemas, None, subject, schemaRegistryAddress, options)
    return _encoded(data, given)


def from_protobuf(  # noqa: PLR0913 - as Databricks has them, and from_avro
    data: Column | str,
    messageName: str | None = None,
    descFilePath: str | None = None,
    options: _Options = None,
    binaryDescriptorSet: bytes | None = None,
    *,
    subject: str | None = None,
    schemaRegistryAddress: str | None = None,
) -> Column:
    """Decode payloads of Protobuf to the type of a message, as `value.format` does.

    Args:
        data: A column of binary.
        messageName: The message, by its full name or the end of it. Without it, the first one of
            the schema's file.
        descFilePath: The schema to read as: a file on the driver with a `FileDescriptorSet` or
            `.proto` text, that text, or `id:7`. Without it, the latest version of the subject.
        options: As for `from_avro`; also `schema.registry.subject`, `schema.registry.address` and
            `schema.registry.protobuf.name` in place of arguments.
        binaryDescriptorSet: A `FileDescriptorSet` in place of its file.
        subject: The registry's subject.
        schemaRegistryAddress: With it, each payload begins with Confluent's schema id and message
            index; without it, all payloads have the given message.

    Raises:
        KafkaError: A schema or a message cannot be found, or an option cannot be used.
    """
    schemas = _descriptors(descFilePath, binaryDescriptorSet)
    given = Arguments(
        Format.PROTOBUF, schemas, messageName, subject, schemaRegistryAddress, options
    )
    return _decoded(data, given)


def to_protobuf(  # noqa: PLR0913 - as Databricks has them, and from_avro
    data: Column | str,
    messageName: str | None = None,
    descFilePath: str | None = None,
    options: _Options = None,
    binaryDescriptorSet: bytes | None = None,
    *,
    subject: str | None = None,
    schemaRegistryAddress: str | None = None,
) -> Column:
    """Encode structs as payloads of Protobuf, as `value.format` does.

    Args:
        data: A column of structs, which may lack fields of the message; null for null.
        messageName: As for `from_protobuf`.
        descFilePath: The schema, as for `from_protobuf`. With a registry, `.proto` text or `id:7`.
        options: As for `to_avro`, and options in place of arguments as for `from_protobuf`.
        binaryDescriptorSet: A `FileDescriptorSet` in place of its file.
        subject: The registry's subject.
        schemaRegistryAddress: With it, the id of the schema and the index of the message are
            written before each payload.

    Raises:
        KafkaError: A schema or a message cannot be found, a schema cannot be registered, or an
            option cannot be used.
    """
    schemas = _descriptors(descFilePath, binaryDescriptorSet)
    given = Arguments(
        Format.PROTOBUF, schemas, messageName, subject, schemaRegistryAddress, options
    )
    return _encoded(data, given)


def _descriptors(path: str | None, content: bytes | None) -> dict[str, str | None]:
    binary = None if content is None else descriptor_set_text(bytes(content))
    return {"descFilePath": path, "binaryDescriptorSet": binary}


def _decoded(data: Column | str, arguments: Arguments) -> Column:
    options = parse_decoding(arguments)
    formats = QueryFormats(options, topics=())
    to = passed_on(formats.columns()[COLUMN])
    wanted = pa.schema([pa.field(COLUMN, to)])
    decode = ColumnReader(formats.column_formats(wanted)[COLUMN], options.mode)

    def decoded(payloads: pa.Array) -> pa.Array:
        with hide_traceback():
            return decode(payloads)

    if _arrow_udf is None:
        column: Column = pandas_udfs.decoded(decoded, to, data)
    else:
        column = _arrow_udf(decoded, to_spark(to))(data)
    return column


def _encoded(data: Column | str, arguments: Arguments) -> Column:
    options = parse_encoding(arguments)
    encoder = encoder_for(options, None, {COLUMN: WrittenColumn(0, None)}).encoders[0]

    def encoded(values: pa.Array) -> pa.Array:
        with hide_traceback():
            return encode_column(values, encoder, COLUMN)

    if _arrow_udf is None:
        column: Column = pandas_udfs.encoded(encoded, data)
    else:
        column = _arrow_udf(encoded, T.BinaryType())(data)
    return column
