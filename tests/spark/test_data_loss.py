"""failOnDataLoss: raise, or go on where something is left, never backwards."""

from __future__ import annotations

import logging

import pytest

from kafka_protocol.client.fetch import OffsetOutOfRangeError
from kafka_protocol.errors import DataLossError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.data_loss import offset_range_after_loss

PARTITION = TopicPartition("t", 0)


def test_true_raises_with_the_condition() -> None:
    error = OffsetOutOfRangeError(PARTITION, 5, 10, 20)
    with pytest.raises(
        DataLossError,
        match=r"\[KAFKA_DATA_LOSS\.COULD_NOT_READ_OFFSET_RANGE\].*\[5, 15\).*\[10, 20\)",
    ) as caught:
        offset_range_after_loss(error, OffsetRange(PARTITION, 0, 15), fail_on_data_loss=True)
    assert caught.value.__cause__ is error
    assert "failOnDataLoss" in str(caught.value)


@pytest.mark.parametrize(
    ("offset", "log", "until", "expected"),
    [
        (5, (10, 20), 15, 10),  # the head has aged out
        (5, (15, 20), 15, 15),  # all of it has
        (5, (30, 40), 15, 15),
        (25, (10, 20), 30, 30),  # the log is shorter than it was: never back
    ],
)
def test_false_goes_on_where_something_is_left(
    caplog: pytest.LogCaptureFixture, offset: int, log: tuple[int, int], until: int, expected: int
) -> None:
    error = OffsetOutOfRangeError(PARTITION, offset, *log)
    with caplog.at_level(logging.WARNING):
        rest = offset_range_after_loss(
            error, OffsetRange(PARTITION, 0, until), fail_on_data_loss=False
        )
    assert rest == OffsetRange(PARTITION, expected, until)
    assert f"[{offset}, {until}) for topic partition t-0" in caplog.text
