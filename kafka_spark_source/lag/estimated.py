"""The age of the first unread record, estimated from the ends of logs in progress reports.

`measured` reads its timestamp from a broker instead; both have the meaning of `gauges.Lag`. A few
points for each partition suffice, as in other exporters of lag.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

from kafka_protocol.topic_partition import TopicPartition

# For each partition. Between two points the time is interpolated.
_MOST_POINTS: Final = 16


class _Point(NamedTuple):
    """An end of a log, and when it was seen there first and last, in ms."""

    offset: int
    first_ms: int
    last_ms: int


class EndTimes:
    """The ends of the logs of one query, as far as they are of use."""

    def __init__(self) -> None:
        self._points: dict[TopicPartition, list[_Point]] = {}

    def behind_ms(
        self, topic_partition: TopicPartition, consumed: int, latest: int, now_ms: int
    ) -> int:
        """The age of the first unread record in ms; 0 if all records are read.

        The error is at most the time between two reports. Where the record was written before the
        first report, the age of the first report is taken, and the record is at least as old.

        Args:
            topic_partition: The partition.
            consumed: The first offset that the query has not read.
            latest: The end of the log now.
            now_ms: The time now, in ms; at least as late as at the previous call.
        """
        points = self._points.setdefault(topic_partition, [])
        _note(points, latest, now_ms)
        after = bisect_right(points, consumed, key=lambda point: point.offset)
        del points[: max(0, after - 1)]
        after = min(after, 1)
        if after == len(points):
            return 0
        return max(0, now_ms - _written_ms(points, after, consumed))

    def keep_only(self, partitions: set[TopicPartition]) -> None:
        """Forget other partitions."""
        for each in self._points.keys() - partitions:
            del self._points[each]


def _note(points: list[_Point], latest: int, now_ms: int) -> None:
    if points and latest < points[-1].offset:
        points.clear()  # another log, or a shorter one
    if points and latest == points[-1].offset:
        points[-1] = points[-1]._replace(last_ms=now_ms)
        return
    points.append(_Point(latest, now_ms, now_ms))
    if len(points) > _MOST_POINTS:
        # Not the first two, which the oldest unread record is between, nor the last.
        del points[2:-1:2]


def _written_ms(points: list[_Point], after: int, consumed: int) -> int:
    """When the record at an offset was written, by the first point after it."""
    later = points[after]
    if after == 0:
        return later.first_ms
    earlier = points[after - 1]
    share = (consumed - earlier.offset) / (later.offset - earlier.offset)
    return round(earlier.last_ms + share * (later.first_ms - earlier.last_ms))
