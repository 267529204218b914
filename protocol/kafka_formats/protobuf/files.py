"""The files of a schema as Confluent's clients register them, each with what it imports."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from kafka_formats.payload.schema_text import DESCRIPTOR_SET, SchemaFile, SchemaText
from kafka_formats.protobuf.compiler import compiled, is_built_in


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
