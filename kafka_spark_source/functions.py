"""Functions for columns with payloads of Avro, of any DataFrame: `from_avro` and `to_avro`.

    from kafka_spark_source.functions import from_avro

    df.select(from_avro("value", subject="orders-value", schemaRegistryAddress="http://..."))

Names and arguments are those of Databricks. They are Arrow UDFs, which PySpark has since 4.1; where
rows come from `format("pykafka")`, its option `value.format` does the same with less work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from kafka_formats.columns import ColumnDecoder
from kafka_formats.encoder import encode_column
from kafka_formats.settings import Format, Framing, Mode
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.arrow_types import to_spark
from kafka_spark_source.errors import hide_traceback
from kafka_spark_source.formats.decoder import QueryFormats
from kafka_spark_source.formats.encoder import WrittenColumn, encoder_for
from kafka_spark_source.options.formats import FormatOptions, PayloadOptions, WriteFormatOptions
from kafka_spark_source.options.names import by_key
from kafka_spark_source.options.payload_table import AUTO_REGISTER, MODE, REGISTRY_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import Column

_COLUMN: Final = "value"
# Databricks' name of the same options.
_LONG_PREFIX: Final = f"confluent.{REGISTRY_PREFIX}"


def from_avro(
    data: Column | str,
    jsonFormatSchema: str | None = None,
    options: Mapping[str, str] | None = None,
    subject: str | None = None,
    schemaRegistryAddress: str | None = None,
) -> Column:
    """Decode payloads of Avro to the type of a schema, as `value.format` does.

    Args:
        data: A column of binary.
        jsonFormatSchema: The schema to read as: its text, a file on the driver, or `id:7`. Without
            it, the latest version of the subject.
        options: `mode`, FAILFAST (default) or PERMISSIVE, which gives null for a broken payload;
            and those of the registry, with `schema.registry.` before their names.
        subject: The registry's subject.
        schemaRegistryAddress: With it, payloads have an id of Confluent's before them; without,
            all payloads have the schema that is given.

    Raises:
        KafkaError: A schema cannot be found, or an option cannot be used.
    """
    given = by_key(options or {})
    registry = _registry_options(given, schemaRegistryAddress)
    mode = MODE.value_in(given)
    if mode is Mode.DROPMALFORMED:
        raise KafkaConfigError("Option 'mode' must be FAILFAST or PERMISSIVE for a function.")
    payload = _payload(jsonFormatSchema, subject, registry)
    formats = QueryFormats(FormatOptions((payload,), mode, registry), topics=())
    to = formats.columns()[_COLUMN]
    wanted = pa.schema([pa.field(_COLUMN, to)])
    decode = ColumnDecoder(formats.decoder(wanted).formats[_COLUMN], mode)

    def decoded(payloads: pa.Array) -> pa.Array:
        with hide_traceback():
            return decode(payloads)

    return _arrow_udf(decoded, to_spark(to), data)


def to_avro(
    data: Column | str,
    jsonFormatSchema: str | None = None,
    subject: str | None = None,
    schemaRegistryAddress: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Column:
    """Encode values as payloads of Avro, as `value.format` does.

    Args:
        data: A column of the schema's type; null for null.
        jsonFormatSchema: The schema: its text, a file on the driver, or `id:7`. Without it, the
            latest version of the subject.
        subject: The registry's subject.
        schemaRegistryAddress: With it, the id of the schema is written before each payload.
        options: `auto.register.schemas`, to register a given schema; and those of the registry.

    Raises:
        KafkaError: A schema cannot be found or registered, or an option cannot be used.
    """
    given = by_key(options or {})
    registry = _registry_options(given, schemaRegistryAddress)
    payload = _payload(jsonFormatSchema, subject, registry)
    writes = WriteFormatOptions((payload,), AUTO_REGISTER.value_in(given), registry)
    writer = encoder_for(writes, None, {_COLUMN: WrittenColumn(0, None)}).writers[0]

    def encoded(values: pa.Array) -> pa.Array:
        with hide_traceback():
            return encode_column(values, writer, _COLUMN)

    return _arrow_udf(encoded, T.BinaryType(), data)


def _payload(
    schema: str | None, subject: str | None, registry: Mapping[str, str]
) -> PayloadOptions:
    if not schema and not (subject and registry):
        raise KafkaConfigError(
            "A schema is missing: give jsonFormatSchema, or subject and schemaRegistryAddress."
        )
    framing = Framing.CONFLUENT if registry else Framing.NONE
    return PayloadOptions(_COLUMN, Format.AVRO, framing, schema or None, subject, None)


def _registry_options(given: Mapping[str, str], address: str | None) -> dict[str, str]:
    if address is None:
        return {}
    prefixes = (_LONG_PREFIX, REGISTRY_PREFIX)
    named = {
        name.removeprefix(prefix): value
        for name, value in given.items()
        for prefix in prefixes
        if name.startswith(prefix)
    }
    return named | {"url": address}


def _arrow_udf(function: Any, return_type: T.DataType, data: Column | str) -> Column:
    if not hasattr(F, "arrow_udf"):
        raise KafkaConfigError(
            "from_avro and to_avro need PySpark 4.1 or newer: use the option value.format."
        )
    found: Column = F.arrow_udf(function, return_type)(data)
    return found
