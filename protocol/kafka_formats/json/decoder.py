"""The decoders of payloads of JSON. Documents have the names of their fields in them.

So payloads of all schemas are read with the query's schema, whatever their id is, and the registry
is not asked for their schemas.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from kafka_formats.json.decode import JsonPayloadDecoder, has_arrow_form
from kafka_formats.json.decode_one import root_converter
from kafka_formats.schema_ids.frames import SchemaId


@lru_cache(maxsize=100)
def decoder_for(wanted: pa.DataType) -> JsonPayloadDecoder:
    """The decoder of payloads as a type."""
    is_objects = pa.types.is_list(wanted) and pa.types.is_struct(wanted.value_type)
    by_arrow = has_arrow_form(wanted) and not is_objects
    return JsonPayloadDecoder(wanted, root_converter(wanted), by_arrow)


@lru_cache(maxsize=100)
def exact_decoder_for(wanted: pa.DataType) -> JsonPayloadDecoder:
    """The decoder of payloads as a type, to which a number that the type does not have is a fault.

    A string has the digits of a number.
    """
    convert = root_converter(wanted, exact=True)
    return JsonPayloadDecoder(wanted, convert, has_arrow_form(wanted), is_exact=True)


@dataclass(frozen=True, slots=True)
class JsonDecoderFactory:
    """One decoder for the payloads of all schemas. It is pickled with tasks.

    Attributes:
        wanted: The type to read as: all of the query's schema, or a part.
    """

    wanted: pa.DataType

    def for_schema(self, _schema_id: SchemaId) -> JsonPayloadDecoder:
        """The decoder of the payloads of a schema: the same for all."""
        return decoder_for(self.wanted)
