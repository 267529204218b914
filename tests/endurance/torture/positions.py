"""Where a read starts and ends: how options spell it, and which offsets it means. Pure.

Markers of transactions have timestamps, too, and a broker answers with a marker's offset if it is
the first at or after a time. The truth does not have the time of a marker, only its offset, which
no row has; it was written while the test ran. So a time is asked for only if it is before the run,
or if there are no markers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import partial
from typing import Final, NamedTuple

from kafka_protocol.arrow_io.topic import Position as ArrowPosition
from tests.endurance.torture.rows import PartitionTruth
from tests.truth.bounds import EARLIEST, Log, LogState, end_between, start_between

Place = tuple[str, int]
"""A topic and one of its partitions."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Form(Enum):
    """How a position is written. OMITTED leaves it to the default."""

    OMITTED = "omitted"
    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSETS = "offsets"
    BEFORE_LATEST = "before latest"
    TIME = "time"
    TIMES = "times"

    def __repr__(self) -> str:
        """The expression that it is, so that the `repr` of a query makes it."""
        return str(self)


class Position(NamedTuple):
    """The start or the end of a read.

    Attributes:
        of: The offset, EARLIEST, LATEST or the time of each partition, for OFFSETS and TIMES.
        number: The time in ms, or how many offsets before the end.
        words: Topics that OFFSETS names by one word for all partitions.
    """

    form: Form
    of: Mapping[Place, int] = {}
    number: int = 0
    words: frozenset[str] = frozenset()


def start_options(position: Position) -> dict[str, str]:
    """The options of a start."""
    return _options("starting", position)


def end_options(position: Position) -> dict[str, str]:
    """The options of an end."""
    return _options("ending", position)


def _options(side: str, position: Position) -> dict[str, str]:
    match position.form:
        case Form.OMITTED:
            return {}
        case Form.OFFSETS:
            return {f"{side}Offsets": _json(position)}
        case Form.TIMES:
            return {f"{side}OffsetsByTimestamp": _json(position)}
        case Form.TIME:
            return {f"{side}Timestamp": f"{position.number}"}
        case Form.BEFORE_LATEST:
            return {f"{side}Offsets": f"latest-{position.number}"}
        case Form.EARLIEST | Form.LATEST:
            return {f"{side}Offsets": position.form.value}


def _json(position: Position) -> str:
    topics: dict[str, dict[str, int] | str] = {}
    for (topic, partition), value in position.of.items():
        if topic in position.words:
            topics[topic] = "earliest" if value == EARLIEST else "latest"
        else:
            of_topic = topics.setdefault(topic, {})
            assert isinstance(of_topic, dict)
            of_topic[str(partition)] = value
    return json.dumps(topics)


def arrow_position(position: Position, topic: str, fallback: ArrowPosition) -> ArrowPosition:
    """The same for `read_topic`, which has no word within a dictionary."""
    match position.form:
        case Form.OFFSETS:
            return {
                partition: each for (name, partition), each in position.of.items() if name == topic
            }
        case Form.TIME:
            return _EPOCH + timedelta(milliseconds=position.number)
        case Form.EARLIEST:
            return "earliest"
        case Form.LATEST:
            return "latest"
        case _:
            return fallback


def range_of(
    start: Position, end: Position, place: Place, truth: PartitionTruth, *, committed: bool
) -> tuple[int, int]:
    """The first offset of a read, and the one after the last."""
    level = "read_committed" if committed else "read_uncommitted"
    options = {"kafka.isolation.level": level} | start_options(start) | end_options(end)
    state = LogState(truth.start, truth.end, truth.stable)
    log = Log(state, state, partial(_first_at, truth))
    return (
        start_between(options, place, log).least,
        end_between(options, place, log).least,
    )


def _first_at(truth: PartitionTruth, ms: int) -> int | None:
    """The first row with that timestamp or a later one, or the first marker."""
    row = next((each.offset for each in truth.uncommitted if each.timestamp >= ms), None)
    return min((each for each in (row, *gaps(truth)[:1]) if each is not None), default=None)


def gaps(truth: PartitionTruth) -> Sequence[int]:
    """The offsets without a row, in a log that is not compacted: markers of transactions."""
    rows = {each.offset for each in truth.uncommitted}
    return [offset for offset in range(truth.start, truth.end) if offset not in rows]
