from __future__ import annotations

import pytest

from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.stream import (
    AvailableNowError,
    Ends,
    StreamPlan,
    check_available_now,
    deleted,
    plan_stream,
)

T0, T1, T10, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("t", 10), ("u", 0)])


def test_ranges_are_sorted_and_none_is_empty() -> None:
    planned = plan_stream({U0: 0, T10: 1, T1: 4, T0: 2}, {U0: 3, T10: 2, T1: 4, T0: 9}, {})
    assert planned == StreamPlan(
        (OffsetRange(T0, 2, 9), OffsetRange(T10, 1, 2), OffsetRange(U0, 0, 3)), ()
    )


def test_nothing_between_two_offsets() -> None:
    assert plan_stream({}, {}, {}) == StreamPlan((), ())
    assert plan_stream({T0: 4}, {T0: 4}, {}) == StreamPlan((), ())


def test_a_new_partition_is_read_from_its_beginning() -> None:
    assert plan_stream({T0: 4}, {T0: 4, T1: 7}, {T1: 0}) == StreamPlan((OffsetRange(T1, 0, 7),), ())


def test_where_a_known_partition_begins_says_nothing() -> None:
    assert plan_stream({T0: 4}, {T0: 7}, {T0: 5}) == StreamPlan((OffsetRange(T0, 4, 7),), ())


@pytest.mark.parametrize(
    ("start", "end", "earliest", "ranges", "condition", "what"),
    [
        pytest.param(
            {T0: 5},
            {T0: 2},
            {},
            (),
            "PARTITION_OFFSET_CHANGED",
            "Partition t-0 offset was changed from 5 to 2.",
            id="shrunk",
        ),
        pytest.param(
            {U0: 5, T0: 1, T1: 1},
            {T1: 3},
            {},
            ((T1, 1, 3),),
            "PARTITIONS_DELETED",
            "Partitions t-0, u-0 have been deleted.",
            id="gone",
        ),
        pytest.param(
            {T0: 5},
            {T0: 5, T1: 7, T10: 9, U0: 3},
            {T10: 3, T1: 4, U0: 0},
            ((T1, 4, 7), (T10, 3, 9), (U0, 0, 3)),
            "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
            "Added partitions do not start from offset 0: t-1 starts from 4, t-10 starts from 3.",
            id="new, and not from 0",
        ),
        pytest.param(
            {T0: 5},
            {T0: 6, U0: 7, T1: 7},
            {},
            ((T0, 5, 6),),
            "INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
            "Cannot find earliest offsets of t-1, u-0. They may have been deleted.",
            id="new, and gone already",
        ),
    ],
)
def test_a_loss_is_told_and_the_rest_is_read(
    start: dict[TopicPartition, int],
    end: dict[TopicPartition, int],
    earliest: dict[TopicPartition, int],
    ranges: tuple[tuple[TopicPartition, int, int], ...],
    condition: str,
    what: str,
) -> None:
    planned = plan_stream(start, end, earliest)
    assert planned.ranges == ranges
    (loss,) = planned.losses
    assert f"[KAFKA_DATA_LOSS.{condition}]" in str(loss)
    assert what in str(loss)
    assert "failOnDataLoss" in str(loss)


def test_every_loss_is_told() -> None:
    planned = plan_stream({T0: 5, T1: 5}, {T0: 2, T10: 9, U0: 7}, {T10: 4})
    assert [str(loss).partition("]")[0] for loss in planned.losses] == [
        "[KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
        "[KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
        "[KAFKA_DATA_LOSS.PARTITIONS_DELETED",
        "[KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED",
    ]


def test_what_is_deleted_is_named_in_order() -> None:
    assert "Partitions t-0, t-10 have been deleted, and more." in str(
        deleted([T10, T0], ", and more")
    )


# --- Trigger.AvailableNow ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "target", "now"),
    [
        ({}, {}, {}),
        ({T0: 5, T1: 0}, {T0: 9, T1: 0}, {T0: 9, T1: 0}),
        ({T0: 9}, {T0: 9}, {T0: 12}),
        ({T0: 5}, {T0: 9}, {T0: 5}),  # cut back, but not behind this micro-batch
        ({T0: 5}, {T0: 9}, {T0: 9, T1: 3}),  # what is new is for the next run
    ],
)
def test_what_is_still_there_is_read(
    end: dict[TopicPartition, int],
    target: dict[TopicPartition, int],
    now: dict[TopicPartition, int],
) -> None:
    check_available_now(end, target, Ends(now, ["another"]))


LOST = "have been lost"
LESS = "report available offset which is less than end offset"


@pytest.mark.parametrize(
    ("end", "target", "now", "condition", "what", "details"),
    [
        pytest.param(
            {T0: 5, T1: 5},
            {T0: 5},
            {T0: 5, T1: 5},
            "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED",
            LOST,
            "there were t-0, and t-0, t-1 are to be read",
            id="came",
        ),
        pytest.param(
            {T0: 5},
            {T0: 5, T1: 5},
            {T0: 5, T1: 5},
            "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED",
            LOST,
            "there were t-0, t-1, and t-0 are to be read",
            id="went",
        ),
        pytest.param(
            {T0: 6},
            {T0: 5},
            {T0: 9},
            "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED",
            LESS,
            "t-0 is to be read up to 6 and ends at 5",
            id="beyond the target",
        ),
        pytest.param(
            {U0: 5, T0: 5, T1: 5},
            {U0: 5, T0: 5, T1: 5},
            {T1: 5},
            "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW",
            LOST,
            "t-0, u-0 do not exist any more",
            id="deleted",
        ),
        pytest.param(
            {T10: 5, T0: 5, T1: 5},
            {T10: 9, T0: 9, T1: 9},
            {T10: 3, T0: 4, T1: 5},
            "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW",
            LESS,
            "t-0 is to be read up to 5 and ends at 4, t-10 is to be read up to 5 and ends at 3",
            id="shrunk",
        ),
    ],
)
def test_what_is_not_there_any_more_fails_a_run_that_has_to_read_it(
    end: dict[TopicPartition, int],
    target: dict[TopicPartition, int],
    now: dict[TopicPartition, int],
    condition: str,
    what: str,
    details: str,
) -> None:
    with pytest.raises(AvailableNowError) as caught:
        check_available_now(end, target, Ends(now, ()))
    assert str(caught.value) == (
        f"[{condition}] Some of partitions in Kafka topic(s) {what} during running query with "
        "Trigger.AvailableNow. The error could be transient - restart your query: "
        f"{details}."
    )
    assert not caught.value.retriable


def test_another_topic_of_the_same_name_fails_such_a_run_however_much_it_holds() -> None:
    offsets = {T1: 5, T0: 5, U0: 5}
    with pytest.raises(AvailableNowError, match=r"LOST_TOPIC_.* of t-0, t-1 were deleted and re-"):
        check_available_now(offsets, offsets, Ends(dict.fromkeys(offsets, 99), ["t"]))
