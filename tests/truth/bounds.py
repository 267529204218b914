"""Where a read starts and ends in a partition, by its options and by the state of the log. Pure.

What depends on the moment of planning lies between the states of the log before it and after it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

Partition = tuple[str, int]

_STARTS: Final = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
_ENDS: Final = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_BY_TIME: Final = frozenset((*_STARTS[:2], *_ENDS[:2]))
EARLIEST: Final = -2
LATEST: Final = -1


class LogState(NamedTuple):
    """Where a log begins and ends, for all and for readers of committed records."""

    start: int
    high_watermark: int
    last_stable_offset: int


class Between(NamedTuple):
    """The least and the greatest offset that one end of a read may have."""

    least: int
    most: int


class Log(NamedTuple):
    """A partition around the moment of planning.

    Attributes:
        before, after: Its states before that moment and after it.
        first_at: The offset of the first record with a timestamp in ms or a later one; None if
            there is none, as long as the log is known.
        before_ms, after_ms: The moment lies between these, on the driver's clock.
        group: The offsets that the group of the read may have had; None if it does not matter.
        has_old_leaders: Whether an old leader may tell an old end.
        has_markers: Whether there are markers of transactions at times that are not known: brokers
            find them for a time, as if they were records.
    """

    before: LogState
    after: LogState
    first_at: Callable[[int], int | None]
    before_ms: float = 0.0
    after_ms: float = 0.0
    group: Between | None = None
    has_old_leaders: bool = False
    has_markers: bool = False


def start_between(options: Mapping[str, str], partition: Partition, log: Log) -> Between:
    """The offsets at which a read may begin."""
    name, bound = _given(options, _STARTS, partition)
    return _between(name, EARLIEST if bound is None else bound, log, _ends(options, log))


def end_between(options: Mapping[str, str], partition: Partition, log: Log) -> Between:
    """The offsets before which a read may end: also the end of the log, if it comes first."""
    name, bound = _given(options, _ENDS, partition)
    ends = _ends(options, log)
    least, most = _between(name, LATEST if bound is None else bound, log, ends)
    return Between(min(least, ends.least), most)


def _given(options: Mapping[str, str], names: Sequence[str], partition: Partition) -> Any:
    """The first given option: its name, and its text or what its JSON has for the partition."""
    name = next((each for each in names if each in options), None)
    if name is None:
        return None, None
    text = options[name]
    if not text.startswith("{"):
        return name, text
    of_topic = json.loads(text)[partition[0]]
    return name, of_topic if isinstance(of_topic, str) else of_topic.get(str(partition[1]))


def _ends(options: Mapping[str, str], log: Log) -> Between:
    is_committed = options.get("kafka.isolation.level") == "read_committed"
    least, most = (
        state.last_stable_offset if is_committed else state.high_watermark
        for state in (log.before, log.after)
    )
    return Between(0 if log.has_old_leaders else least, most)


def _between(name: str | None, bound: int | str, log: Log, ends: Between) -> Between:
    if name in _BY_TIME:
        return _since(log, int(bound), int(bound), ends)
    if bound in ("earliest", EARLIEST):
        return Between(log.before.start, log.after.start)
    if isinstance(bound, int) and bound >= 0:
        return Between(bound, bound)
    if bound == "group" and log.group is not None:
        return log.group
    if bound == LATEST or str(bound).startswith("latest"):
        count = int(str(bound).partition("latest-")[2] or 0)
        starts = log.before.start, log.after.start
        return Between(*(max(start, end - count) for start, end in zip(starts, ends, strict=True)))
    ago_ms = float(str(bound)[1:-1]) * 1_000  # "-5s"
    return _since(log, int(log.before_ms - ago_ms), int(log.after_ms - ago_ms), ends)


def _since(log: Log, from_ms: int, until_ms: int, ends: Between) -> Between:
    """The first record at a time; the end of the log if it did not have one yet."""
    first, last = (log.first_at(ms) for ms in (from_ms, until_ms))
    least = ends.least if first is None else min(first, ends.least)
    most = ends.most if last is None else min(last, ends.most)
    return Between(0 if log.has_markers else least, most)
