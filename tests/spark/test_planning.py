from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import DataLossError, KafkaConfigError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.offsets import (
    EARLIEST,
    LATEST,
    EarliestPosition,
    LatestPosition,
    Position,
    SpecificOffsets,
)
from kafka_spark_source.planning import (
    BatchPlan,
    LogBounds,
    log_bounds,
    needed_positions,
    plan,
)

T0, T1, T10, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("t", 10), ("u", 0)])
FROM_EARLIEST, TO_LATEST = EarliestPosition(), LatestPosition()
BOUNDS = {T0: LogBounds(5, 10)}


def plan_one(start: int, end: int, *, fail_on_data_loss: bool = True) -> BatchPlan:
    return plan(
        [T0],
        SpecificOffsets({T0: start}),
        SpecificOffsets({T0: end}),
        BOUNDS,
        fail_on_data_loss=fail_on_data_loss,
    )


def test_both_ends_of_each_log_are_needed() -> None:
    needed = needed_positions(iter([T1, T0]))
    assert needed.earliest == {T0: EARLIEST, T1: EARLIEST}
    assert needed.latest == {T0: LATEST, T1: LATEST}


def test_bounds_are_joined_and_never_backwards() -> None:
    joined = log_bounds({T0: 5, T1: 9}, {T0: 10, T1: 7})
    assert joined == {T0: LogBounds(5, 10), T1: LogBounds(9, 9)}


def test_partitions_come_in_order_and_empty_ones_too() -> None:
    bounds = {U0: LogBounds(0, 3), T10: LogBounds(4, 4), T1: LogBounds(1, 2), T0: LogBounds(0, 9)}
    planned = plan([U0, T10, T1, T0], FROM_EARLIEST, TO_LATEST, bounds, fail_on_data_loss=True)
    assert planned.ranges == (
        OffsetRange(T0, 0, 9),
        OffsetRange(T1, 1, 2),
        OffsetRange(T10, 4, 4),
        OffsetRange(U0, 0, 3),
    )
    assert planned.warnings == ()


def test_no_partitions_are_no_ranges() -> None:
    planned = plan([], FROM_EARLIEST, TO_LATEST, {}, fail_on_data_loss=True)
    assert planned == BatchPlan((), (), ())


@pytest.mark.parametrize(
    ("starting", "ending", "expected"),
    [
        (FROM_EARLIEST, TO_LATEST, (5, 10)),
        (SpecificOffsets({T0: 7}), TO_LATEST, (7, 10)),
        (FROM_EARLIEST, SpecificOffsets({T0: 7}), (5, 7)),
        (SpecificOffsets({T0: EARLIEST}), SpecificOffsets({T0: LATEST}), (5, 10)),
        (SpecificOffsets({T0: 5}), SpecificOffsets({T0: 10}), (5, 10)),
        (SpecificOffsets({T0: 10}), TO_LATEST, (10, 10)),
        (SpecificOffsets({T0: 7}), SpecificOffsets({T0: 7}), (7, 7)),
        # Nothing is asked for, so nothing can be lost.
        (SpecificOffsets({T0: 3}), SpecificOffsets({T0: 3}), (3, 3)),
    ],
)
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_what_the_log_holds_is_planned_as_asked(
    starting: Position, ending: Position, expected: tuple[int, int], fail_on_data_loss: bool
) -> None:
    planned = plan([T0], starting, ending, BOUNDS, fail_on_data_loss=fail_on_data_loss)
    assert planned == BatchPlan((OffsetRange(T0, *expected),), (), ())


LOST = [
    pytest.param(3, 8, (5, 8), id="aged out in part"),
    pytest.param(7, 12, (7, 10), id="not written in part"),
    pytest.param(3, 12, (5, 10), id="both"),
    pytest.param(1, 4, (4, 4), id="aged out"),
    pytest.param(11, 15, (10, 10), id="not written"),
]


@pytest.mark.parametrize(("start", "end", "left"), LOST)
def test_lost_records_are_an_error(start: int, end: int, left: tuple[int, int]) -> None:
    with pytest.raises(DataLossError) as caught:
        plan_one(start, end)
    assert str(caught.value).startswith(
        "[KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] Could not read records in offset "
        f"[{start}, {end}) for topic partition t-0: the log holds [5, 10). "
    )
    assert "set the option failOnDataLoss to false" in str(caught.value)


@pytest.mark.parametrize(("start", "end", "left"), LOST)
def test_lost_records_are_skipped_with_a_warning(
    start: int, end: int, left: tuple[int, int]
) -> None:
    planned = plan_one(start, end, fail_on_data_loss=False)
    assert planned.ranges == (OffsetRange(T0, *left),)
    assert planned.warnings == (
        f"Could not read records in offset [{start}, {end}) for topic partition t-0: the log holds "
        "[5, 10). Going on without them, since failOnDataLoss is false.",
    )


@pytest.mark.parametrize(
    ("starting", "ending", "resolved"),
    [
        (SpecificOffsets({T0: 11}), TO_LATEST, (11, 10)),
        (FROM_EARLIEST, SpecificOffsets({T0: 4}), (5, 4)),
    ],
)
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_a_start_behind_the_resolved_end_is_refused(
    starting: Position, ending: Position, resolved: tuple[int, int], fail_on_data_loss: bool
) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        plan([T0], starting, ending, BOUNDS, fail_on_data_loss=fail_on_data_loss)
    assert str(caught.value) == (
        "[RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET] The resolved start offset "
        f"{resolved[0]} is greater than the resolved end offset {resolved[1]} for topic t "
        "partition 0, whose log holds [5, 10): correct startingOffsets or endingOffsets."
    )


