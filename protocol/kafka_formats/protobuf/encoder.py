"""The encoder of one message's payloads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.descriptors import files_of, message_of, name_in
from kafka_formats.protobuf.encode import encode
from kafka_formats.protobuf.plan import MessagePlan, plan_to_write
from kafka_formats.protobuf.runtime import message_class


@dataclass(frozen=True, slots=True)
class ProtobufEncoder:
    """Encodes structs as a message. It is pickled with tasks.

    Attributes:
        files: The compiled files of the schema.
        name: The message.
    """

    files: bytes
    name: str

    def encode(self, values: pa.Array) -> pa.BinaryArray:
        """Encode values without nulls, one payload each.

        Raises:
            PayloadError: A value does not fit.
            SchemaError: The type does not fit the message.
        """
        plan, parsed = _plan_and_class(self.files, self.name, values.type)
        return encode(plan, parsed, values)

    def check(self, data_type: pa.DataType) -> None:
        """Check that values of a type can be written. Nulls are not checked.

        Raises:
            SchemaError: They cannot. Names the field.
        """
        _plan_and_class(self.files, self.name, data_type)


@lru_cache(maxsize=100)
def _plan_and_class(files: bytes, name: str, data_type: pa.DataType) -> tuple[MessagePlan, Any]:
    message = message_of(files, name)
    plan = plan_to_write(message, data_type)
    return plan, message_class(message, plan)


def encoder_of(schema: SchemaText) -> ProtobufEncoder:
    """The encoder of a schema, compiled on the driver.

    Raises:
        SchemaError: The schema is invalid.
    """
    return ProtobufEncoder(files_of(schema), name_in(schema))
