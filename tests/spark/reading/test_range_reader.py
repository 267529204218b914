"""Reading a range in a task, against scripted brokers: late ends and losses."""

from __future__ import annotations

import logging
import pickle
import platform
import uuid

import pytest

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import BrokerConnectionError, DataLossError
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.topic_partition import OffsetRange
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.reading.range_reader import PlannedRange, RangeReader
from tests.fakes.reading import PARTITION, one_partition

READER = RangeReader(("offset", "value"), fail_on_data_loss=True, poll_timeout_ms=5_000)
LENIENT = RangeReader(("offset", "value"), fail_on_data_loss=False, poll_timeout_ms=5_000)


def offsets(
    client: Cluster,
    start: int,
    until: int,
    reader: RangeReader = READER,
    topic_id: uuid.UUID | None = None,
) -> list[int]:
    planned = PlannedRange(OffsetRange(PARTITION, start, until), topic_id)
    # As Spark sends them to executors.
    reader, planned = pickle.loads(pickle.dumps((reader, planned)))
    return [
        offset for batch in reader.read(client, planned) for offset in batch["offset"].to_pylist()
    ]


def test_late_ends_are_read_from_the_log() -> None:
    with one_partition((b"a", b"b"), (b"c",), (b"d", b"e")) as (cluster, client):
        assert offsets(client, EARLIEST, LATEST) == [0, 1, 2, 3, 4]
        cluster.log(PARTITION).delete_before(2)
        cluster.append(PARTITION, b"f")
        assert offsets(client, EARLIEST, LATEST) == [2, 3, 4, 5]
        assert offsets(client, EARLIEST, 4) == [2, 3]
        assert offsets(client, 3, LATEST) == [3, 4, 5]


def test_records_aged_out_before_a_late_start_are_no_loss() -> None:
    with one_partition((b"a", b"b"), (b"c",)) as (cluster, client):
        cluster.log(PARTITION).delete_before(2)
        assert offsets(client, EARLIEST, 2) == []
        assert offsets(client, EARLIEST, 1) == []


def test_fixed_ends_need_no_request() -> None:
    with one_partition((b"a", b"b")) as (cluster, client):
        assert offsets(client, 0, 2) == [0, 1]
        assert cluster.asked(ListOffsetsRequest) == []


def test_a_late_end_before_a_fixed_start_is_a_loss(caplog: pytest.LogCaptureFixture) -> None:
    with one_partition((b"a", b"b")) as (_, client):
        with pytest.raises(DataLossError, match=r"PARTITION_OFFSET_CHANGED.*from 7 to 2"):
            offsets(client, 7, LATEST)
        with caplog.at_level(logging.WARNING):
            assert offsets(client, 7, LATEST, LENIENT) == []
        assert "Partition t-0 offset was changed from 7 to 2. Going on" in caplog.text


def test_aged_out_records_are_an_error_or_skipped(caplog: pytest.LogCaptureFixture) -> None:
    with one_partition((b"a", b"b"), (b"c",), (b"d",)) as (cluster, client):
        cluster.log(PARTITION).delete_before(2)
        with pytest.raises(DataLossError, match=r"\[0, 4\).*\[2, 4\)"):
            offsets(client, 0, 4)
        with caplog.at_level(logging.WARNING):
            assert offsets(client, 0, 4, LENIENT) == [2, 3]
        assert "Going on without them" in caplog.text


def test_a_re_created_topic_is_not_read(caplog: pytest.LogCaptureFixture) -> None:
    planned_id = uuid.uuid4()
    with one_partition((b"a", b"b")) as (_, client):
        with pytest.raises(DataLossError, match="PARTITIONS_DELETED"):
            offsets(client, 0, 2, topic_id=planned_id)
        with caplog.at_level(logging.WARNING):
            assert offsets(client, 0, 2, LENIENT, topic_id=planned_id) == []
        assert "re-created" in caplog.text


def test_a_topic_deleted_before_its_end_is_bound(caplog: pytest.LogCaptureFixture) -> None:
    with one_partition((b"a", b"b"), topic_propagation_max_ms=300) as (cluster, client):
        del cluster.topics["t"]
        with pytest.raises(DataLossError, match="PARTITIONS_DELETED"):
            offsets(client, EARLIEST, LATEST)
        with caplog.at_level(logging.WARNING):
            assert offsets(client, EARLIEST, LATEST, LENIENT) == []
        assert "Topic-partition t-0 is unknown to the brokers for 300 ms" in caplog.text


def test_an_empty_re_created_topic_is_a_loss(caplog: pytest.LogCaptureFixture) -> None:
    with one_partition((b"a", b"b")) as (cluster, client):
        planned_id = cluster.topics["t"].topic_id
        assert offsets(client, EARLIEST, LATEST, topic_id=planned_id) == [0, 1]
        cluster.add_topic("t")
        with pytest.raises(DataLossError, match="PARTITIONS_DELETED"):
            offsets(client, EARLIEST, LATEST, topic_id=planned_id)
        with caplog.at_level(logging.WARNING):
            assert offsets(client, EARLIEST, LATEST, LENIENT, topic_id=planned_id) == []
        assert "re-created" in caplog.text


def test_a_network_error_names_the_executor() -> None:
    with one_partition((b"a", b"b"), connection_setup_timeout_ms=200) as (cluster, client):
        cluster.stop(1)
        with pytest.raises(BrokerConnectionError) as caught:
            offsets(client, EARLIEST, LATEST)
    assert str(caught.value).startswith(f"In a task on {platform.node()}, reading t-0: No broker")
