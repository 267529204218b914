"""Times -> the timestamps of ListOffsets."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Final

from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


def position_of(time: datetime) -> int:
    """The position to request the first record at or after a time, which has a zone.

    Numbers below 0 are names: -1, one millisecond before 1970, is the end of the log. The first
    record at or after such a time is the log's first one.
    """
    # Whole numbers: a float of seconds is wrong by a millisecond for some times.
    since_ms = -((_EPOCH - time) // timedelta(milliseconds=1))  # rounded up
    return since_ms if since_ms >= 0 else EARLIEST_TIMESTAMP
