"""What each format must do with schemas and payloads. Values only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa

from kafka_formats.payloads import ReaderOf
from kafka_formats.schema_ids.frames import SchemaId
from kafka_formats.schema_text import SchemaFile, SchemaText

# The schema with an id; raises SchemaError if there is none.
WriterOf: TypeAlias = Callable[[SchemaId], SchemaText]


class SchemaWriter(Protocol):
    """Encodes values with one schema. It is pickled with tasks."""

    def __call__(self, values: pa.Array) -> pa.BinaryArray:
        """Encode values without nulls, one payload each.

        Raises:
            PayloadError: A value does not fit.
            SchemaError: The schema is invalid, or the type does not fit it.
        """

    def check(self, data_type: pa.DataType) -> None:
        """Check that values of a type can be written, but for nulls.

        Raises:
            SchemaError: They cannot. Names the field.
        """


def _alone(schema: SchemaText) -> Sequence[SchemaFile]:
    return [SchemaFile("", schema.text)]


@dataclass(frozen=True, slots=True)
class Codec:
    """A format. All functions raise SchemaError for a schema that is invalid or not supported.

    Attributes:
        name_of: The full name of the type that a schema defines; empty if it has none.
        type_of: The type of the values of a schema.
        check_part: Raises SchemaError unless a type is that of a schema, or has some of the fields
            of its structs.
        readers: The readers of payloads of several writers, as a part of one schema. Without
            `WriterOf` payloads have no frames, and all have the reader's schema.
        writer: The writer of a schema.
        derive: The schema of a type, for a column without one.
        frame_suffix: What is between the id of a schema and a payload.
        files: What a registry must have: the schemas that a schema imports, and itself as the last.
        needs_writer: Whether payloads are read with the schema that they were written with.
        schema_of: The schema to read as a type, where payloads name their fields; None where a
            schema has to be given.
    """

    name_of: Callable[[SchemaText], str]
    type_of: Callable[[SchemaText], pa.DataType]
    check_part: Callable[[SchemaText, pa.DataType], None]
    readers: Callable[[SchemaText, pa.DataType, WriterOf | None], ReaderOf]
    writer: Callable[[SchemaText], SchemaWriter]
    derive: Callable[[pa.DataType], SchemaText]
    frame_suffix: Callable[[SchemaText], bytes] = lambda _: b""
    files: Callable[[SchemaText], Sequence[SchemaFile]] = _alone
    needs_writer: bool = True
    schema_of: Callable[[pa.DataType], SchemaText] | None = None
