"""Planning a micro-batch: ranges, losses, and the checks of Trigger.AvailableNow."""

from __future__ import annotations

import pickle

import pytest

from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.planning.strategies import Assign, Strategy, Subscribe, SubscribePattern
from kafka_spark_source.planning.stream import (
    AvailableNowError,
    LogSnapshot,
    StreamPlan,
    check_available_now,
    deleted,
    plan_stream,
)

# Offsets of three kinds: of start, end and log start, or of end, target and log end.
Three = tuple[Offsets, Offsets, Offsets]

ALL = SubscribePattern("")
T0, T1, T10, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("t", 10), ("u", 0)])


def test_ranges_are_sorted_and_none_is_empty() -> None:
    planned = plan_stream({U0: 0, T10: 1, T1: 4, T0: 2}, {U0: 3, T10: 2, T1: 4, T0: 9}, {}, ALL)
    assert planned == StreamPlan(
        (OffsetRange(T0, 2, 9), OffsetRange(T10, 1, 2), OffsetRange(U0, 0, 3)), ()
    )


def test_equal_offsets_plan_nothing() -> None:
    assert plan_stream({}, {}, {}, ALL) == StreamPlan((), ())
    assert plan_stream({T0: 4}, {T0: 4}, {}, ALL) == StreamPlan((), ())


def test_a_new_partition_is_read_from_its_beginning() -> None:
    planned = plan_stream({T0: 4}, {T0: 4, T1: 7}, {T1: 0}, ALL)
    assert planned == StreamPlan((OffsetRange(T1, 0, 7),), ())


def test_log_starts_of_known_partitions_are_ignored() -> None:
    assert plan_stream({T0: 4}, {T0: 7}, {T0: 5}, ALL) == StreamPlan((OffsetRange(T0, 4, 7),), ())


@pytest.mark.parametrize(
    ("offsets", "ranges", "condition", "what"),
    [
        (
            ({T0: 5}, {T0: 2}, {}),
            (),
            "PARTITION_OFFSET_CHANGED",
            "Partition t-0 offset was changed from 5 to 2.",
        ),
        (
            ({U0: 5, T0: 1, T1: 1}, {T1: 3}, {}),
            ((T1, 1, 3),),
            "PARTITIONS_DELETED",
            "Partitions t-0, u-0 have been deleted.",
        ),
        (
            ({T0: 5}, {T0: 5, T1: 7, T10: 9, U0: 3}, {T10: 3, T1: 4, U0: 0}),
            ((T1, 4, 7), (T10, 3, 9), (U0, 0, 3)),
            "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
            "Added partitions do not start from offset 0: t-1 starts from 4, t-10 starts from 3.",
        ),
        (
            ({T0: 5}, {T0: 6, U0: 7, T1: 7}, {}),
            ((T0, 5, 6),),
            "INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
            "Cannot find earliest offsets of t-1, u-0. They may have been deleted.",
        ),
    ],
    ids=["shrunk", "gone", "new, and not from 0", "new, and gone already"],
)
def test_a_loss_is_reported_and_the_rest_is_planned(
    offsets: Three, ranges: tuple[tuple[TopicPartition, int, int], ...], condition: str, what: str
) -> None:
    planned = plan_stream(*offsets, ALL)
    assert planned.ranges == ranges
    (loss,) = planned.losses
    assert f"[KAFKA_DATA_LOSS.{condition}]" in str(loss)
    assert what in str(loss)
    assert "failOnDataLoss" in str(loss)


