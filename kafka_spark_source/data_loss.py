"""failOnDataLoss in a task: the one place that raises, or warns and goes on."""

from __future__ import annotations

import logging

from kafka_protocol.client.fetch import OffsetOutOfRangeError
from kafka_protocol.topic_partition import OffsetRange
from kafka_spark_source.planning import DataLoss, LogBounds

_log = logging.getLogger(__name__)


def offset_range_after_loss(
    error: OffsetOutOfRangeError, asked: OffsetRange, *, fail_on_data_loss: bool
) -> OffsetRange:
    """What is left to read when a part of a range is not in the log.

    Args:
        error: What is missing, and what is there.
        asked: The range that was being read.
        fail_on_data_loss: The option of that name.

    Returns:
        The range from the next offset that exists, or an empty one where nothing is left. It
        never begins at an offset that was read before.

    Raises:
        DataLossError: `fail_on_data_loss` is set.
    """
    loss = DataLoss(
        asked._replace(from_offset=error.offset), LogBounds(error.earliest, error.latest)
    )
    if fail_on_data_loss:
        raise loss.error from error
    _log.warning(loss.warning)
    is_ahead = error.offset < error.earliest < asked.until_offset
    return asked._replace(from_offset=error.earliest if is_ahead else asked.until_offset)
