"""What a measured lag says of one partition."""

from __future__ import annotations

import pytest

from kafka_spark_source.lag.measured import MeasuredLag


@pytest.mark.parametrize(
    ("committed", "earliest", "latest", "records", "lost", "is_beyond"),
    [
        (3, 0, 12, 9, 0, False),
        (3, 10, 12, 2, 7, False),  # retention was faster
        (None, 10, 12, 2, 10, False),
        (12, 0, 12, 0, 0, False),
        (13, 0, 12, 0, 0, True),  # another topic, or a log that was cut
        (3, None, None, None, None, False),  # the partition is gone
    ],
)
def test_records_lost_and_beyond(
    committed: int | None,
    earliest: int | None,
    latest: int | None,
    records: int | None,
    lost: int | None,
    is_beyond: bool,
) -> None:
    lag = MeasuredLag("0", "t", 0, 15, committed, earliest, latest, 100)
    assert (lag.records, lag.lost, lag.is_beyond) == (records, lost, is_beyond)
    assert lag.is_gone == (latest is None)
