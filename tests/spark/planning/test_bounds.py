"""Requested ranges of partitions; `test_batch` has more on maps that do not match."""

from __future__ import annotations

import pytest

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.bounds import FirstAtOrAfter, RequestedRange, requested_ranges
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.planning.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Ago,
    BeforeLatest,
    Bounds,
    Everywhere,
    SpecificOffsets,
    SpecificTimestamps,
    Timestamp,
)
from tests.config_error import config_error

T0, T1, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("u", 0)])


def test_times_are_absolute_after_planning() -> None:
    position = SpecificOffsets({T0: Ago(300), T1: BeforeLatest(4)})
    ranges = requested_ranges([T0, T1], position, Everywhere(Timestamp(9)), now_ms=1_000)
    assert ranges == {
        T0: RequestedRange(
            FirstAtOrAfter(700, fail_if_none=False), FirstAtOrAfter(9, fail_if_none=False)
        ),
        T1: RequestedRange(BeforeLatest(4), FirstAtOrAfter(9, fail_if_none=False)),
    }
    assert ranges[T0].positions == {EARLIEST, LATEST, 700, 9}
    for fail in (True, False):
        (range_,) = requested_ranges(
            [T0], Everywhere(Timestamp(9)), TO_LATEST, now_ms=0, fail_on_no_match=fail
        ).values()
        assert range_.start == FirstAtOrAfter(9, fail_if_none=fail)


def test_no_time_is_before_1970() -> None:
    (range_,) = requested_ranges([T0], Everywhere(Ago(300)), TO_LATEST, now_ms=200).values()
    assert range_.start == FirstAtOrAfter(0, fail_if_none=False)


def test_a_topic_name_stands_for_all_its_partitions() -> None:
    position = SpecificOffsets({"t": EARLIEST, U0: 23})
    ranges = requested_ranges([T0, T1, U0], position, TO_LATEST, now_ms=0)
    assert [ranges[tp].start for tp in (T0, T1, U0)] == [EARLIEST, EARLIEST, 23]


def test_a_topic_without_assigned_partitions_is_refused() -> None:
    assert config_error(
        requested_ranges, [T0], SpecificOffsets({"t": EARLIEST, "u": EARLIEST}), TO_LATEST, now_ms=0
    ) == (
        "[KAFKA_TOPIC_OFFSET_DOES_NOT_MATCH_ASSIGNED] Topics specified for Kafka start offsets "
        "have no partition that is assigned: u. Remove them from the option."
    )


@pytest.mark.parametrize(
    "named",
    [{}, {T0: Timestamp(1)}, dict.fromkeys([T0, T1, U0], Timestamp(1))],
    ids=["none", "too few", "too many"],
)
def test_timestamps_must_be_for_the_assigned_partitions(named: Bounds) -> None:
    position = SpecificTimestamps(named)
    cause = f"The query does not read {U0.topic!r}. " if U0 in named else ""
    for noun, positions in (("start", (position, TO_LATEST)), ("end", (FROM_EARLIEST, position))):
        assert config_error(requested_ranges, [T1, T0], *positions, now_ms=0) == (
            "[KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED] Partitions specified for Kafka "
            f"{noun} timestamps don't match what are assigned. {cause}"
            f"{noun}ingOffsetsByTimestamp must name all TopicPartitions, and no others. "
            f"Specified: {', '.join(map(str, named))} Assigned: t-0, t-1"
        )
