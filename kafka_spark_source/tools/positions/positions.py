"""Positions as operators write them -> offsets in a topic.

`earliest`, `latest`, `latest-20` (offsets before the end), `-10m` (the last ten minutes; also ms,
s, h, d), a time such as `2026-11-01T00:00Z`, or an offset.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime, timezone
from typing import Final, NamedTuple

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import list_positions
from kafka_protocol.client.consumer.times import position_of
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import LogBounds, TopicPartition
from kafka_spark_source.planning.batch import offset_of
from kafka_spark_source.planning.bounds import FirstAtOrAfter, to_absolute
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.planning.positions import Bound, Committed, Everywhere, Timestamp
from kafka_spark_source.planning.positions import parse_position as parse_option
from kafka_spark_source.tools.positions.topic_names import check_known

# Every number of 18 digits fits 64 bits.
_MOST_DIGITS: Final = 18
_FRACTION: Final = re.compile(r"\.(\d+)")
_FORMS: Final = "earliest, latest, latest-20, -10m, a time such as 2026-11-01T00:00Z, or an offset"


def parse_position(text: str) -> Bound:
    """Read a position. A time without a zone is in UTC; one before 1970 is before all records.

    Raises:
        KafkaConfigError: The text is not a position.
    """
    stripped = text.strip()
    if stripped.isascii() and stripped.isdigit() and len(stripped) <= _MOST_DIGITS:
        return int(stripped)
    if stripped.isdigit():
        return _word(stripped)
    try:
        # Python 3.10 reads neither Z nor fractions of other than three or six digits.
        moment = datetime.fromisoformat(
            _FRACTION.sub(
                lambda match: f".{match[1][:6]:0<6}", stripped.upper().replace("Z", "+00:00")
            )
        )
    except ValueError:
        return _word(stripped)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    position = position_of(moment)
    return EARLIEST if position == EARLIEST else Timestamp(position)


def _word(text: str) -> Bound:
    try:
        position = parse_option("", text)
    except KafkaConfigError:
        position = None
    if not isinstance(position, Everywhere) or isinstance(position.bound, Committed):
        raise KafkaConfigError(f"{text!r} is not a position: write {_FORMS}.")
    return position.bound


def partitions_of(
    cluster: Cluster, topics: Sequence[str], deadline: Deadline
) -> list[TopicPartition]:
    """All partitions of topics, in order.

    Raises:
        BrokerError: A topic does not exist, or may not be described.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    metadata = cluster.settled_topics(topics, deadline)
    check_known(cluster, {each.name: each.error_code for each in metadata.values()}, deadline)
    return sorted(
        TopicPartition(each.name, n) for each in metadata.values() for n in each.partitions
    )


class Located(NamedTuple):
    """A position in a partition: both ends of its log, and the offset, which is within."""

    log: LogBounds
    offset: int


def locate(
    cluster: Cluster, partitions: Collection[TopicPartition], bound: Bound, deadline: Deadline
) -> dict[TopicPartition, Located]:
    """Find a position in each partition, in order. A time after all records is the log's end.

    Raises:
        KafkaError: As from `list_positions`.
    """
    (located,) = locate_all(cluster, partitions, [bound], deadline)
    return located


def locate_all(
    cluster: Cluster,
    partitions: Collection[TopicPartition],
    bounds: Sequence[Bound],
    deadline: Deadline,
) -> list[dict[TopicPartition, Located]]:
    """Find several positions in each partition, as `locate` does, in the same state of its log.

    Raises:
        KafkaError: As from `list_positions`.
    """
    now = now_ms()
    wanted = [to_absolute(bound, now, fail_if_none=False) for bound in bounds]
    times = [each.ms for each in wanted if isinstance(each, FirstAtOrAfter)]
    listed = list_positions(
        cluster, dict.fromkeys(partitions, (EARLIEST, LATEST, *times)), deadline
    )
    logs = {
        tp: LogBounds.of(listed[tp][EARLIEST], listed[tp].values()) for tp in sorted(partitions)
    }
    return [
        {
            tp: Located(log, _within(log, offset_of(bound, tp, log, listed[tp])))
            for tp, log in logs.items()
        }
        for bound in wanted
    ]


def _within(log: LogBounds, offset: int) -> int:
    """The offset, or the nearest end of the log."""
    return min(max(offset, log.earliest), log.latest)
