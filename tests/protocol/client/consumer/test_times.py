"""Times as ListOffsets takes them: never the number of another position."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import example, given
from hypothesis import strategies as st

from kafka_protocol.client.consumer.times import position_of
from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ZONES = st.sampled_from(
    [timezone.utc, timezone(timedelta(hours=14)), timezone(-timedelta(hours=9))]
)


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=ZONES))
@example(datetime(2004, 8, 13, 19, 10, 10, 643_000, tzinfo=timezone.utc))
@example(EPOCH)
@example(EPOCH - timedelta(microseconds=1))
@example(EPOCH - timedelta(milliseconds=1))
@example(EPOCH - timedelta(milliseconds=3))
def test_the_first_whole_millisecond_that_is_not_before(time: datetime) -> None:
    position = position_of(time)
    if position == EARLIEST_TIMESTAMP:
        assert time <= EPOCH - timedelta(milliseconds=1)
    else:
        assert position >= 0
        assert timedelta(0) <= EPOCH + timedelta(milliseconds=position) - time
        assert EPOCH + timedelta(milliseconds=position) - time < timedelta(milliseconds=1)
