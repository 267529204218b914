from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import DataLossError, KafkaConfigError
from kafka_protocol.topic_partition import LogBounds, OffsetRange, TopicPartition
from kafka_spark_source.planning.batch import BatchPlan, BatchRequest, Parts, log_bounds, plan
from kafka_spark_source.planning.bounds import ends_of
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.planning.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Ago,
    BeforeLatest,
    Everywhere,
    Position,
    SpecificOffsets,
    Timestamp,
)
from kafka_spark_source.planning.predicates import Predicate, Predicates

T0, T1, T10, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("t", 10), ("u", 0)])
NOW_MS = 1_000_000

# What a partition's log holds, as the answers to positions.
Known = dict[TopicPartition, dict[int, int]]
HELD: Known = {T0: {EARLIEST: 5, LATEST: 10}}


def request_of(
    starting: Position,
    ending: Position,
    known: Known = HELD,
    *,
    assigned: Collection[TopicPartition] | None = None,
    fail_on_no_match: bool = True,
    **details: Any,
) -> BatchRequest:
    partitions = known if assigned is None else assigned
    wanted = ends_of(partitions, starting, ending, now_ms=NOW_MS, fail_on_no_match=fail_on_no_match)
    return BatchRequest(wanted, [*known], **details)


def plan_of(
    starting: Position,
    ending: Position,
    known: Known = HELD,
    **details: Any,
) -> BatchPlan:
    """Plan with answers to what is needed, and to nothing else."""
    request = request_of(starting, ending, known, **details)
    needed = request.needed_positions()
    return plan(
        request, {tp: {at: known[tp][at] for at in positions} for tp, positions in needed.items()}
    )


def plan_one(start: int, end: int, *, fail_on_data_loss: bool = True) -> BatchPlan:
    return plan_of(
        SpecificOffsets({T0: start}),
        SpecificOffsets({T0: end}),
        fail_on_data_loss=fail_on_data_loss,
    )


def test_a_read_of_everything_asks_for_nothing_and_is_bound_late() -> None:
    known = {tp: {EARLIEST: 0, LATEST: 9} for tp in (U0, T10, T1, T0)}
    assert request_of(FROM_EARLIEST, TO_LATEST, known).needed_positions() == {}
    planned = plan_of(FROM_EARLIEST, TO_LATEST, known)
    assert planned.ranges == tuple(OffsetRange(tp, EARLIEST, LATEST) for tp in (T0, T1, T10, U0))
    assert planned.warnings == ()


def test_both_ends_of_a_log_are_needed_where_an_offset_is_given() -> None:
    known = {T0: {}, T1: {}}
    starting = SpecificOffsets({T0: 3, T1: EARLIEST})
    assert request_of(starting, TO_LATEST, known).needed_positions() == {T0: {EARLIEST, LATEST}}


def test_the_times_asked_for_are_needed() -> None:
    request = request_of(Everywhere(Timestamp(7)), Everywhere(Ago(100)), {T0: {}})
    assert request.needed_positions() == {T0: {EARLIEST, LATEST, 7, NOW_MS - 100}}


def test_bounds_are_those_of_the_youngest_answer_and_never_backwards() -> None:
    assert log_bounds({EARLIEST: 5, LATEST: 10, 7: -1}) == LogBounds(5, 10)
    assert log_bounds({EARLIEST: 9, LATEST: 7}) == LogBounds(9, 9)
    assert log_bounds({EARLIEST: 5, LATEST: 10, 7: 11}) == LogBounds(5, 11)


def test_no_partitions_are_no_ranges() -> None:
    assert plan_of(FROM_EARLIEST, TO_LATEST, {}) == BatchPlan((), (), ())


