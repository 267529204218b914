from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest

from kafka_spark_source.planning.positions import parse_position, parse_timestamps
from tests.endurance.torture.made_up import FIRST_MS, partition_of, row, topic_of
from tests.endurance.torture.positions import (
    EARLIEST,
    LATEST,
    Form,
    Position,
    arrow_position,
    end_of,
    end_options,
    gaps,
    start_of,
    start_options,
)

PLACE = ("t", 0)
TRUTH = topic_of("t", 1, count=20, start=5).partitions[0]


@pytest.mark.parametrize(
    ("position", "start", "end"),
    [
        (Position(Form.OMITTED), 5, 20),
        (Position(Form.EARLIEST), 5, 5),
        (Position(Form.LATEST), 20, 20),
        (Position(Form.OFFSETS, {PLACE: 7}), 7, 7),
        (Position(Form.OFFSETS, {PLACE: EARLIEST}), 5, 5),
        (Position(Form.OFFSETS, {PLACE: LATEST}), 20, 20),
        (Position(Form.BEFORE_LATEST, number=4), 16, 16),
        (Position(Form.BEFORE_LATEST, number=1_000), 5, 5),
        (Position(Form.TIME, number=FIRST_MS + 81), 9, 9),
        (Position(Form.TIME, number=FIRST_MS + 80), 8, 8),
        (Position(Form.TIME, number=FIRST_MS + 10_000), 20, 20),
        (Position(Form.TIMES, {PLACE: FIRST_MS}), 5, 5),
    ],
    ids=str,
)
def test_offsets(position: Position, start: int, end: int) -> None:
    assert start_of(position, PLACE, TRUTH, committed=False) == start
    assert end_of(position, PLACE, TRUTH, committed=True) == end


def test_committed_reads_end_at_the_last_stable_offset() -> None:
    truth = TRUTH._replace(stable=12)
    latest = Position(Form.LATEST)
    assert end_of(latest, PLACE, truth, committed=True) == 12
    assert end_of(latest, PLACE, truth, committed=False) == 20


def test_a_marker_is_found_by_any_time_before_the_run() -> None:
    rows = [row("t", 0, offset) for offset in (0, 1, 3, 4)]
    truth = partition_of(rows, 0, 6)
    assert gaps(truth) == [2, 5]
    late = Position(Form.TIME, number=FIRST_MS + 40)
    assert start_of(late, PLACE, truth, committed=True) == 2


def test_the_options_are_those_that_the_source_reads() -> None:
    of = {("a", 0): 3, ("a", 1): EARLIEST, ("b", 0): EARLIEST, ("b", 1): EARLIEST}
    position = Position(Form.OFFSETS, of, words=frozenset("b"))
    (option,) = start_options(position).items()
    assert option[0] == "startingOffsets"
    assert json.loads(option[1]) == {"a": {"0": 3, "1": -2}, "b": "earliest"}
    parse_position(*option)
    (option,) = end_options(Position(Form.TIMES, {("a", 0): 8})).items()
    assert option == ("endingOffsetsByTimestamp", '{"a": {"0": 8}}')
    parse_timestamps(*option)
    assert start_options(Position(Form.BEFORE_LATEST, number=3)) == {"startingOffsets": "latest-3"}
    assert end_options(Position(Form.TIME, number=9)) == {"endingTimestamp": "9"}
    assert end_options(Position(Form.LATEST)) == {"endingOffsets": "latest"}
    assert start_options(Position(Form.OMITTED)) == {}


def test_positions_of_read_topic() -> None:
    of = Position(Form.OFFSETS, {("a", 0): 3, ("b", 1): 4})
    assert arrow_position(of, "b", "latest") == {1: 4}
    at = datetime(2023, 11, 14, 22, 13, 20, 7_000, tzinfo=timezone.utc)
    assert arrow_position(Position(Form.TIME, number=FIRST_MS + 7), "a", "latest") == at
    assert arrow_position(Position(Form.OMITTED), "a", "earliest") == "earliest"
    assert arrow_position(Position(Form.LATEST), "a", "earliest") == "latest"