@pytest.mark.parametrize(
    ("strategy", "unselected", "gone"),
    [
        (Subscribe(("u",)), "t-0, t-10", ""),
        (Subscribe(("t",)), "", "t-0, t-10"),
        (SubscribePattern("^u$"), "t-0, t-10", ""),
        (Assign((T10,)), "t-0", "t-10"),
    ],
    ids=["topics", "selected topics", "pattern", "partitions"],
)
def test_partitions_that_are_no_longer_selected_were_not_deleted(
    strategy: Strategy, unselected: str, gone: str
) -> None:
    losses = plan_stream({T0: 5, T10: 5, U0: 1}, {U0: 1}, {}, strategy).losses
    texts = [
        *([f"the partitions {unselected}, and the query no longer selects"] if unselected else []),
        *([f"Partitions {gone} have been deleted."] if gone else []),
    ]
    assert len(losses) == len(texts)
    assert all(text in str(loss) for loss, text in zip(losses, texts, strict=True))
    assert pickle.loads(pickle.dumps(losses[0])).args == losses[0].args


def test_every_loss_is_reported() -> None:
    planned = plan_stream({T0: 5, T1: 5}, {T0: 2, T10: 9, U0: 7}, {T10: 4}, ALL)
    assert [str(loss).partition("]")[0] for loss in planned.losses] == [
        "[KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
        "[KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
        "[KAFKA_DATA_LOSS.PARTITIONS_DELETED",
        "[KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED",
    ]


def test_deleted_partitions_are_named_in_order() -> None:
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
        ({T0: 5}, {T0: 9}, {T0: 5}),  # truncated, but not below this micro-batch
        ({T0: 5}, {T0: 9}, {T0: 9, T1: 3}),  # the new partition is for the next run
    ],
    ids=["no partitions", "in part", "completely", "truncated", "new partition"],
)
def test_available_now_can_reach_its_target(end: Offsets, target: Offsets, now: Offsets) -> None:
    check_available_now(end, target, LogSnapshot(1, now, ["another"]))


MISMATCHED = "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED"
LOST = "have been lost"
LESS = "report available offset which is less than end offset"


@pytest.mark.parametrize(
    ("offsets", "condition", "what", "details"),
    [
        (
            ({T0: 5, T1: 5}, {T0: 5}, {T0: 5, T1: 5}),
            MISMATCHED,
            LOST,
            "the query began with t-0 and now has t-0, t-1",
        ),
        (
            ({T0: 5}, {T0: 5, T1: 5}, {T0: 5, T1: 5}),
            MISMATCHED,
            LOST,
            "the query began with t-0, t-1 and now has t-0",
        ),
        (
            ({T0: 6}, {T0: 5}, {T0: 9}),
            "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED",
            LESS,
            "t-0 must be read up to 6 but ends at 5",
        ),
        (
            ({U0: 5, T0: 5, T1: 5}, {U0: 5, T0: 5, T1: 5}, {T1: 5}),
            "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW",
            LOST,
            "t-0, u-0 do not exist any more",
        ),
        (
            ({T10: 5, T0: 5, T1: 5}, {T10: 9, T0: 9, T1: 9}, {T10: 3, T0: 4, T1: 5}),
            "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW",
            LESS,
            "t-0 must be read up to 5 but ends at 4, t-10 must be read up to 5 but ends at 3",
        ),
    ],
    ids=["came", "went", "beyond the target", "deleted", "shrunk"],
)
def test_lost_records_fail_an_available_now_run(
    offsets: Three, condition: str, what: str, details: str
) -> None:
    end, target, now = offsets
    with pytest.raises(AvailableNowError) as caught:
        check_available_now(end, target, LogSnapshot(1, now, ()))
    assert str(caught.value) == (
        f"[{condition}] Some of partitions in Kafka topic(s) {what} during running query with "
        "Trigger.AvailableNow. The error could be transient - restart your query: "
        f"{details}."
    )
    assert not caught.value.retriable


def test_a_re_created_topic_fails_an_available_now_run() -> None:
    offsets = {T1: 5, T0: 5, U0: 5}
    with pytest.raises(AvailableNowError, match=r"LOST_TOPIC_.* of t-0, t-1 were deleted and re-"):
        check_available_now(offsets, offsets, LogSnapshot(1, dict.fromkeys(offsets, 99), ["t"]))
