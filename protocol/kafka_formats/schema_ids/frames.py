"""The frames of payloads: groups of rows whose payloads have one schema, and that schema's id."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.arrays.arrow_memory import is_valid
from kafka_protocol.columnar.reading.rows import at_each_byte

Longs: TypeAlias = npt.NDArray[np.int64]
# None: payloads without frames have one schema.
SchemaId: TypeAlias = "int | uuid.UUID | InHeader | GlueVersion | InPayload | None"

NO_FRAME: Final = b""


class InHeader(NamedTuple):
    """An id in a header, with the bytes after it: the message index of Protobuf.

    Attributes:
        schema_id: A number or a GUID.
        suffix: Not empty.
    """

    schema_id: int | uuid.UUID
    suffix: bytes

    def __str__(self) -> str:
        """The id alone."""
        return str(self.schema_id)


class GlueVersion(NamedTuple):
    """The id of a version of a schema in AWS Glue."""

    version_id: uuid.UUID

    def __str__(self) -> str:
        """The id alone."""
        return str(self.version_id)


class InPayload(NamedTuple):
    """A schema that is within its payload, as Kafka Connect's converter of JSON writes it.

    Attributes:
        text: The schema.
    """

    text: bytes

    def __str__(self) -> str:
        """Where it is: it may be long."""
        return "in the payload"


class Group(NamedTuple):
    """Rows whose payloads have one schema, after frames of one size.

    Attributes:
        schema_id: Names the schema.
        frame_bytes: The size of the frame before each payload.
        rows: In order.
    """

    schema_id: SchemaId
    frame_bytes: int
    rows: Longs


def rows_of(rows: Sequence[int]) -> Longs:
    """Rows in order as an array."""
    return np.array(rows, dtype=np.int64)


def ids_at(view: npt.NDArray[np.uint8], kind: str, places: Longs) -> Longs:
    """The numbers of a kind at some places of a buffer, each below 2^63."""
    return np.asarray(at_each_byte(view, kind)[places], dtype=np.int64)


def groups_of(ids: Longs, rows: Longs, frame_bytes: int) -> list[Group]:
    """The groups of rows by their ids, which are not negative."""
    if not len(rows):
        return []
    if (ids == ids[0]).all():
        return [Group(int(ids[0]), frame_bytes, rows)]
    order = np.argsort(ids, kind="stable")
    firsts = np.flatnonzero(np.diff(ids[order], prepend=-1))
    return [
        Group(int(ids[part[0]]), frame_bytes, rows[part]) for part in np.split(order, firsts[1:])
    ]


def why_unframed(payload: bytes) -> str:
    """Why a payload has no frame."""
    begin = f"begins with the bytes {payload[:5].hex(' ')}" if payload else "is empty"
    return f"it has no schema id: it {begin}, and has {len(payload)} in all"


class Frames(NamedTuple):
    """The groups of payloads, and rows without a frame. Null payloads are in neither.

    Attributes:
        groups: The groups of rows.
        unframed: Rows, in order.
        unpacked: All payloads with their frames, where some were compressed; else None.
        why_unframed: Why a payload has no frame.
    """

    groups: Sequence[Group]
    unframed: Longs
    unpacked: pa.BinaryArray | None = None
    why_unframed: Callable[[bytes], str] = why_unframed


def no_frames(payloads: pa.BinaryArray, _headers: pa.ListArray | None, _header: str) -> Frames:
    """One group with all payloads."""
    return Frames([Group(None, 0, np.flatnonzero(is_valid(payloads)))], np.empty(0, dtype=np.int64))
