"""Payloads as our columns, by both ways to decode them, and as protobuf's runtime reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pyarrow as pa
from google.protobuf.message_factory import GetMessageClass

from kafka_formats.arrow.arrays import with_type
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf import decoder as protobuf_decoder
from kafka_formats.protobuf.decoder import ProtobufPayloadDecoder, factory_for
from kafka_formats.protobuf.descriptors import message_in
from tests.formats.protobuf.witness import Broken, comparable, in_numbers, row_of

# So often a payload is in a column: a scan leaves fields of fewer messages to the runtime.
TIMES = 17
BROKEN = "broken"


@dataclass(frozen=True)
class Difference:
    """What is read of a payload: by the runtime, by a scan, and one by one."""

    payload: bytes
    wanted: Any
    at_once: Any
    one_by_one: Any

    def __str__(self) -> str:
        return (
            f"payload {self.payload.hex()}\n  protobuf   {self.wanted}\n"
            f"  at once    {self.at_once}\n  one by one {self.one_by_one}"
        )


class Comparison:
    """A schema's message, read as a type.

    Attributes:
        scanned: How many payloads a scan read, and did not leave to the runtime.
    """

    def __init__(self, schema: SchemaText, to: pa.StructType) -> None:
        self.schema = schema
        self.to = to
        self.scanned = 0
        self._parsed = GetMessageClass(message_in(schema))
        self._decoder: ProtobufPayloadDecoder = factory_for(schema, to, None).for_schema(None)

    def wanted(self, payload: bytes) -> Any:
        """What the runtime reads."""
        try:
            return row_of(self._parsed, payload, self.to)
        except Broken:
            return BROKEN

    def differences(self, payloads: Sequence[bytes]) -> list[Difference]:
        """The payloads that are not read alike."""
        at_once, one_by_one = self.read(payloads, 0), self.read(payloads, 2**62)
        return [
            Difference(payload, *rows)
            for payload, *rows in zip(
                payloads, map(self.wanted, payloads), at_once, one_by_one, strict=True
            )
            # Not `==`: NaN is none.
            if len({repr(row) for row in rows}) > 1
        ]

    def read(self, payloads: Sequence[bytes], many: int) -> list[Any]:
        """What our columns have, with as many payloads as are many."""
        times = 1 if many else TIMES
        array = pa.array([each for each in payloads for _ in range(times)], pa.binary())
        one_by_one = ProtobufPayloadDecoder._one_by_one
        seen: list[int] = []

        def counted(decoder: Any, rest: Any, skipped: int) -> Any:
            seen.append(len(rest))
            return one_by_one(decoder, rest, skipped)

        with (
            mock.patch.object(protobuf_decoder, "_MANY", many),
            mock.patch.object(ProtobufPayloadDecoder, "_one_by_one", counted),
        ):
            values, is_broken = self._decoder.decode(array, 0)
        values.validate(full=True)
        self.scanned += (len(array) - sum(seen)) // times
        first = pa.array(range(0, len(array), times), pa.int64())
        rows = with_type(values.take(first), in_numbers(self.to)).to_pylist()
        return [
            BROKEN if broken else comparable(row, self.to)
            for row, broken in zip(rows, is_broken.tolist()[::times], strict=True)
        ]
