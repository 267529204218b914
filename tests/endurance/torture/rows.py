"""The types of the truth: rows, and what librdkafka read of a topic; rows as text. Pure."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from tests.endurance.torture.topics import TopicPlan
from tests.truth.delivery import WORDS, Difference

CREATE_TIME = 0
LOG_APPEND_TIME = 1
_SHOWN_BYTES = 40
_SHOWN_HEADERS = 5


class Row(NamedTuple):
    """A record, with the columns of Spark's connector. The timestamp is in ms."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class PartitionTruth(NamedTuple):
    """What a partition has, all by offset.

    Attributes:
        start: The log start offset.
        end: The high watermark.
        stable: The last stable offset. It equals `end`: no transaction is open.
        committed: The rows that librdkafka reads with read_committed.
        uncommitted: The rows that it reads with read_uncommitted.
        written: All acknowledged rows since the topic was made, deleted and compacted ones too.
        aborted: The offsets of the rows in `written` whose transaction was aborted.
    """

    start: int
    end: int
    stable: int
    committed: tuple[Row, ...]
    uncommitted: tuple[Row, ...]
    written: tuple[Row, ...]
    aborted: frozenset[int]


class TopicTruth(NamedTuple):
    """What a topic has, by partition, and the plan with all steps that were carried out."""

    topic: str
    plan: TopicPlan
    partitions: Mapping[int, PartitionTruth]


Truth = Mapping[str, TopicTruth]
"""By topic."""


def by_partition(rows: Iterable[Row]) -> dict[tuple[str, int], list[Row]]:
    """The rows of each topic and partition, in order."""
    grouped: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row.topic, row.partition].append(row)
    return dict(grouped)


def identity_of(row: Row) -> Hashable:
    """Which record of its partition a row is; all of the row if its place was not read."""
    has_place = row.topic and row.partition >= 0 and row.offset >= 0
    return row.offset if has_place else row


def text_of(difference: Difference) -> str:
    """A few words with both rows; long keys and values are shown by length and CRC."""
    kind, expected, found = difference
    sides = (("expected", expected), ("found", found))
    rows = "; ".join(f"{name} {_text(row)}" for name, row in sides if row is not None)
    if kind != "altered":
        return f"{WORDS[kind]}: {rows}"
    pairs = zip(Row._fields, expected, found, strict=True)
    return f"{kind} ({', '.join(name for name, one, two in pairs if one != two)}): {rows}"


def _text(row: Row) -> str:
    place = f"{row.topic}-{row.partition} offset {row.offset}"
    columns = {
        "timestamp": f"{row.timestamp} ({row.timestamp_type})",
        "key": _bytes_text(row.key),
        "value": _bytes_text(row.value),
        "headers": _headers_text(row.headers),
    }
    return f"{place}, " + ", ".join(f"{name} {text}" for name, text in columns.items())


def _bytes_text(data: bytes | None) -> str:
    if data is None or len(data) <= _SHOWN_BYTES:
        return repr(data)
    return f"{data[:_SHOWN_BYTES]!r}... ({len(data):,} bytes, CRC {zlib.crc32(data):08x})"


def _headers_text(headers: Sequence[tuple[str, bytes | None]]) -> str:
    shown = ", ".join(f"{name!r}={_bytes_text(data)}" for name, data in headers[:_SHOWN_HEADERS])
    more = len(headers) - _SHOWN_HEADERS
    return f"[{shown}{f' and {more} more' if more > 0 else ''}]"
