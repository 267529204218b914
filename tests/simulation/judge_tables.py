"""Whether a stream made the rows of a table, and put aside what it could not. Pure, as `judge`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from tests.simulation.contents import is_broken
from tests.simulation.disk import Headers
from tests.simulation.outcome import LogRecord, Outcome
from tests.simulation.scenario import LETTERS, OUTPUTS

Partition = tuple[str, int]
Places = Callable[[int], tuple[int, int]]

_PLACE: Final = (
    b"__connect.errors.topic",
    b"__connect.errors.partition",
    b"__connect.errors.offset",
)
_TIMESTAMP: Final = b"__pykafka.errors.timestamp"


def newest(records: Iterable[LogRecord], places: Places) -> list[LogRecord]:
    """The newest record of each key in each micro-batch, in order."""
    found = {(places(each.offset)[0], each.key): each for each in records}
    return sorted(found.values(), key=lambda each: each.offset)


def headers_as_read(columns: Mapping[str, str], headers: Headers) -> Headers:
    """Headers as a read has them with its columns: by name only the last of several."""
    if columns.get("headers") != "map":
        return headers
    last = {name: number for number, (name, _) in enumerate(headers)}
    return tuple(headers[number] for number in sorted(last.values()))


def letter_violations(
    outcome: Outcome, partition: Partition, chosen: Iterable[LogRecord], places: Places
) -> Iterator[str]:
    """Broken records that are no dead letters, or were none when their micro-batch was committed.

    Args:
        outcome: The run.
        partition: Of the input.
        chosen: The records that were to be decoded.
        places: The micro-batch of an offset.
    """
    letters = _letters(outcome)
    start = outcome.starts.get(partition, 0)
    gone = outcome.compacted.get(partition, frozenset())
    for record in chosen:
        if not is_broken(record.value):
            continue
        found = letters.get((*partition, record.offset), [])
        name = f"{partition[0]}-{partition[1]} at {record.offset}"
        if not found:
            if record.offset >= start and record.offset not in gone:
                yield f"{name} cannot be decoded, and is no dead letter"
            continue
        ends = outcome.letters.get(places(record.offset)[0], {})
        if not any(offset < ends.get((LETTERS, number), offset + 1) for number, offset in found):
            yield f"{name} was no dead letter when its micro-batch was committed"


def unknown_letters(outcome: Outcome) -> Iterator[str]:
    """Dead letters that are no records which cannot be decoded, or are not as they came."""
    records = {
        (*partition, each.offset): each
        for partition, log in outcome.logs.items()
        if partition[0] not in OUTPUTS
        for each in log
    }
    for number, log in _logs(outcome):
        for letter in log:
            place, own, time_ms = _place(letter)
            record = records.get(place)
            if record is None or not is_broken(record.value):
                yield f"the dead letter {LETTERS}-{number} at {letter.offset} is of no such record"
            elif (letter.key, letter.value, own) != (record.key, record.value, record.headers):
                yield f"the dead letter {LETTERS}-{number} at {letter.offset} is not as it came"
            elif record.timestamp_ms != time_ms:
                yield f"the dead letter {LETTERS}-{number} at {letter.offset} has another time"


def _logs(outcome: Outcome) -> Iterator[tuple[int, Iterable[LogRecord]]]:
    for (topic, number), log in outcome.logs.items():
        if topic == LETTERS:
            yield number, log


def _letters(outcome: Outcome) -> dict[tuple[str, int, int], list[tuple[int, int]]]:
    """The place of a record -> the partitions and offsets of its dead letters."""
    found: dict[tuple[str, int, int], list[tuple[int, int]]] = defaultdict(list)
    for number, log in _logs(outcome):
        for letter in log:
            found[_place(letter)[0]].append((number, letter.offset))
    return found


def _place(letter: LogRecord) -> tuple[tuple[str, int, int], Headers, int]:
    """Where the record of a dead letter was, and the headers and the time that it had."""
    named = dict(letter.headers)
    topic, partition, offset = ((named.get(each) or b"-1").decode() for each in _PLACE)
    own = tuple(each for each in letter.headers if not each[0].startswith(b"__"))
    time_ms = int(named.get(_TIMESTAMP) or b"-2")
    return (topic, int(partition), int(offset)), own, time_ms
