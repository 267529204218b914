"""What each partition is asked for; `test_planning` has more on maps that do not match."""

from __future__ import annotations

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.bounds import Ends, Since, ends_of
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.planning.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Ago,
    BeforeLatest,
    Everywhere,
    SpecificOffsets,
    SpecificTimestamps,
    Timestamp,
)

T0, T1, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("u", 0)])


def test_the_ends_of_a_read_of_everything_are_late() -> None:
    ends = ends_of([T0, U0], FROM_EARLIEST, TO_LATEST, now_ms=0)
    assert ends == {T0: Ends(EARLIEST, LATEST), U0: Ends(EARLIEST, LATEST)}
    assert ends[T0].are_late


def test_times_are_fixed_and_know_what_no_match_means() -> None:
    position = SpecificOffsets({T0: Ago(300), T1: BeforeLatest(4)})
    ends = ends_of([T0, T1], position, Everywhere(Timestamp(9)), now_ms=1_000)
    assert ends == {
        T0: Ends(Since(700, fail_if_none=False), Since(9, fail_if_none=False)),
        T1: Ends(BeforeLatest(4), Since(9, fail_if_none=False)),
    }
    assert ends[T0].positions == {EARLIEST, LATEST, 700, 9}
    for fail in (True, False):
        (end,) = ends_of(
            [T0], Everywhere(Timestamp(9)), TO_LATEST, now_ms=0, fail_on_no_match=fail
        ).values()
        assert end.start == Since(9, fail)


def test_nothing_is_older_than_1970() -> None:
    (end,) = ends_of([T0], Everywhere(Ago(300)), TO_LATEST, now_ms=200).values()
    assert end.start == Since(0, fail_if_none=False)


def test_a_topic_s_name_stands_for_all_its_partitions() -> None:
    position = SpecificOffsets({"t": EARLIEST, U0: 23})
    ends = ends_of([T0, T1, U0], position, TO_LATEST, now_ms=0)
    assert [ends[tp].start for tp in (T0, T1, U0)] == [EARLIEST, EARLIEST, 23]


def test_a_topic_without_assigned_partitions_is_refused() -> None:
    with pytest.raises(KafkaConfigError) as caught:
        ends_of([T0], SpecificOffsets({"t": EARLIEST, "u": EARLIEST}), TO_LATEST, now_ms=0)
    assert str(caught.value) == (
        "[KAFKA_TOPIC_OFFSET_DOES_NOT_MATCH_ASSIGNED] Topics specified for Kafka start offsets "
        "have no partition that is assigned: u. Take them out of the option."
    )


@pytest.mark.parametrize(
    "named", [{}, {T0: Timestamp(1)}, dict.fromkeys([T0, T1, U0], Timestamp(1))]
)
def test_timestamps_must_be_for_the_assigned_partitions(
    named: dict[TopicPartition, Timestamp],
) -> None:
    position = SpecificTimestamps(named)  # type: ignore[arg-type]
    for noun, ends in (("start", (position, TO_LATEST)), ("end", (FROM_EARLIEST, position))):
        with pytest.raises(KafkaConfigError) as caught:
            ends_of([T1, T0], *ends, now_ms=0)
        assert str(caught.value) == (
            "[KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED] Partitions specified for Kafka "
            f"{noun} timestamps don't match what are assigned. {noun}ingOffsetsByTimestamp must "
            f"name all TopicPartitions, and no others. Specified: {', '.join(map(str, named))} "
            "Assigned: t-0, t-1"
        )
