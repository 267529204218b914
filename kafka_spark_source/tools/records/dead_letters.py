"""Why records are in a topic of dead letters, as their headers say (KIP-298), and how many. Pure.

`kafka_spark_source.reading.dead_letters` writes such headers, and so does Kafka Connect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kafka_spark_source.reading.dead_letters import HEADER_PREFIX
from kafka_spark_source.tools.records.peek import ShownRecord


class DeadLetter(NamedTuple):
    """The place of a dead letter's record, and the reason; a text is empty without its header."""

    topic: str
    partition: str
    offset: str
    stage: str
    exception: str
    reason: str


class Counted(NamedTuple):
    """Dead letters of one topic with one stage and one exception.

    Attributes:
        topic: The topic that they were in.
        stage: Whether the key or the value is broken.
        exception: The class.
        records: How many there are.
        repeated: How many of them are of a place that another one is of.
        newest_ms: When the newest of them could not be decoded, in ms since 1970. Kafka Connect
            writes the time of the record there.
        reason: That of the newest.
    """

    topic: str
    stage: str
    exception: str
    records: int
    repeated: int
    newest_ms: int
    reason: str


def dead_letter_of(headers: Sequence[tuple[str, bytes | None]]) -> DeadLetter | None:
    """The dead letter by the headers of a record; None if it is not one.

    The last of several headers with a name counts: a record may become one more than once.
    """
    said = {name.removeprefix(HEADER_PREFIX): value for name, value in headers if _is_own(name)}
    if not said:
        return None
    names = ("topic", "partition", "offset", "stage", "exception.class.name", "exception.message")
    return DeadLetter(*((said.get(name) or b"").decode("utf-8", "replace") for name in names))


class _Counter:
    """Counts the dead letters of one kind."""

    def __init__(self) -> None:
        self.records = 0
        self.newest_ms = -1
        self.reason = ""
        self._places: set[tuple[str, str]] = set()

    def add(self, letter: DeadLetter, timestamp_ms: int) -> None:
        self.records += 1
        self._places.add((letter.partition, letter.offset))
        if timestamp_ms >= self.newest_ms:
            self.newest_ms, self.reason = timestamp_ms, letter.reason

    @property
    def repeated(self) -> int:
        return self.records - len(self._places)


def counted(records: Iterable[ShownRecord]) -> list[Counted]:
    """The dead letters among records, by topic, stage and exception; the most first."""
    counters: defaultdict[tuple[str, str, str], _Counter] = defaultdict(_Counter)
    for record in records:
        letter = dead_letter_of(record.headers)
        if letter is not None:
            kind = (letter.topic, letter.stage, letter.exception)
            counters[kind].add(letter, record.timestamp_ms)
    counts = [
        Counted(*kind, each.records, each.repeated, each.newest_ms, each.reason)
        for kind, each in counters.items()
    ]
    return sorted(counts, key=lambda each: (-each.records, each))


def other_headers(
    headers: Sequence[tuple[str, bytes | None]],
) -> Sequence[tuple[str, bytes | None]]:
    """The headers that the record had before."""
    return [each for each in headers if not _is_own(each[0])]


def _is_own(name: str) -> bool:
    return name.startswith(HEADER_PREFIX)