@pytest.mark.parametrize("specified", [{}, {T0: 7}, {T0: 7, T1: 7, T10: 7}, {T0: 7, T10: 7}])
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_offsets_must_be_for_the_assigned_partitions(
    specified: dict[TopicPartition, int], fail_on_data_loss: bool
) -> None:
    bounds = {T0: LogBounds(5, 10), T1: LogBounds(5, 10)}
    names = ", ".join(map(str, specified))
    with pytest.raises(KafkaConfigError) as caught:
        plan(
            [T1, T0],
            SpecificOffsets(specified),
            TO_LATEST,
            bounds,
            fail_on_data_loss=fail_on_data_loss,
        )
    assert str(caught.value) == (
        "[KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED] Partitions specified for Kafka start offsets "
        "don't match what are assigned. If startingOffsets contains specific offsets, you must "
        "specify all TopicPartitions. Use -2 for earliest, if you don't care. "
        f"Specified: {names} Assigned: t-0, t-1"
    )
    with pytest.raises(KafkaConfigError) as caught:
        plan(
            [T1, T0],
            FROM_EARLIEST,
            SpecificOffsets(specified),
            bounds,
            fail_on_data_loss=fail_on_data_loss,
        )
    assert str(caught.value) == (
        "[KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED] Partitions specified for Kafka end offsets "
        "don't match what are assigned. If endingOffsets contains specific offsets, you must "
        "specify all TopicPartitions. Use -1 for latest, if you don't care. "
        f"Specified: {names} Assigned: t-0, t-1"
    )


@pytest.mark.parametrize(
    ("assigned", "sentence"),
    [
        ([T0, T10], "Partition t-10 does not exist"),
        ([T10, T1, T0], "Partitions t-1, t-10 do not exist"),
    ],
)
def test_partitions_that_do_not_exist(assigned: list[TopicPartition], sentence: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        plan(assigned, FROM_EARLIEST, TO_LATEST, BOUNDS, fail_on_data_loss=True)
    assert str(caught.value) == (
        f"{sentence}: correct the options 'subscribe' or 'assign', or set failOnDataLoss to false "
        "to read without them."
    )
    planned = plan(assigned, FROM_EARLIEST, TO_LATEST, BOUNDS, fail_on_data_loss=False)
    assert planned.ranges == (OffsetRange(T0, 5, 10),)
    assert planned.missing == tuple(sorted(set(assigned) - {T0}))
    assert planned.warnings == (f"{sentence}: skipped, since failOnDataLoss is false.",)


def test_offsets_may_name_an_assigned_partition_that_does_not_exist() -> None:
    starting = SpecificOffsets({T0: 6, T1: 6})
    planned = plan([T0, T1], starting, TO_LATEST, BOUNDS, fail_on_data_loss=False)
    assert planned == BatchPlan((OffsetRange(T0, 6, 10),), (T1,), ())


def test_what_is_missing_is_told_before_what_is_lost() -> None:
    ending = SpecificOffsets({T0: 11, T1: 11})
    planned = plan([T0, T1], FROM_EARLIEST, ending, BOUNDS, fail_on_data_loss=False)
    assert [warning.split()[0] for warning in planned.warnings] == ["Partition", "Could"]


small = st.integers(0, 12)


@st.composite
def partition_cases(draw: st.DrawFn) -> tuple[LogBounds, int, int]:
    earliest = draw(small)
    bounds = LogBounds(earliest, earliest + draw(small))
    return bounds, draw(small | st.just(EARLIEST)), draw(small | st.just(LATEST))


@given(st.lists(partition_cases(), min_size=1, max_size=4))
def test_a_plan_reads_exactly_what_is_asked_for_and_there(
    cases: list[tuple[LogBounds, int, int]],
) -> None:
    named = {TopicPartition("t", number): case for number, case in enumerate(cases)}
    bounds = {tp: case[0] for tp, case in named.items()}
    starting = SpecificOffsets({tp: case[1] for tp, case in named.items()})
    ending = SpecificOffsets({tp: case[2] for tp, case in named.items()})
    resolved = {
        tp: (held.earliest if start < 0 else start, held.latest if end < 0 else end)
        for tp, (held, start, end) in named.items()
    }
    if any(start > end for start, end in resolved.values()):
        with pytest.raises(KafkaConfigError, match="RESOLVED_START_OFFSET"):
            plan(named, starting, ending, bounds, fail_on_data_loss=False)
        return
    planned = plan(named, starting, ending, bounds, fail_on_data_loss=False)
    assert [range_.topic_partition for range_ in planned.ranges] == sorted(named)
    is_lossless = True
    for topic_partition, start, until in planned.ranges:
        asked = set(range(*resolved[topic_partition]))
        there = set(range(*bounds[topic_partition]))
        assert start <= until
        assert set(range(start, until)) == asked & there
        is_lossless &= asked <= there
    assert is_lossless is (planned.losses == ())
    if is_lossless:
        assert plan(named, starting, ending, bounds, fail_on_data_loss=True) == planned
    else:
        with pytest.raises(DataLossError):
            plan(named, starting, ending, bounds, fail_on_data_loss=True)


def test_the_answer_does_not_hang_on_the_order_of_the_question() -> None:
    bounds = {tp: LogBounds(0, 1) for tp in (T0, T1, T10, U0)}
    plans = {
        plan(order, FROM_EARLIEST, TO_LATEST, bounds, fail_on_data_loss=True)
        for order in itertools.permutations(bounds)
    }
    assert len(plans) == 1
