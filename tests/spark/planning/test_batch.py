"""Planning a batch read: offset ranges and losses, from requested ranges and offsets."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import DataLossError, KafkaConfigError
from kafka_protocol.topic_partition import LogBounds, OffsetRange, TopicPartition
from kafka_spark_source.planning.batch import (
    BatchPlan,
    BatchRequest,
    MissingPartitionsError,
    Parts,
    plan,
)
from kafka_spark_source.planning.bounds import requested_ranges
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.planning.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Ago,
    BeforeLatest,
    Bounds,
    Everywhere,
    Position,
    SpecificOffsets,
    Timestamp,
)
from kafka_spark_source.planning.predicates import Predicate, Predicates
from tests.config_error import config_error

T0, T1, T10, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("t", 10), ("u", 0)])
NOW_MS = 1_000_000

# Offsets by timestamp, as ListOffsets returns them.
Listed = dict[TopicPartition, dict[int, int]]
HELD: Listed = {T0: {EARLIEST: 5, LATEST: 10}}


def request_of(
    starting: Position,
    ending: Position,
    listed: Listed = HELD,
    *,
    assigned: Collection[TopicPartition] | None = None,
    fail_on_no_match: bool = True,
    **details: Any,
) -> BatchRequest:
    partitions = listed if assigned is None else assigned
    wanted = requested_ranges(
        partitions, starting, ending, now_ms=NOW_MS, fail_on_no_match=fail_on_no_match
    )
    return BatchRequest(wanted, [*listed], **details)


def plan_of(
    starting: Position, ending: Position, listed: Listed = HELD, **details: Any
) -> BatchPlan:
    """Plan with the offsets that are needed and no others."""
    request = request_of(starting, ending, listed, **details)
    needed = request.needed_positions()
    return plan(
        request, {tp: {at: listed[tp][at] for at in positions} for tp, positions in needed.items()}
    )


def ranges_of(planned: BatchPlan) -> tuple[OffsetRange, ...]:
    """The ranges of all tasks."""
    return tuple(itertools.chain.from_iterable(planned.tasks))


def test_a_read_of_everything_needs_no_offsets_and_is_bound_late() -> None:
    listed = {tp: {EARLIEST: 0, LATEST: 9} for tp in (U0, T10, T1, T0)}
    assert request_of(FROM_EARLIEST, TO_LATEST, listed).needed_positions() == {}
    planned = plan_of(FROM_EARLIEST, TO_LATEST, listed)
    assert ranges_of(planned) == tuple(
        OffsetRange(tp, EARLIEST, LATEST) for tp in (T0, T1, T10, U0)
    )
    assert planned.losses == ()


def test_a_given_offset_needs_both_ends_of_the_log() -> None:
    listed: Listed = {T0: {}, T1: {}}
    starting = SpecificOffsets({T0: 3, T1: EARLIEST})
    assert request_of(starting, TO_LATEST, listed).needed_positions() == {T0: {EARLIEST, LATEST}}


def test_offsets_of_requested_times_are_needed() -> None:
    request = request_of(Everywhere(Timestamp(7)), Everywhere(Ago(100)), {T0: {}})
    assert request.needed_positions() == {T0: {EARLIEST, LATEST, 7, NOW_MS - 100}}


def test_a_plan_without_partitions_is_empty() -> None:
    assert plan_of(FROM_EARLIEST, TO_LATEST, {}) == BatchPlan((), ())


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
        # An empty range loses nothing.
        (SpecificOffsets({T0: 3}), SpecificOffsets({T0: 3}), (3, 3)),
        # Relative positions are fixed when the read is planned.
        (Everywhere(BeforeLatest(2)), TO_LATEST, (8, LATEST)),
        (Everywhere(BeforeLatest(99)), Everywhere(BeforeLatest(1)), (5, 9)),
    ],
    ids=str,
)
def test_a_range_within_the_log_is_planned_as_requested(
    starting: Position, ending: Position, expected: tuple[int, int]
) -> None:
    planned = plan_of(starting, ending)
    assert planned == BatchPlan(((OffsetRange(T0, *expected),),), ())


NONE = -1


@pytest.mark.parametrize(
    ("starting", "ending", "found", "expected"),
    [
        (Timestamp(7), None, {7: 8}, (8, LATEST)),
        (None, Timestamp(7), {7: 8}, (EARLIEST, 8)),
        (Timestamp(3), Timestamp(7), {3: 6, 7: 8}, (6, 8)),
        # An ending time after all records is the end, as it is now.
        (None, Timestamp(7), {7: NONE}, (EARLIEST, 10)),
        (Ago(100), None, {NOW_MS - 100: 8}, (8, LATEST)),
        (Ago(100), None, {NOW_MS - 100: NONE}, (10, LATEST)),
        (Ago(2 * NOW_MS), None, {0: 5}, (5, LATEST)),
        # The record was written after the end was listed.
        (Timestamp(7), None, {7: 12}, (12, LATEST)),
    ],
    ids=str,
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
    assert ranges_of(planned) == (OffsetRange(T0, *expected),)


def test_a_starting_time_after_all_records() -> None:
    listed = {T0: {EARLIEST: 5, LATEST: 10, 7: NONE}}
    assert config_error(plan_of, Everywhere(Timestamp(7)), TO_LATEST, listed).startswith(
        "No offset matched from request of topic-partition t-0 and timestamp 7: "
    )
    planned = plan_of(Everywhere(Timestamp(7)), TO_LATEST, listed, fail_on_no_match=False)
    assert ranges_of(planned) == (OffsetRange(T0, 10, LATEST),)


def test_only_the_outer_edges_of_a_split_range_are_bound_late() -> None:
    listed = {T0: {EARLIEST: 0, LATEST: 4}}
    planned = plan_of(FROM_EARLIEST, TO_LATEST, listed, parts=Parts(at_least=3))
    assert ranges_of(planned) == (
        OffsetRange(T0, EARLIEST, 1),
        OffsetRange(T0, 1, 2),
        OffsetRange(T0, 2, LATEST),
    )


def test_enough_partitions_are_not_split_and_need_no_offsets() -> None:
    listed = {tp: {EARLIEST: 0, LATEST: 4} for tp in (T0, T1)}
    request = request_of(FROM_EARLIEST, TO_LATEST, listed, parts=Parts(at_least=2))
    assert request.needed_positions() == {}
    assert len(ranges_of(plan(request, {}))) == 2


def test_small_ranges_share_a_task_and_need_offsets() -> None:
    listed = {tp: {EARLIEST: 0, LATEST: 4} for tp in (T0, T1, U0)}
    coalesced = Parts(are_coalesced=True)
    request = request_of(FROM_EARLIEST, TO_LATEST, listed, parts=coalesced)
    assert request.needed_positions() == {tp: {EARLIEST, LATEST} for tp in listed}
    planned = plan_of(FROM_EARLIEST, TO_LATEST, listed, parts=coalesced)
    assert planned.tasks == (tuple(OffsetRange(tp, EARLIEST, LATEST) for tp in (T0, T1, U0)),)


def test_a_single_partition_needs_no_offsets_to_be_alone() -> None:
    listed = {T0: {EARLIEST: 0, LATEST: 4}}
    request = request_of(FROM_EARLIEST, TO_LATEST, listed, parts=Parts(are_coalesced=True))
    assert request.needed_positions() == {}


def test_whole_ranges_are_not_split_but_may_share_tasks() -> None:
    listed = {tp: {EARLIEST: 0, LATEST: 4} for tp in (T0, T1, U0)}
    for at_least, tasks in ((9, 3), (2, 2), (None, 1)):
        parts = Parts(at_least, are_coalesced=True, are_whole=True)
        planned = plan_of(FROM_EARLIEST, TO_LATEST, listed, parts=parts)
        assert len(planned.tasks) == tasks
        assert sorted(ranges_of(planned)) == [OffsetRange(tp, EARLIEST, LATEST) for tp in listed]


def test_a_default_read_is_split_by_records_too() -> None:
    planned = plan_of(FROM_EARLIEST, TO_LATEST, parts=Parts(max_records=2))
    assert ranges_of(planned) == (
        OffsetRange(T0, EARLIEST, 6),
        OffsetRange(T0, 6, 8),
        OffsetRange(T0, 8, LATEST),
    )


def test_predicates_skip_partitions_and_offsets() -> None:
    listed = {tp: {EARLIEST: 5, LATEST: 10, 7: 8} for tp in (T0, T1, U0)}
    of_t = (Predicate("topic", "EqualTo", "t"),)

    def ranges(predicates: Predicates) -> tuple[OffsetRange, ...]:
        return ranges_of(plan_of(FROM_EARLIEST, TO_LATEST, listed, predicates=predicates))

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


def test_a_time_after_all_records_leaves_nothing_to_read() -> None:
    listed = {T0: {EARLIEST: 0, LATEST: 10, 7: NONE}}
    planned = plan_of(FROM_EARLIEST, TO_LATEST, listed, predicates=Predicates(since_ms=7))
    assert ranges_of(planned) == ()


def test_where_records_were_deleted_a_broker_may_not_find_those_of_a_time() -> None:
    """It looks into the first segment with a late enough timestamp, of a deleted record too."""
    listed = {T0: {EARLIEST: 5, LATEST: 10, 7: NONE}}
    request = request_of(FROM_EARLIEST, TO_LATEST, listed, predicates=Predicates(since_ms=7))
    assert request.with_unknown_times(listed, {}) == [T0]
    whole = (OffsetRange(T0, EARLIEST, LATEST),)
    for newest_ms, expected in (({}, whole), ({T0: 7}, whole), ({T0: 6}, ())):
        assert ranges_of(plan(request, listed, newest_ms=newest_ms)) == expected


LOST = [
    pytest.param(3, 8, (5, 8), id="aged out in part"),
    pytest.param(7, 12, (7, 10), id="not written in part"),
    pytest.param(3, 12, (5, 10), id="both"),
    pytest.param(1, 4, (4, 4), id="aged out"),
    pytest.param(11, 15, (10, 10), id="not written"),
]


@pytest.mark.parametrize(("start", "end", "left"), LOST)
def test_a_range_is_cut_to_the_log_with_a_loss(start: int, end: int, left: tuple[int, int]) -> None:
    planned = plan_of(SpecificOffsets({T0: start}), SpecificOffsets({T0: end}))
    assert ranges_of(planned) == (OffsetRange(T0, *left),)
    (loss,) = planned.losses
    assert isinstance(loss, DataLossError)
    assert loss.condition == "COULD_NOT_READ_OFFSET_RANGE"
    assert loss.reason == (
        f"Could not read records in offset [{start}, {end}) for topic partition t-0: the log holds "
        "[5, 10)."
    )
    assert "set the option failOnDataLoss to false" in str(loss)


@pytest.mark.parametrize(
    ("starting", "ending", "resolved"),
    [
        (SpecificOffsets({T0: 11}), TO_LATEST, (11, 10)),
        (FROM_EARLIEST, SpecificOffsets({T0: 4}), (5, 4)),
    ],
    ids=["start after latest", "end before earliest"],
)
def test_a_start_after_the_resolved_end_is_refused(
    starting: Position, ending: Position, resolved: tuple[int, int]
) -> None:
    assert config_error(plan_of, starting, ending) == (
        "[RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET] The resolved start offset "
        f"{resolved[0]} is greater than the resolved end offset {resolved[1]} for topic t "
        "partition 0, whose log holds [5, 10): correct where the read starts or ends."
    )


@pytest.mark.parametrize(
    "specified",
    [{}, {T0: 7}, {T0: 7, T1: 7, T10: 7}, {T0: 7, T10: 7}],
    ids=["none", "too few", "too many", "others"],
)
def test_offsets_must_name_the_assigned_partitions(specified: Bounds) -> None:
    listed = {tp: {EARLIEST: 5, LATEST: 10} for tp in (T1, T0)}
    position, names = SpecificOffsets(specified), ", ".join(map(str, specified))
    for noun, word, starting, ending in (
        ("start", "-2 for earliest", position, TO_LATEST),
        ("end", "-1 for latest", FROM_EARLIEST, position),
    ):
        assert config_error(plan_of, starting, ending, listed) == (
            "[KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED] Partitions specified for Kafka "
            f"{noun} offsets don't match what are assigned. If {noun}ingOffsets contains specific "
            f"offsets, you must specify all TopicPartitions. Use {word}, if you don't care. "
            f"Specified: {names} Assigned: t-0, t-1"
        )


@pytest.mark.parametrize(
    ("assigned", "sentence"),
    [
        ([T0, T10], "Partition t-10 does not exist"),
        ([T10, T1, T0], "Partitions t-1, t-10 do not exist"),
    ],
    ids=["one", "two"],
)
def test_missing_partitions_are_a_loss(assigned: list[TopicPartition], sentence: str) -> None:
    planned = plan_of(FROM_EARLIEST, TO_LATEST, assigned=assigned)
    assert ranges_of(planned) == (OffsetRange(T0, EARLIEST, LATEST),)
    (loss,) = planned.losses
    assert isinstance(loss, MissingPartitionsError)
    assert loss.partitions == tuple(sorted(set(assigned) - {T0}))
    assert loss.reason == f"{sentence}."
    assert str(loss) == (
        f"{sentence}: correct the options 'subscribe' or 'assign', or set failOnDataLoss to false "
        "to read without them."
    )


def test_offsets_may_name_a_missing_assigned_partition() -> None:
    starting = SpecificOffsets({T0: 6, T1: 6})
    planned = plan_of(starting, TO_LATEST, assigned=[T0, T1])
    assert ranges_of(planned) == (OffsetRange(T0, 6, LATEST),)


def test_missing_partitions_come_before_lost_records() -> None:
    ending = SpecificOffsets({T0: 11, T1: 11})
    planned = plan_of(FROM_EARLIEST, ending, assigned=[T0, T1])
    assert [type(loss) for loss in planned.losses] == [MissingPartitionsError, DataLossError]


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
    st.booleans(),
)
def test_a_plan_reads_exactly_the_available_part_of_the_request(
    cases: list[tuple[LogBounds, int, int]],
    at_least: int | None,
    max_records: int | None,
    are_coalesced: bool,
) -> None:
    named = {TopicPartition("t", number): case for number, case in enumerate(cases)}
    listed = {tp: {EARLIEST: log.earliest, LATEST: log.latest} for tp, (log, _, _) in named.items()}
    starting = SpecificOffsets({tp: case[1] for tp, case in named.items()})
    ending = SpecificOffsets({tp: case[2] for tp, case in named.items()})
    resolved = {
        tp: (held.earliest if start < 0 else start, held.latest if end < 0 else end)
        for tp, (held, start, end) in named.items()
    }
    details = {"parts": Parts(at_least, max_records, are_coalesced)}
    if any(start > end for start, end in resolved.values()):
        with pytest.raises(KafkaConfigError, match="RESOLVED_START_OFFSET"):
            plan_of(starting, ending, listed, **details)
        return
    planned = plan_of(starting, ending, listed, **details)
    is_lossless = True
    for topic_partition, (held, _, _) in named.items():
        wanted = set(range(*resolved[topic_partition]))
        available = set(range(*held))
        read = [
            offset
            for tp, start, until in ranges_of(planned)
            if tp == topic_partition
            for offset in range(
                held.earliest if start == EARLIEST else start,
                held.latest if until == LATEST else until,
            )
        ]
        assert sorted(read) == sorted(wanted & available)
        is_lossless &= wanted <= available
    assert is_lossless is (planned.losses == ())


def test_a_plan_does_not_depend_on_the_order_of_the_offsets() -> None:
    listed = {tp: {EARLIEST: 0, LATEST: 1} for tp in (T0, T1, T10, U0)}
    plans = {
        plan_of(FROM_EARLIEST, Everywhere(BeforeLatest(0)), {tp: listed[tp] for tp in order})
        for order in itertools.permutations(listed)
    }
    assert len(plans) == 1
