"""The frames of Kafka Connect's JsonConverter: a schema and a payload in each document.

    {"schema":{"type":"struct","fields":[...]},"payload":{"id":1}}

A document of another form has no frame, and is read as it is: the converter writes none if
`schemas.enable` is false. The schema is often much longer than its payload and equal in most
records, so it is parsed once for all that begin with the same bytes.

Source: `JsonConverter.convertToJsonWithEnvelope`.
"""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import null_where, without_first
from kafka_formats.schema_ids.frames import Frames, Group, InPayload, Longs, SchemaId
from kafka_protocol.columnar.arrays.arrow_memory import bools_of, is_valid

_BEGIN: Final = r'\A[ \t\r\n]*\{[ \t\r\n]*"(schema|payload)"'
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
_MEMBERS: Final = frozenset({"schema", "payload"})
# A topic has few schemas at a time. Beyond this, records are looked at one by one.
_MOST_PREFIXES: Final = 32


class _Document(NamedTuple):
    """A document that has a schema: the schema's text, None for null, and that of the payload."""

    schema: bytes | None
    payload: bytes

    @property
    def schema_id(self) -> SchemaId:
        return None if self.schema is None else InPayload(self.schema)


def connect_frames(payloads: pa.BinaryArray, _headers: pa.ListArray | None, _header: str) -> Frames:
    """The groups of payloads with one schema, without their schemas. None has no frame."""
    valid = is_valid(payloads)
    begins = pc.match_substring_regex(payloads, _BEGIN).fill_null(False)
    rest = np.flatnonzero(bools_of(begins))
    if not len(rest):
        return Frames([Group(None, 0, np.flatnonzero(valid))], np.empty(0, dtype=np.int64))
    groups = _Groups(payloads)
    for _ in range(_MOST_PREFIXES):
        if len(rest):
            rest = groups.add_alike(rest)
    for row in rest.tolist():
        groups.add(row)
    return groups.frames(valid)


class _Groups:
    """The groups of payloads with one schema, and their payloads without it."""

    def __init__(self, payloads: pa.BinaryArray) -> None:
        self._payloads = payloads
        self._rows: dict[SchemaId, list[Longs]] = {}
        self._unwrapped: list[tuple[Longs, pa.BinaryArray]] = []

    def add_alike(self, rows: Longs) -> Longs:
        """Add the first of some rows, and all whose payloads have the same schema text before them.

        Returns:
            The other rows.
        """
        payload = self._payloads[int(rows[0])].as_py()
        document = _document(payload)
        prefix = b"" if document is None else _prefix(document, payload)
        if document is None or not prefix:
            self.add(int(rows[0]))
            return rows[1:]
        candidates = self._payloads.take(pa.array(rows))
        is_alike = bools_of(
            pc.and_(pc.starts_with(candidates, prefix), pc.ends_with(candidates, b"}"))
        )
        alike = candidates.filter(pa.array(is_alike))
        self._add(document.schema_id, rows[is_alike], without_first(len(prefix), alike, 1))
        others: Longs = rows[~is_alike]
        return others

    def add(self, row: int) -> None:
        """Add a row alone, if it has a schema."""
        document = _document(self._payloads[row].as_py())
        if document is not None:
            own = pa.array([document.payload], pa.binary())
            self._add(document.schema_id, np.array([row], dtype=np.int64), own)

    def _add(self, schema_id: SchemaId, rows: Longs, unwrapped: pa.BinaryArray) -> None:
        self._rows.setdefault(schema_id, []).append(rows)
        self._unwrapped.append((rows, unwrapped))

    def frames(self, valid: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Frames:
        """The frames; other rows, without a schema, are read as they are."""
        plain = valid.copy()
        for rows, _ in self._unwrapped:
            plain[rows] = False
        place = np.full(len(self._payloads), -1, dtype=np.int64)
        parts = [(np.flatnonzero(plain), self._payloads.filter(pa.array(plain))), *self._unwrapped]
        order = np.concatenate([rows for rows, _ in parts])
        place[order] = np.arange(len(order))
        joined = pa.concat_arrays([values for _, values in parts])
        if plain.any():
            self._rows.setdefault(None, []).append(np.flatnonzero(plain))
        unpacked = joined.take(pa.array(place, mask=place < 0))
        # A document with a schema for null is a tombstone, too.
        is_null = bools_of(pc.equal(unpacked, b"null").fill_null(False))
        is_null &= ~plain
        unpacked = null_where(is_null, unpacked)
        groups = []
        for schema_id, parts_of_rows in self._rows.items():
            of_schema = np.sort(np.concatenate(parts_of_rows))
            groups.append(Group(schema_id, 0, of_schema[~is_null[of_schema]]))
        return Frames(groups, np.empty(0, dtype=np.int64), unpacked)


def _document(payload: bytes) -> _Document | None:
    """The parts of a document that has a schema; None for another one."""
    try:
        members = _members(payload.decode("utf-8"))
    except (ValueError, RecursionError):
        # The decoder says what is wrong.
        return None
    if members.keys() != _MEMBERS or not members["schema"].startswith(("{", "null")):
        return None
    schema = members["schema"]
    return _Document(
        None if schema == "null" else schema.encode("utf-8"), members["payload"].encode("utf-8")
    )


def _members(text: str) -> dict[str, str]:
    """The text of each member of an object, whatever its form. A later one replaces an equal one.

    Raises:
        ValueError: It is not an object.
    """
    members: dict[str, str] = {}
    at = _after(text, 0, "{")
    while True:
        name, at = _DECODER.raw_decode(text, at)
        start = _after(text, at, ":")
        _, at = _DECODER.raw_decode(text, start)
        members[str(name)] = text[start:at]
        at = _skipped(text, at)
        if text[at : at + 1] != ",":
            _after(text, at, "}")
            return members
        at = _skipped(text, at + 1)


def _skipped(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return at if match is None else match.end()


def _after(text: str, at: int, sign: str) -> int:
    """The place after a sign and the blanks around it."""
    at = _skipped(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"{sign} is missing")
    return _skipped(text, at + 1)


def _prefix(document: _Document, payload: bytes) -> bytes:
    """The bytes before the payload as Connect's converter writes them; empty for another form."""
    schema = b"null" if document.schema is None else document.schema
    prefix = b'{"schema":' + schema + b',"payload":'
    return prefix if payload == prefix + document.payload + b"}" else b""
