from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.bounds import Between, Log, LogState, end_between, start_between

PLACE = ("t", 1)
BOUNDS: tuple[dict[str, str], ...] = (
    *({}, {"startingOffsets": "earliest"}, {"startingOffsets": "latest"}),
    *({"startingOffsets": "latest-3"}, {"startingOffsets": json.dumps({"t": {"1": -1}})}),
    *({"startingOffsets": json.dumps({"t": "latest"})}, {"startingOffsets": "-2s"}),
    *({"endingOffsets": "latest-2"}, {"endingOffsets": json.dumps({"t": {"1": 5}})}),
    *({"startingTimestamp": "3000"}, {"startingOffsetsByTimestamp": '{"t": {"1": 4000}}'}),
    *({"endingTimestamp": "2000"}, {"endingOffsetsByTimestamp": '{"t": {"1": 9000}}'}),
    {"startingOffsets": json.dumps({"t": {"1": 2}}), "kafka.isolation.level": "read_committed"},
)


class Moment(NamedTuple):
    """A log at some time: records come, and the first ones are deleted."""

    state: LogState
    records: int
    ms: float


@st.composite
def growing(draw: st.DrawFn) -> tuple[list[int], list[Moment]]:
    """The timestamps of a log, and what it was before, at and after planning."""
    times = draw(st.lists(st.integers(0, 9).map(lambda second: 1_000 * second), max_size=12))
    ends = sorted(draw(st.integers(0, len(times))) for _ in range(3))
    starts = sorted(draw(st.integers(0, ends[0])) for _ in range(3))
    stable = sorted(draw(st.integers(starts[-1], max(starts[-1], ends[0]))) for _ in range(3))
    clocks = sorted(draw(st.integers(0, 12_000)) for _ in range(3))
    moments = zip(starts, ends, stable, clocks, strict=True)
    return times, [Moment(LogState(*each[:3]), each[1], float(each[3])) for each in moments]


def log_of(times: list[int], before: Moment, after: Moment) -> Log:
    known = times[: after.records]

    def first_at(ms: int) -> int | None:
        return next((offset for offset, each in enumerate(known) if each >= ms), None)

    return Log(before.state, after.state, first_at, before.ms, after.ms)


@pytest.mark.parametrize("options", BOUNDS, ids=str)
@given(growing())
def test_what_is_planned_lies_between(
    options: dict[str, str], drawn: tuple[list[int], list[Moment]]
) -> None:
    times, (before, planned, after) = drawn
    around, exact = log_of(times, before, after), log_of(times, planned, planned)
    for bound in (start_between, end_between):
        least, most = bound(options, PLACE, exact)
        assert least == most or options.get("endingOffsets") == BOUNDS[8]["endingOffsets"]
        between = bound(options, PLACE, around)
        assert between.least <= least <= most <= between.most


STATE = LogState(2, 10, 8)
# Records at 2 s and 5 s.
STILL = Log(STATE, STATE, lambda ms: next((at for at in (2, 5) if at * 1_000 >= ms), None))


@pytest.mark.parametrize(
    ("options", "start", "end"),
    [
        ({}, 2, 10),
        ({"kafka.isolation.level": "read_committed", "startingOffsets": "latest"}, 8, 8),
        ({"startingOffsets": "latest-3", "endingOffsets": "latest-1"}, 7, 9),
        ({"startingOffsets": "latest-30"}, 2, 10),
        ({"startingTimestamp": "2001", "endingTimestamp": "5001"}, 5, 10),
        ({"startingOffsets": '{"t": {"1": 4}}', "endingOffsets": '{"t": {"1": 6}}'}, 4, 6),
        ({"startingOffsets": '{"t": {"1": -2}}', "endingOffsets": '{"t": {"1": -1}}'}, 2, 10),
    ],
)
def test_a_log_that_stands_still(options: dict[str, str], start: int, end: int) -> None:
    assert start_between(options, PLACE, STILL) == Between(start, start)
    assert end_between(options, PLACE, STILL) == Between(end, end)


def test_what_is_not_known_is_wide() -> None:
    later, group = {"startingTimestamp": "2001"}, {"startingOffsets": "group"}
    assert start_between(later, PLACE, STILL._replace(has_markers=True)) == Between(0, 5)
    assert end_between({}, PLACE, STILL._replace(has_old_leaders=True)) == Between(0, 10)
    assert end_between({"endingOffsets": '{"t": {"1": 60}}'}, PLACE, STILL) == Between(10, 60)
    known = STILL._replace(group=Between(3, 4))
    assert start_between(group, PLACE, known) == Between(3, 4)
