"""Whether a stream put aside the records that it could not decode. Pure, as `judge`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.simulation.contents import is_broken
from tests.simulation.disk import Headers
from tests.simulation.expected import (
    Partition,
    chosen_records,
    inputs,
    named,
    places_of,
    still_there,
)
from tests.simulation.outcome import LogRecord, Outcome
from tests.simulation.scenario import LETTERS, OUTPUTS
from tests.truth.headers import Origin, origin_of

Letters = dict[tuple[str, int, int], list[tuple[int, int]]]
"""The place of a record -> the partitions and offsets of its dead letters."""


def letter_violations(outcome: Outcome) -> Iterator[str]:
    """What cannot be decoded is a dead letter before its micro-batch is committed."""
    if not outcome.scenario.has_letters:
        return
    letters = _letters(outcome)
    for partition in inputs(outcome):
        yield from _of_partition(outcome, partition, letters)
    yield from _unknown(outcome)


def _of_partition(outcome: Outcome, partition: Partition, letters: Letters) -> Iterator[str]:
    """Broken records that are no dead letters, or were none when their micro-batch ended."""
    places = places_of(outcome, partition)
    chosen = chosen_records(outcome, partition)
    broken = [record for record in chosen if is_broken(record.value)]
    there = {each.offset for each in still_there(outcome, partition, broken)}
    for record in broken:
        found = letters.get((*partition, record.offset), [])
        name = f"{named(partition)} at {record.offset}"
        if not found:
            if record.offset in there:
                yield f"{name} cannot be decoded, and is no dead letter"
            continue
        ends = outcome.letters.get(places(record.offset)[0], {})
        if not any(offset < ends.get((LETTERS, number), offset + 1) for number, offset in found):
            yield f"{name} was no dead letter when its micro-batch was committed"


def _unknown(outcome: Outcome) -> Iterator[str]:
    """Dead letters that are no records which cannot be decoded, or are not as they came."""
    records = {
        (*partition, each.offset): each
        for partition, log in outcome.logs.items()
        if partition[0] not in OUTPUTS
        for each in log
    }
    for number, letter, origin in _letters_with_origin(outcome):
        name = f"the dead letter {LETTERS}-{number} at {letter.offset}"
        record = records.get(origin[:3]) if origin else None
        if origin is None or record is None or not is_broken(record.value):
            yield f"{name} is of no such record"
        elif (letter.key, letter.value, origin.headers) != (
            record.key,
            record.value,
            _decoded(record.headers),
        ):
            yield f"{name} is not as it came"
        elif record.timestamp_ms != origin.timestamp:
            yield f"{name} has another time"


def _letters(outcome: Outcome) -> Letters:
    found: Letters = defaultdict(list)
    for number, letter, origin in _letters_with_origin(outcome):
        if origin is not None:
            found[origin[:3]].append((number, letter.offset))
    return found


def _letters_with_origin(outcome: Outcome) -> Iterator[tuple[int, LogRecord, Origin | None]]:
    """The partition of each dead letter, the letter, and what its headers tell, if they do."""
    for (topic, number), log in outcome.logs.items():
        for letter in log if topic == LETTERS else ():
            try:
                yield number, letter, origin_of(_decoded(letter.headers))
            except ValueError:
                yield number, letter, None


def _decoded(headers: Headers) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((name.decode(), value) for name, value in headers)
