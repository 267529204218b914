"""failOnDataLoss: whether a loss fails a read, and the range that is left to read if it does not.

Decided here only. Other modules find losses and build the errors, and do not log them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TypeAlias

from kafka_protocol.client.consumer.errors import (
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicGoneError,
)
from kafka_protocol.errors import DataLossError
from kafka_protocol.topic_partition import LogBounds, OffsetRange
from kafka_spark_source.planning.batch import MissingPartitionsError, unreadable
from kafka_spark_source.planning.stream import offset_changed

_log = logging.getLogger(__name__)

Loss: TypeAlias = DataLossError | MissingPartitionsError
# The losses that a fetch reports.
FetchLoss: TypeAlias = OffsetOutOfRangeError | LogTruncatedError | TopicGoneError


def refusal(loss: Loss, *, fail_on_data_loss: bool) -> Loss | None:
    """The loss if it has to end the query; else it is logged as a warning, and None returned."""
    if fail_on_data_loss:
        return loss
    _log.warning(
        "%s The read continues without them, because failOnDataLoss is false.", loss.reason
    )
    return None


def raise_or_warn(loss: Loss, *, fail_on_data_loss: bool, cause: Exception | None = None) -> None:
    """Raise the loss, or log it as a warning.

    Raises:
        DataLossError, MissingPartitionsError: `loss`, if `fail_on_data_loss` is set.
    """
    if refused := refusal(loss, fail_on_data_loss=fail_on_data_loss):
        raise refused from cause


def raise_early(losses: Iterable[Loss], *, fail_on_data_loss: bool) -> None:
    """Raise the first loss, before Spark logs a micro-batch that would fail again and again.

    Logs no loss: that happens when the micro-batch is planned.

    Raises:
        DataLossError, MissingPartitionsError: There is one, and `fail_on_data_loss` is set.
    """
    if fail_on_data_loss:
        for loss in losses:
            raise loss


def range_after_loss(
    error: FetchLoss, reading: OffsetRange, *, fail_on_data_loss: bool
) -> OffsetRange:
    """The rest of the range `reading` after a loss in it, with a warning.

    It begins at the next offset that exists, and is empty if there is none. It never starts before
    the offset that the error names, so no record is read twice.

    Raises:
        DataLossError: `fail_on_data_loss` is set.
    """
    if isinstance(error, OffsetOutOfRangeError):
        lost = reading._replace(from_offset=error.offset)
        loss = unreadable(lost, LogBounds(error.earliest, error.latest))
        raise_or_warn(loss, fail_on_data_loss=fail_on_data_loss, cause=error)
        is_ahead = error.offset < error.earliest < reading.until_offset
        return reading._replace(from_offset=error.earliest if is_ahead else reading.until_offset)
    raise_or_warn(error, fail_on_data_loss=fail_on_data_loss)
    # A truncated log has other records from this offset on; a deleted partition has no records.
    until = reading.until_offset if isinstance(error, LogTruncatedError) else error.offset
    return reading._replace(from_offset=error.offset, until_offset=until)


def forward_range(bound: OffsetRange, *, fail_on_data_loss: bool) -> OffsetRange:
    """A range that was bound late; empty, with a warning, if the log ends before its start.

    Raises:
        DataLossError: The log ends before its start, and `fail_on_data_loss` is set.
    """
    topic_partition, start, until = bound
    if start <= until:
        return bound
    error = offset_changed(topic_partition, start, until)
    raise_or_warn(error, fail_on_data_loss=fail_on_data_loss)
    return bound._replace(from_offset=until)