@pytest.mark.parametrize(
    ("starting", "ending", "expected"),
    [
        (SpecificOffsets({T0: 7}), TO_LATEST, (7, LATEST)),
        (FROM_EARLIEST, SpecificOffsets({T0: 7}), (EARLIEST, 7)),
        (SpecificOffsets({T0: EARLIEST}), SpecificOffsets({T0: 7}), (EARLIEST, 7)),
        (SpecificOffsets({T0: 7}), SpecificOffsets({T0: LATEST}), (7, LATEST)),
        (SpecificOffsets({"t": EARLIEST}), SpecificOffsets({"t": LATEST}), (EARLIEST, LATEST)),
        (SpecificOffsets({T0: 5}), SpecificOffsets({T0: 10}), (5, 10)),
        (SpecificOffsets({T0: 10}), TO_LATEST, (10, LATEST)),
        (SpecificOffsets({T0: 7}), SpecificOffsets({T0: 7}), (7, 7)),
        # Nothing is asked for, so nothing can be lost.
        (SpecificOffsets({T0: 3}), SpecificOffsets({T0: 3}), (3, 3)),
        # Relative ones are fixed when the read is planned.
        (Everywhere(BeforeLatest(2)), TO_LATEST, (8, LATEST)),
        (Everywhere(BeforeLatest(99)), Everywhere(BeforeLatest(1)), (5, 9)),
    ],
)
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_what_the_log_holds_is_planned_as_asked(
    starting: Position, ending: Position, expected: tuple[int, int], fail_on_data_loss: bool
) -> None:
    planned = plan_of(starting, ending, fail_on_data_loss=fail_on_data_loss)
    assert planned == BatchPlan((OffsetRange(T0, *expected),), (), ())


NONE = -1


@pytest.mark.parametrize(
    ("starting", "ending", "found", "expected"),
    [
        (Timestamp(7), None, {7: 8}, (8, LATEST)),
        (None, Timestamp(7), {7: 8}, (EARLIEST, 8)),
        (Timestamp(3), Timestamp(7), {3: 6, 7: 8}, (6, 8)),
        # An ending time without a match is the end, as it is now.
        (None, Timestamp(7), {7: NONE}, (EARLIEST, 10)),
        (Ago(100), None, {NOW_MS - 100: 8}, (8, LATEST)),
        (Ago(100), None, {NOW_MS - 100: NONE}, (10, LATEST)),
        (Ago(2 * NOW_MS), None, {0: 5}, (5, LATEST)),
        # The record came after the end was asked for.
        (Timestamp(7), None, {7: 12}, (12, LATEST)),
    ],
)
def test_times_are_planned(
    starting: Timestamp | Ago | None,
    ending: Timestamp | None,
    found: dict[int, int],
    expected: tuple[int, int],
) -> None:
    planned = plan_of(
        FROM_EARLIEST if starting is None else Everywhere(starting),
        TO_LATEST if ending is None else Everywhere(ending),
        {T0: {EARLIEST: 5, LATEST: 10, **found}},
    )
    assert planned.ranges == (OffsetRange(T0, *expected),)


def test_a_starting_time_without_a_match_is_an_error_or_the_end() -> None:
    known = {T0: {EARLIEST: 5, LATEST: 10, 7: NONE}}
    with pytest.raises(KafkaConfigError) as caught:
        plan_of(Everywhere(Timestamp(7)), TO_LATEST, known)
    assert str(caught.value).startswith(
        "No offset matched from request of topic-partition t-0 and timestamp 7: "
    )
    planned = plan_of(Everywhere(Timestamp(7)), TO_LATEST, known, fail_on_no_match=False)
    assert planned.ranges == (OffsetRange(T0, 10, LATEST),)


def test_only_the_outer_edges_of_a_split_range_are_bound_late() -> None:
    known = {T0: {EARLIEST: 0, LATEST: 4}}
    planned = plan_of(FROM_EARLIEST, TO_LATEST, known, parts=Parts(at_least=3))
    assert planned.ranges == (
        OffsetRange(T0, EARLIEST, 1),
        OffsetRange(T0, 1, 2),
        OffsetRange(T0, 2, LATEST),
    )


