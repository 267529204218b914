"""The codec of each format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_formats.avro.codec import AVRO
from kafka_formats.codec import Codec
from kafka_formats.json.codec import JSON
from kafka_formats.options.settings import Format
from kafka_formats.protobuf.codec import PROTOBUF

CODECS: Final[Mapping[Format, Codec]] = {
    Format.AVRO: AVRO,
    Format.JSON: JSON,
    Format.PROTOBUF: PROTOBUF,
}
