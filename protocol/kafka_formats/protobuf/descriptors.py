"""Compiled Protobuf files: as bytes for tasks and registries, and as descriptors of messages."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import DESCRIPTOR_SET, SchemaFile, SchemaText
from kafka_formats.protobuf.compiler import compiled, is_built_in
from kafka_formats.protobuf.names import messages_in, name_meant

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    from kafka_formats.protobuf.indexes import Index


def files_of(schema: SchemaText) -> bytes:
    """The compiled files of a schema, which travel with tasks: a FileDescriptorSet.

    Raises:
        SchemaError: The schema is invalid.
    """
    file_set: bytes = FileDescriptorSet(file=compiled(schema)).SerializeToString(deterministic=True)
    return file_set


def files_to_register(schema: SchemaText) -> Sequence[SchemaFile]:
    """The files that a registry needs, in order: its imports first, its own last.

    A file of a FileDescriptorSet is a descriptor in Base64, which registries print as `.proto`
    text. Files that every registry knows, as `google/protobuf/timestamp.proto`, are left out.

    Raises:
        SchemaError: The schema is invalid.
    """
    if not schema.text.startswith(DESCRIPTOR_SET):
        return [SchemaFile("", schema.text)]
    return [
        SchemaFile(
            each.name,
            base64.b64encode(each.SerializeToString(deterministic=True)).decode("ascii"),
            tuple(name for name in each.dependency if not is_built_in(name)),
        )
        for each in compiled(schema)
        if not is_built_in(each.name)
    ]


def name_in(schema: SchemaText) -> str:
    """The full name of the message to read or write: that which is named, or the first.

    Raises:
        SchemaError: There is no such message, or the name means several.
    """
    names = list(_places(schema).values())
    if not names:
        raise SchemaError("it has no message")
    return names[0] if schema.message is None else name_meant(schema.message, names)


def message_in(schema: SchemaText) -> Descriptor:
    """The descriptor of the message to read or write.

    Raises:
        SchemaError: As from `files_of`, `name_in` and `message_of`.
    """
    return message_of(files_of(schema), name_in(schema))


def place_of(schema: SchemaText, name: str) -> Index:
    """The message index of a message of the schema's own file."""
    return next(place for place, each in _places(schema).items() if each == name)


def _places(schema: SchemaText) -> dict[Index, str]:
    return messages_in(compiled(schema).own)


@lru_cache(maxsize=200)
def message_of(files: bytes, name: str) -> Descriptor:
    """The descriptor of a message.

    Raises:
        SchemaError: Files do not fit each other, or there is no such message.
    """
    # One pool for each schema: versions of a schema have the same names.
    pool = DescriptorPool()
    try:
        for file in FileDescriptorSet.FromString(files).file:
            pool.Add(file)
        return pool.FindMessageTypeByName(name)
    except (KeyError, TypeError, ValueError) as error:
        raise SchemaError(f"the message {name} cannot be built: {error}") from error