def test_enough_partitions_are_left_alone_and_asked_nothing() -> None:
    known = {tp: {EARLIEST: 0, LATEST: 4} for tp in (T0, T1)}
    request = request_of(FROM_EARLIEST, TO_LATEST, known, parts=Parts(at_least=2))
    assert request.needed_positions() == {}
    assert len(plan(request, {}).ranges) == 2


def test_a_default_read_is_split_by_records_too() -> None:
    planned = plan_of(FROM_EARLIEST, TO_LATEST, parts=Parts(max_records=2))
    assert planned.ranges == (
        OffsetRange(T0, EARLIEST, 6),
        OffsetRange(T0, 6, 8),
        OffsetRange(T0, 8, LATEST),
    )


def test_predicates_leave_out_partitions_and_offsets() -> None:
    known = {tp: {EARLIEST: 5, LATEST: 10, 7: 8} for tp in (T0, T1, U0)}
    of_t = (Predicate("topic", "EqualTo", "t"),)

    def ranges(predicates: Predicates) -> tuple[OffsetRange, ...]:
        return plan_of(FROM_EARLIEST, TO_LATEST, known, predicates=predicates).ranges

    assert ranges(Predicates(of_t)) == (
        OffsetRange(T0, EARLIEST, LATEST),
        OffsetRange(T1, EARLIEST, LATEST),
    )
    only_t0 = (*of_t, Predicate("partition", "LessThan", 1))
    assert ranges(Predicates(only_t0, from_offset=6)) == (OffsetRange(T0, 6, LATEST),)
    assert ranges(Predicates(only_t0, until_offset=6)) == (OffsetRange(T0, EARLIEST, 6),)
    assert ranges(Predicates(only_t0, since_ms=7)) == (OffsetRange(T0, 8, LATEST),)
    assert ranges(Predicates(only_t0, from_offset=3)) == (OffsetRange(T0, EARLIEST, LATEST),)
    assert ranges(Predicates(only_t0, from_offset=10)) == ()


def test_no_record_of_that_age_is_nothing_to_read() -> None:
    known = {T0: {EARLIEST: 5, LATEST: 10, 7: NONE}}
    planned = plan_of(FROM_EARLIEST, TO_LATEST, known, predicates=Predicates(since_ms=7))
    assert planned.ranges == ()


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
        plan_of(starting, ending, fail_on_data_loss=fail_on_data_loss)
    assert str(caught.value) == (
        "[RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET] The resolved start offset "
        f"{resolved[0]} is greater than the resolved end offset {resolved[1]} for topic t "
        "partition 0, whose log holds [5, 10): correct where the read starts or ends."
    )


