"""Classes of messages, as protobuf itself makes them."""

from __future__ import annotations

from typing import Any

from google.protobuf.message_factory import GetMessageClass

from kafka_formats.protobuf.descriptors import files_of, message_of
from kafka_formats.schema_text import SchemaText


def message_class(schema: SchemaText, name: str) -> Any:
    return GetMessageClass(message_of(files_of(schema), name))
