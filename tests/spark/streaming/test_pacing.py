"""The pauses of an idle query: for little CPU, and for a new record soon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_spark_source.streaming.pacing import Pacing
from tests.fakes.skipping_time import SkippingTime, sleeps_take_no_time

IDLE_SECONDS = 1.1


@pytest.fixture
def time() -> Iterator[SkippingTime]:
    with sleeps_take_no_time() as skipping:
        yield skipping


def trigger(time: SkippingTime, query: Pacing, uses_ms: float) -> None:
    query.pause_if_idle()
    time.use_cpu(uses_ms)


@pytest.mark.parametrize(
    ("uses_ms", "pause_ms"), [(0, 25), (1, 25), (5, 120), (12, 288), (40, 300)]
)
def test_an_idle_query_uses_a_twenty_fifth_of_a_core(
    time: SkippingTime, uses_ms: float, pause_ms: float
) -> None:
    """A trigger on 100 partitions takes 1 ms, on 10,000 some 8 ms."""
    query = Pacing(0)
    time(IDLE_SECONDS)
    for _ in range(4):
        trigger(time, query, uses_ms)
    assert time.pauses_ms == pytest.approx([25, pause_ms, pause_ms, pause_ms])


def test_a_busy_query_is_not_delayed(time: SkippingTime) -> None:
    """The first pause afterwards is no longer than the others."""
    query = Pacing(0)
    for _ in range(3):
        trigger(time, query, 1_000)
    assert time.pauses_ms == []
    query.micro_batch_found()
    time(IDLE_SECONDS)
    trigger(time, query, 5)
    trigger(time, query, 5)
    assert time.pauses_ms == pytest.approx([300, 120])


def test_a_topic_may_wait_from_its_first_records_until_the_delay_has_passed(
    time: SkippingTime,
) -> None:
    query = Pacing(5_000)
    assert not query.may_wait("t")
    query.micro_batch_found({"t"})
    time(4)
    assert query.may_wait("t")
    assert not query.may_wait("u")
    query.micro_batch_found({"u"})
    time(1.1)
    assert not query.may_wait("t")
    assert query.may_wait("u")