@pytest.mark.parametrize("specified", [{}, {T0: 7}, {T0: 7, T1: 7, T10: 7}, {T0: 7, T10: 7}])
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_offsets_must_be_for_the_assigned_partitions(
    specified: dict[TopicPartition, int], fail_on_data_loss: bool
) -> None:
    known = {tp: {EARLIEST: 5, LATEST: 10} for tp in (T1, T0)}
    names = ", ".join(map(str, specified))
    with pytest.raises(KafkaConfigError) as caught:
        plan_of(SpecificOffsets(specified), TO_LATEST, known, fail_on_data_loss=fail_on_data_loss)
    assert str(caught.value) == (
        "[KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED] Partitions specified for Kafka start offsets "
        "don't match what are assigned. If startingOffsets contains specific offsets, you must "
        "specify all TopicPartitions. Use -2 for earliest, if you don't care. "
        f"Specified: {names} Assigned: t-0, t-1"
    )
    with pytest.raises(KafkaConfigError) as caught:
        plan_of(
            FROM_EARLIEST, SpecificOffsets(specified), known, fail_on_data_loss=fail_on_data_loss
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
        plan_of(FROM_EARLIEST, TO_LATEST, assigned=assigned)
    assert str(caught.value) == (
        f"{sentence}: correct the options 'subscribe' or 'assign', or set failOnDataLoss to false "
        "to read without them."
    )
    planned = plan_of(FROM_EARLIEST, TO_LATEST, assigned=assigned, fail_on_data_loss=False)
    assert planned.ranges == (OffsetRange(T0, EARLIEST, LATEST),)
    assert planned.missing == tuple(sorted(set(assigned) - {T0}))
    assert planned.warnings == (f"{sentence}: skipped, since failOnDataLoss is false.",)


def test_offsets_may_name_an_assigned_partition_that_does_not_exist() -> None:
    starting = SpecificOffsets({T0: 6, T1: 6})
    planned = plan_of(starting, TO_LATEST, assigned=[T0, T1], fail_on_data_loss=False)
    assert planned == BatchPlan((OffsetRange(T0, 6, LATEST),), (T1,), ())


def test_what_is_missing_is_told_before_what_is_lost() -> None:
    ending = SpecificOffsets({T0: 11, T1: 11})
    planned = plan_of(FROM_EARLIEST, ending, assigned=[T0, T1], fail_on_data_loss=False)
    assert [warning.split()[0] for warning in planned.warnings] == ["Partition", "Could"]


small = st.integers(0, 12)


@st.composite
def partition_cases(draw: st.DrawFn) -> tuple[LogBounds, int, int]:
    earliest = draw(small)
    bounds = LogBounds(earliest, earliest + draw(small))
    return bounds, draw(small | st.just(EARLIEST)), draw(small | st.just(LATEST))


@given(
    st.lists(partition_cases(), min_size=1, max_size=4),
    st.none() | st.integers(1, 12),
    st.none() | st.integers(1, 5),
)
def test_a_plan_reads_exactly_what_is_asked_for_and_there(
    cases: list[tuple[LogBounds, int, int]], at_least: int | None, max_records: int | None
) -> None:
    named = {TopicPartition("t", number): case for number, case in enumerate(cases)}
    known = {tp: {EARLIEST: case[0].earliest, LATEST: case[0].latest} for tp, case in named.items()}
    starting = SpecificOffsets({tp: case[1] for tp, case in named.items()})
    ending = SpecificOffsets({tp: case[2] for tp, case in named.items()})
    resolved = {
        tp: (held.earliest if start < 0 else start, held.latest if end < 0 else end)
        for tp, (held, start, end) in named.items()
    }
    details = {"parts": Parts(at_least, max_records)}
    if any(start > end for start, end in resolved.values()):
        with pytest.raises(KafkaConfigError, match="RESOLVED_START_OFFSET"):
            plan_of(starting, ending, known, fail_on_data_loss=False, **details)
        return
    planned = plan_of(starting, ending, known, fail_on_data_loss=False, **details)
    is_lossless = True
    for topic_partition, (held, _, _) in named.items():
        asked = set(range(*resolved[topic_partition]))
        there = set(range(*held))
        read = [
            offset
            for tp, start, until in planned.ranges
            if tp == topic_partition
            for offset in range(
                held.earliest if start == EARLIEST else start,
                held.latest if until == LATEST else until,
            )
        ]
        assert sorted(read) == sorted(asked & there)
        is_lossless &= asked <= there
    assert is_lossless is (planned.losses == ())
    if is_lossless:
        assert plan_of(starting, ending, known, **details) == planned
    else:
        with pytest.raises(DataLossError):
            plan_of(starting, ending, known, **details)


def test_the_answer_does_not_hang_on_the_order_of_the_question() -> None:
    known = {tp: {EARLIEST: 0, LATEST: 1} for tp in (T0, T1, T10, U0)}
    plans = {
        plan_of(
            FROM_EARLIEST,
            Everywhere(BeforeLatest(0)),
            {tp: known[tp] for tp in order},
        )
        for order in itertools.permutations(known)
    }
    assert len(plans) == 1
