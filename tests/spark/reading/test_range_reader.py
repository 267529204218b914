"""Reading a range in a task, against fake brokers: late ends and losses."""

from __future__ import annotations

import logging
import pickle
import platform
import time
import uuid
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pytest

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import BrokerConnectionError, DataLossError
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_protocol.wire import framing
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.reading.range_reader import PlannedRange, RangeReader
from tests.fakes.batch_reading import ABC, IN_THREE, filled, plan, planned, read
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import PARTITION, one_partition
from tests.fakes.skipping_time import sleeps_take_no_time

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
        offset for batch in reader.read(client, [planned]) for offset in batch["offset"].to_pylist()
    ]


def test_late_ends_are_read_from_the_log() -> None:
    with one_partition((b"a", b"b"), (b"c",), (b"d", b"e")) as (cluster, client):
        assert offsets(client, EARLIEST, LATEST) == [0, 1, 2, 3, 4]
        cluster.log(PARTITION).delete_before(2)
        cluster.append(PARTITION, b"f")
        assert offsets(client, EARLIEST, LATEST) == [2, 3, 4, 5]
        assert offsets(client, EARLIEST, 4) == [2, 3]
        assert offsets(client, 3, LATEST) == [3, 4, 5]


def test_a_response_is_freed_before_the_next_one_is_received(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A task holds one response at a time, and the next has memory that is still in the cache."""
    alive: list[int] = []
    frames: list[weakref.ref[Any]] = []

    def new_memory(size: int) -> memoryview:
        alive.append(sum(frame() is not None for frame in frames))
        memory = np.empty(size, np.uint8)
        frames.append(weakref.ref(memory))
        return memory.data

    monkeypatch.setattr(framing, "_new_memory", new_memory)
    values = [(bytes(100_000),)] * 4
    with one_partition(*values, max_partition_fetch_bytes=1) as (_, client):
        assert offsets(client, 0, 4) == [0, 1, 2, 3]
    assert alive == [0, 0, 0, 0]


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
        assert "Partition t-0 offset was changed from 7 to 2. The read" in caplog.text


def test_aged_out_records_are_an_error_or_skipped(caplog: pytest.LogCaptureFixture) -> None:
    with one_partition((b"a", b"b"), (b"c",), (b"d",)) as (cluster, client):
        cluster.log(PARTITION).delete_before(2)
        with pytest.raises(DataLossError, match=r"\[0, 4\).*\[2, 4\)"):
            offsets(client, 0, 4)
        with caplog.at_level(logging.WARNING):
            assert offsets(client, 0, 4, LENIENT) == [2, 3]
        assert "The read continues without them" in caplog.text


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
        cluster.delete_topic("t")
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


# --- Several ranges in a task --------------------------------------------------------------------

COUNT = 20


@contextmanager
def many_partitions(**options: Any) -> Iterator[tuple[FakeCluster, Cluster]]:
    """A topic of partitions with a record each, and one with a record in its only partition."""
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", COUNT)
        cluster.add_topic("u")
        for number in range(COUNT):
            cluster.append(TopicPartition("t", number), b"%d" % number)
        cluster.append(TopicPartition("u", 0), b"u")
        with closing(cluster.client(**options)) as client:
            yield cluster, client


def group_of(cluster: FakeCluster, start: int, until: int) -> list[PlannedRange]:
    """All of these partitions."""
    return [
        PlannedRange(OffsetRange(TopicPartition(topic, number), start, until), found.topic_id)
        for topic, found in cluster.topics.items()
        for number in range(len(found.partitions))
    ]


def values(client: Cluster, group: list[PlannedRange], reader: RangeReader = READER) -> list[bytes]:
    batches = reader.read(client, group)
    return sorted(value for batch in batches for value in batch["value"].to_pylist())


ALL_VALUES = sorted([*(b"%d" % number for number in range(COUNT)), b"u"])


@pytest.mark.parametrize(("start", "until"), [(0, 1), (EARLIEST, LATEST), (0, LATEST)])
def test_a_group_needs_few_requests(start: int, until: int) -> None:
    with many_partitions() as (cluster, client):
        assert values(client, group_of(cluster, start, until)) == ALL_VALUES
        assert len(cluster.asked(FetchRequest)) == 2
        # Both ends, of each leader.
        assert len(cluster.asked(ListOffsetsRequest)) == (0 if (start, until) == (0, 1) else 4)


def test_rows_of_a_group_share_arrow_batches() -> None:
    with many_partitions() as (cluster, client):
        assert len([*READER.read(client, group_of(cluster, 0, 1))]) <= 2


@pytest.mark.parametrize(("start", "until"), [(0, 1), (EARLIEST, LATEST)])
def test_a_deleted_topic_in_a_group_is_waited_for_once(
    start: int, until: int, caplog: pytest.LogCaptureFixture
) -> None:
    with many_partitions(topic_propagation_max_ms=1_000) as (cluster, client):
        group = group_of(cluster, start, until)
        cluster.delete_topic("t")
        begun = time.monotonic()
        with caplog.at_level(logging.WARNING):
            assert values(client, group, LENIENT) == [b"u"]
        assert time.monotonic() - begun < COUNT
        warned = [each.getMessage() for each in caplog.records]
        assert all("it was deleted" in each for each in warned)
        assert {each.split()[1] for each in warned} == {f"t-{number}" for number in range(COUNT)}


def test_a_topic_that_is_re_created_in_a_group() -> None:
    with many_partitions() as (cluster, client):
        group = group_of(cluster, 0, 1)
        cluster.add_topic("t", COUNT)
        begun = time.monotonic()
        assert values(client, group, LENIENT) == [b"u"]
        # A second until the other id is believed, for each of them, would be more.
        assert time.monotonic() - begun < COUNT / 2


def test_a_loss_of_one_partition_leaves_the_others(caplog: pytest.LogCaptureFixture) -> None:
    with many_partitions() as (cluster, client):
        group = group_of(cluster, 0, 1)
        cluster.log(TopicPartition("t", 7)).delete_before(1)
        with pytest.raises(DataLossError, match=r"\[0, 1\) for topic partition t-7"):
            values(client, group)
        with caplog.at_level(logging.WARNING):
            assert values(client, group, LENIENT) == [each for each in ALL_VALUES if each != b"7"]
        assert [each.getMessage().count("t-7") for each in caplog.records] == [1]


# --- Losses that only a whole batch read shows: in its plan, and between two batches of a task ----


def test_fault_28_the_driver_finds_offsets_after_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """For example in a re-created topic."""
    ends: dict[str, Any] = {"startingOffsets": '{"t":{"0":1}}', "endingOffsets": '{"t":{"0":7}}'}
    with filled(*IN_THREE) as cluster:
        with pytest.raises(DataLossError, match=r"\[1, 7\) for topic partition t-0: .*\[0, 3\)"):
            plan(cluster.bootstrap_servers, **ends)
        with caplog.at_level(logging.WARNING):
            assert read(cluster.bootstrap_servers, **ends, failOnDataLoss=False) == ABC[1:]
        assert "the log holds [0, 3)" in caplog.text


def test_fault_23_a_deadline_during_metadata_keeps_the_cause(beside: bool) -> None:
    """The brokers did not know the topic before; that remains the error."""
    with (
        sleeps_take_no_time() as let_pass,
        planned(*IN_THREE, beside=beside, kafka_default_api_timeout_ms=60_000) as (cluster, task),
    ):

        def slow(handler: Handler) -> Handler:
            def handle(request: Any, version: int) -> Any:
                let_pass(25)
                return handler(request, version)

            return handle

        cluster.delete_topic("t")
        cluster.add_fault(MetadataRequest, slow)
        with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*t-0 .*offset 0"):
            task.rows()
