"""The class of each format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_formats.avro.format import AvroFormat
from kafka_formats.json.format import JsonFormat
from kafka_formats.options.settings import Format
from kafka_formats.payload.format import PayloadFormat
from kafka_formats.protobuf.format import ProtobufFormat

FORMATS: Final[Mapping[Format, PayloadFormat]] = {
    Format.AVRO: AvroFormat(),
    Format.JSON: JsonFormat(),
    Format.PROTOBUF: ProtobufFormat(),
}
