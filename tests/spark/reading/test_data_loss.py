"""failOnDataLoss: raise the error, or log it and continue after the loss."""

from __future__ import annotations

import logging

import pytest

from kafka_protocol.client.consumer.errors import (
    EpochEnd,
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicGoneError,
)
from kafka_protocol.errors import DataLossError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.stream import deleted
from kafka_spark_source.reading.data_loss import raise_early, range_after_loss, refusal

PARTITION = TopicPartition("t", 0)


def test_a_loss_is_a_refusal_or_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    loss = deleted([PARTITION])
    with caplog.at_level(logging.WARNING):
        assert refusal(loss, fail_on_data_loss=True) is loss
        assert caplog.text == ""
        assert refusal(loss, fail_on_data_loss=False) is None
    assert "t-0 have been deleted. The read continues without them" in caplog.text


def test_a_loss_that_is_raised_early_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    losses = [deleted([PARTITION]), deleted([])]
    with caplog.at_level(logging.WARNING), pytest.raises(DataLossError) as caught:
        raise_early(losses, fail_on_data_loss=True)
    assert caught.value is losses[0]
    raise_early(losses, fail_on_data_loss=False)
    raise_early([], fail_on_data_loss=True)
    assert caplog.text == ""


def test_an_offset_out_of_range_is_raised_with_a_condition() -> None:
    error = OffsetOutOfRangeError(PARTITION, 5, 10, 20)
    with pytest.raises(
        DataLossError,
        match=r"\[KAFKA_DATA_LOSS\.COULD_NOT_READ_OFFSET_RANGE\].*\[5, 15\).*\[10, 20\)",
    ) as caught:
        range_after_loss(error, OffsetRange(PARTITION, 0, 15), fail_on_data_loss=True)
    assert caught.value.__cause__ is error
    assert "failOnDataLoss" in str(caught.value)


@pytest.mark.parametrize(
    ("offset", "log", "until", "expected"),
    [
        pytest.param(5, (10, 20), 15, 10, id="aged out in part"),
        pytest.param(5, (15, 20), 15, 15, id="aged out"),
        pytest.param(5, (30, 40), 15, 15, id="aged out, and more"),
        pytest.param(25, (10, 20), 30, 30, id="shorter log"),
    ],
)
def test_a_read_continues_at_the_next_offset_that_exists(
    caplog: pytest.LogCaptureFixture, offset: int, log: tuple[int, int], until: int, expected: int
) -> None:
    error = OffsetOutOfRangeError(PARTITION, offset, *log)
    with caplog.at_level(logging.WARNING):
        rest = range_after_loss(error, OffsetRange(PARTITION, 0, until), fail_on_data_loss=False)
    assert rest == OffsetRange(PARTITION, expected, until)
    assert f"[{offset}, {until}) for topic partition t-0" in caplog.text


GONE = TopicGoneError(PARTITION, 7, "was deleted")
TRUNCATED = LogTruncatedError(PARTITION, 7, 3, EpochEnd(2, 5))


@pytest.mark.parametrize(
    ("error", "left"), [(GONE, (7, 7)), (TRUNCATED, (7, 15))], ids=["gone", "truncated"]
)
def test_a_loss_during_a_read_is_raised_or_logged(
    caplog: pytest.LogCaptureFixture,
    error: TopicGoneError | LogTruncatedError,
    left: tuple[int, int],
) -> None:
    """A deleted partition has no more records; a truncated log is read on."""
    asked = OffsetRange(PARTITION, 0, 15)
    with pytest.raises(type(error)) as caught:
        range_after_loss(error, asked, fail_on_data_loss=True)
    assert caught.value is error
    with caplog.at_level(logging.WARNING):
        rest = range_after_loss(error, asked, fail_on_data_loss=False)
    assert rest == OffsetRange(PARTITION, *left)
    assert f"{error.reason} The read continues without them" in caplog.text
