"""When the first unread record was written, by the ends of logs that were seen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.lag.estimated import _MOST_POINTS, EndTimes

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@given(
    st.lists(
        st.tuples(st.integers(1, 10_000), st.integers(0, 50), st.floats(0, 1)),
        min_size=1,
        max_size=60,
    )
)
def test_it_is_between_the_two_ends_around_the_record(
    reports: list[tuple[int, int, float]],
) -> None:
    """Each report is later, some records more were written, and some of the unread ones read."""
    times = EndTimes()
    now = latest = consumed = 0
    seen: list[tuple[int, int]] = []
    for later_ms, written, share in reports:
        now += later_ms
        latest += written
        consumed += int(share * (latest - consumed))
        seen.append((latest, now))
        found = times.behind_ms(T0, consumed, latest, now)
        if consumed == latest:
            assert found == 0
            continue
        after = min(ms for end, ms in seen if end > consumed)
        before = max((ms for end, ms in seen if end <= consumed), default=None)
        assert found >= now - after
        if before is None:
            assert found == now - after
        elif len(seen) <= _MOST_POINTS:
            assert found <= now - before
        assert len(times._points[T0]) <= _MOST_POINTS


def test_a_log_that_is_shorter_is_another_one() -> None:
    times = EndTimes()
    assert times.behind_ms(T0, 0, 100, 1_000) == 0
    assert times.behind_ms(T0, 50, 100, 9_000) == 8_000
    assert times.behind_ms(T0, 0, 10, 10_000) == 0
    assert times.behind_ms(T0, 0, 10, 11_000) == 1_000


def test_other_partitions_are_forgotten() -> None:
    times = EndTimes()
    for each in (T0, T1):
        times.behind_ms(each, 0, 1, 0)
    times.keep_only({T1})
    assert times.behind_ms(T0, 0, 1, 5_000) == 0
    assert times.behind_ms(T1, 0, 1, 5_000) == 5_000
