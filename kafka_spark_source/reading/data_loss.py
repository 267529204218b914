"""failOnDataLoss, once a read runs: the one place that raises, or warns and goes on."""

from __future__ import annotations

import logging
from typing import TypeAlias

from kafka_protocol.client.consumer.fetch import (
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicGoneError,
)
from kafka_protocol.errors import DataLossError
from kafka_protocol.topic_partition import LogBounds, OffsetRange
from kafka_spark_source.planning.batch import DataLoss

_log = logging.getLogger(__name__)

# What a task can find gone for good.
Loss: TypeAlias = OffsetOutOfRangeError | LogTruncatedError | TopicGoneError


def range_after_loss(error: Loss, asked: OffsetRange, *, fail_on_data_loss: bool) -> OffsetRange:
    """What is left to read when a part of a range is gone.

    Args:
        error: What is missing.
        asked: The range that was being read.
        fail_on_data_loss: The option of that name.

    Returns:
        The range from the next offset that exists, or an empty one where nothing is left. It
        never begins at an offset that was read before.

    Raises:
        DataLossError: `fail_on_data_loss` is set.
    """
    if isinstance(error, OffsetOutOfRangeError):
        loss = DataLoss(
            asked._replace(from_offset=error.offset), LogBounds(error.earliest, error.latest)
        )
        raise_or_warn(loss.error, fail_on_data_loss, error)
        is_ahead = error.offset < error.earliest < asked.until_offset
        return asked._replace(from_offset=error.earliest if is_ahead else asked.until_offset)
    raise_or_warn(error, fail_on_data_loss)
    # In a log that was cut back nothing comes twice from there on; a deleted one has no more.
    until = asked.until_offset if isinstance(error, LogTruncatedError) else error.offset
    return asked._replace(from_offset=error.offset, until_offset=until)


def range_ahead(bound: OffsetRange, *, fail_on_data_loss: bool) -> OffsetRange:
    """A range whose end was bound late, or an empty one where the log ends before the range begins.

    Raises:
        DataLossError: It does, and `fail_on_data_loss` is set.
    """
    topic_partition, start, until = bound
    if start <= until:
        return bound
    error = DataLossError(
        "PARTITION_OFFSET_CHANGED",
        f"Partition {topic_partition} offset was changed from {start} to {until}.",
    )
    raise_or_warn(error, fail_on_data_loss)
    return bound._replace(from_offset=until)


def raise_or_warn(
    error: DataLossError, fail_on_data_loss: bool, cause: Exception | None = None
) -> None:
    """Raise what is lost, or log it.

    Raises:
        DataLossError: `fail_on_data_loss` is set.
    """
    if fail_on_data_loss:
        raise error from cause
    _log.warning("%s Going on without them, since failOnDataLoss is false.", error.reason)
