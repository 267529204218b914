"""Reads the values of the producer's options, as Java's ProducerConfig does. No I/O.

The options are declared in `client`, with all others.
"""

from __future__ import annotations

from typing import Final

from kafka_protocol.client.config.option import integer, one_of
from kafka_protocol.messages.produce import ACKS_ALL
from kafka_protocol.records.compression import CompressionCodec


def read_acks(text: str) -> int:
    """Read the acks: ACKS_ALL or 1."""
    value = text.strip().lower()
    if value == "0":
        raise ValueError(
            "brokers would not respond, so it would be unknown whether a record was written; "
            "it must be all, -1 or 1"
        )
    if value not in ("all", "-1", "1"):
        raise ValueError("it must be all, -1 or 1")
    return 1 if value == "1" else ACKS_ALL


def read_codec(text: str) -> CompressionCodec:
    """Read a codec by its name."""
    return CompressionCodec[_read_codec_name(text).upper()]


_read_codec_name: Final = one_of(*(each.name.lower() for each in CompressionCodec))


def read_gzip_level(text: str) -> int:
    """Read a level: 1 to 9, or -1. 0 is refused: it would not compress at all."""
    level = integer(-1, 9)(text)
    if level == 0:
        raise ValueError("it must be from 1 to 9, or -1")
    return level
