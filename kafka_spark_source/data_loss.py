"""failOnDataLoss: the one place that raises, or warns and goes on, when records are gone."""

from __future__ import annotations

import logging

from kafka_protocol.client.fetch import OffsetOutOfRangeError
from kafka_protocol.errors import DataLossError

_log = logging.getLogger(__name__)


def offset_after_loss(
    error: OffsetOutOfRangeError, until_offset: int, *, fail_on_data_loss: bool
) -> int:
    """Where to go on reading when a part of a range is not in the log.

    Args:
        error: What is missing, and what is there.
        until_offset: The end of the range, not included.
        fail_on_data_loss: The option of that name.

    Returns:
        The next offset that exists, or `until_offset` where nothing of the range is left. Never
        an offset that was read before.

    Raises:
        DataLossError: `fail_on_data_loss` is set.
    """
    reason = (
        f"Could not read records in offset [{error.offset}, {until_offset}) for topic partition "
        f"{error.topic_partition}: the log holds [{error.earliest}, {error.latest})."
    )
    if fail_on_data_loss:
        raise DataLossError("COULD_NOT_READ_OFFSET_RANGE", reason) from error
    _log.warning("%s Going on without them, since failOnDataLoss is false.", reason)
    is_ahead = error.offset < error.earliest < until_offset
    return error.earliest if is_ahead else until_offset
