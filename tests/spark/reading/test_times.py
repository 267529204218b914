"""Filters on timestamps, where a broker does not find the records of a time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import datasource

from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_protocol.wire.schema import VersionRange
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.source import KafkaDataSource
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import START_MS

PARTITION = TopicPartition("t", 0)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def finds_none(handler: Handler) -> Handler:
    """As Kafka, where the first segment that is late enough has no such record any more."""

    def handle(request: Any, version: int) -> Any:
        response: Any = handler(request, version)
        if request.topics[0].partitions[0].timestamp >= 0:
            found = response.topics[0].partitions[0]
            found.timestamp, found.offset = -1, -1
        return response

    return handle


def ranges(cluster: FakeCluster, since_ms: int) -> list[OffsetRange]:
    servers = ",".join(map(str, cluster.bootstrap_servers))
    options = {
        "kafka.bootstrap.servers": servers,
        "subscribe": PARTITION.topic,
        "pushDownPredicate": "true",
    }
    source = KafkaDataSource(options)
    reader = source.reader(source.schema())
    since = _EPOCH + timedelta(milliseconds=since_ms)
    [*reader.pushFilters([datasource.GreaterThanOrEqual(("timestamp",), since)])]
    return [each.wanted for task in reader.partitions() for each in task.value]


@pytest.mark.newest
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("newest", [ListOffsetsRequest.versions.highest, 6])
def test_a_partition_is_skipped_only_if_no_record_can_be_there(start: int, newest: int) -> None:
    with FakeCluster() as cluster:
        cluster.add_topic(PARTITION.topic)
        cluster.append(PARTITION, b"a", b"b", b"c")
        cluster.log(PARTITION).delete_before(start)
        cluster.offer(ListOffsetsRequest, VersionRange(0, newest))
        whole = [OffsetRange(PARTITION, EARLIEST, LATEST)]
        # The largest timestamp says that there is none, if the broker can tell it.
        can_tell = start == 0 or newest > 6
        assert ranges(cluster, START_MS + 90_000) == ([] if can_tell else whole)


@pytest.mark.newest
def test_rows_that_the_broker_does_not_find_are_read() -> None:
    with FakeCluster() as cluster:
        cluster.add_topic(PARTITION.topic)
        cluster.append(PARTITION, b"a", b"b", b"c")
        cluster.log(PARTITION).delete_before(1)
        cluster.add_fault(ListOffsetsRequest, finds_none)
        assert ranges(cluster, START_MS) == [OffsetRange(PARTITION, EARLIEST, LATEST)]
