"""Errors for lost data: they can be pickled, and name the cure."""

from __future__ import annotations

import pickle

import pytest

from kafka_protocol.client.consumer.errors import (
    EpochEnd,
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicGoneError,
)
from kafka_protocol.topic_partition import TopicPartition

PARTITION = TopicPartition("t", 0)


@pytest.mark.parametrize(
    "error",
    [
        OffsetOutOfRangeError(PARTITION, 5, 10, 20),
        TopicGoneError(PARTITION, 5, "was deleted"),
        LogTruncatedError(PARTITION, 5, 7, EpochEnd(6, 3)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_keep_their_attributes_when_pickled(error: Exception) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_the_truncation_error_names_offsets_and_epochs() -> None:
    error = LogTruncatedError(PARTITION, 5, 7, EpochEnd(6, 3))
    assert (error.offset, error.truncated_to, error.epoch) == (5, 3, 7)
    text = str(error)
    assert text.startswith("[KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] The log of t-0 was trunc")
    assert "to offset 3" in text
    assert "offset 5 of leader epoch 7" in text
    assert "knows epoch 6 up to offset 3" in text
    assert "failOnDataLoss" in text
