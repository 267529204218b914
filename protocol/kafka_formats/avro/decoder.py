"""The decoder of one Avro schema's payloads, as the type that a query wants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa

from kafka_formats.avro.decode import decode
from kafka_formats.avro.decode_one import read_payload
from kafka_formats.avro.plan import AvroPlan, RecordPlan
from kafka_formats.avro.projection import project
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import parsed
from kafka_formats.errors import PayloadError
from kafka_formats.payload.format import SchemaById, Values
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.schema_ids.frames import SchemaId


@dataclass(frozen=True, slots=True)
class AvroPayloadDecoder:
    """Decodes payloads with a plan."""

    plan: AvroPlan

    def decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        """Decode payloads after frames of one size."""
        return decode(payloads, self.plan, skipped_bytes)

    def explain(self, payload: bytes) -> PayloadError:
        """The fault in a broken payload."""
        try:
            read_payload(self.plan, payload)
        except PayloadError as error:
            return error
        raise AssertionError("the payload is not broken")


@lru_cache(maxsize=1_000)
def decoder_for(writer: SchemaText, reader: SchemaText, wanted: pa.DataType) -> AvroPayloadDecoder:
    """The decoder of payloads that were written with one schema, as the wanted part of another.

    It reads no further than the last field that is wanted, so it finds no damage after that.

    Raises:
        SchemaError: A schema is invalid, or they do not fit each other.
    """
    return AvroPayloadDecoder(
        _without_rest(resolve(parsed(writer), project(parsed(reader), wanted)))
    )


def _without_rest(plan: AvroPlan) -> AvroPlan:
    """The plan without the fields after the last one that is wanted: their bytes are not read."""
    if not isinstance(plan, RecordPlan):
        return plan
    wanted = [number for number, step in enumerate(plan.steps) if step.place is not None]
    return replace(plan, steps=plan.steps[: wanted[-1] + 1 if wanted else 0])


@dataclass(frozen=True, slots=True)
class AvroDecoderFactory:
    """The decoders of payloads of several writers, as one type. It is pickled with tasks.

    Attributes:
        reader: The reader's schema.
        wanted: The type to read as: all of the schema, or a part.
        schema_by_id: Finds the schemas of writers. None where payloads have no frames, and all have
            the reader's schema.
    """

    reader: SchemaText
    wanted: pa.DataType
    schema_by_id: SchemaById | None

    def for_schema(self, schema_id: SchemaId) -> AvroPayloadDecoder:
        """The decoder of the payloads of a schema.

        Raises:
            SchemaError: There is no such schema, or it does not fit the reader's.
        """
        writer = self.reader if self.schema_by_id is None else self.schema_by_id(schema_id)
        return decoder_for(writer, self.reader, self.wanted)
