"""The timestamp of the first record of a range, for many ranges at once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Final

from kafka_protocol.client.consumer.fetch_request import PartlyRead
from kafka_protocol.client.consumer.fetch_together import FetchTogether
from kafka_protocol.columnar.arrays.schema import TIMESTAMP_MS
from kafka_protocol.columnar.reading.batch_columns import take_batch_columns
from kafka_protocol.columnar.reading.decode import decode_batches

if TYPE_CHECKING:
    from kafka_protocol.client.clock import Deadline
    from kafka_protocol.client.cluster.cluster import Cluster
    from kafka_protocol.topic_partition import OffsetRange, TopicPartition

_COLUMNS: Final = ("topic", "partition", "offset", TIMESTAMP_MS.name)


def record_times(
    cluster: Cluster, wanted: Mapping[TopicPartition, OffsetRange], deadline: Deadline
) -> dict[TopicPartition, int]:
    """The timestamp of the first record of each range, in ms since 1970.

    A range without one, such as one with markers of transactions only, is left out; so is one whose
    leader does not respond at once.
    """
    readings = {
        tp: PartlyRead(each, None)
        for tp, each in wanted.items()
        if each.from_offset < each.until_offset
    }
    times: dict[TopicPartition, int] = {}
    with closing(FetchTogether(cluster, readings.values(), take_batch_columns)) as fetching:
        for tp in readings:
            if deadline.has_passed:
                break
            for fetched in fetching.fetched_of(tp):
                batch = next(decode_batches([fetched], _COLUMNS), None)
                if batch is not None:
                    times[tp] = batch.column(TIMESTAMP_MS.name)[0].as_py()
                    break
    return times
