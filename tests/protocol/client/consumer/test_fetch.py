"""The Fetches of one range; `test_fetch_faults` has faults of the responses."""

from __future__ import annotations

import pytest

from kafka_protocol.client import clock
from kafka_protocol.client.consumer.fetch import OffsetOutOfRangeError, fetch_range
from kafka_protocol.errors import BrokerError, CorruptRecordError, ErrorCode, KafkaTimeoutError
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.topic_partition import OffsetRange
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import batch_of
from tests.fakes.reading import ABC, IN_THREE, PARTITION, one_partition, read
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.simulation.kafka.batches import placed

IDLE_MS = 5_000


def fetched_offsets(cluster: FakeCluster) -> list[int]:
    return [
        request.topics[0].partitions[0].fetch_offset
        for _, request, _ in cluster.asked(FetchRequest)
    ]


def test_the_next_fetch_is_sent_before_batches_are_yielded() -> None:
    with one_partition((b"a", b"b"), (b"c",), max_partition_fetch_bytes=1) as (cluster, client):
        range_ = fetch_range(client, OffsetRange(PARTITION, 0, 3), IDLE_MS)
        assert [batch.header.base_offset for batch in next(range_).batches] == [0]
        assert Deadline(10).wait_for(lambda: fetched_offsets(cluster) == [0, 2])
        assert [batch.header.base_offset for batch in next(range_).batches] == [2]
        assert [*range_] == []


def test_nothing_is_fetched_behind_the_end() -> None:
    with one_partition((b"a", b"b", b"c")) as (cluster, client):
        assert read(client, 1, 3) == ABC[1:]
        assert fetched_offsets(cluster) == [1]


def test_fault_16_17_and_40_after_an_error_the_same_offset_is_fetched() -> None:
    with one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (cluster, client):
        passing = faults.errors("NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH KAFKA_STORAGE_ERROR")
        for error in (ErrorCode.NONE, *passing):
            cluster.add_fault(FetchRequest, error=error, count=1)
        assert read(client, 0, 3) == ABC
        assert fetched_offsets(cluster) == [0, 1, 1, 1, 1, 2]


def test_fault_26_an_authorization_error_is_not_retried() -> None:
    with one_partition(*IN_THREE) as (cluster, client):
        cluster.add_fault(FetchRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, count=1)
        with pytest.raises(BrokerError, match=r"TOPIC_AUTHORIZATION_FAILED.*READ"):
            read(client, 0, 2)
        assert fetched_offsets(cluster) == [0]


def test_fault_27_an_offset_out_of_range() -> None:
    with one_partition(*IN_THREE) as (cluster, client):
        cluster.add_fault(FetchRequest, error=ErrorCode.OFFSET_OUT_OF_RANGE, count=1)
        assert read(client, 0, 3) == ABC, "a stale leader"
        cluster.log(PARTITION).delete_before(2)
        with pytest.raises(OffsetOutOfRangeError, match=r"offset 1 of t-0 .*\[2, 3\)"):
            read(client, 1, 3)


def test_fault_31_flipped_byte() -> None:
    def flip(response: FetchResponse) -> None:
        data = response.responses[0].partitions[0]
        data.records = bytes(data.records or b"")[:-1] + b"?"

    with one_partition((b"a",)) as (cluster, client):
        cluster.add_fault(FetchRequest, faults.changed(flip))
        for _ in range(2):
            with pytest.raises(CorruptRecordError, match="of t-0 at offset 0: the CRC-32C"):
                read(client, 0, 1)


def test_the_caller_s_time_does_not_count_as_idle() -> None:
    """A slow caller leaves the next call all of its time."""
    with (
        one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (cluster, client),
        sleeps_take_no_time() as pass_seconds,
    ):
        for error in (ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER):
            cluster.add_fault(FetchRequest, error=error, count=1)
        range_ = fetch_range(client, OffsetRange(PARTITION, 0, 2), IDLE_MS)
        next(range_)
        pass_seconds(IDLE_MS / 1000 + 0.1)
        assert [batch.header.base_offset for batch in next(range_).batches] == [1]


def test_immediate_empty_responses_are_not_polled_in_a_loop() -> None:
    def empty(response: FetchResponse) -> None:
        response.responses[0].partitions[0].records = b""

    with one_partition((b"a",)) as (cluster, client), sleeps_take_no_time():
        cluster.add_fault(FetchRequest, faults.changed(empty))
        with pytest.raises(KafkaTimeoutError):
            read(client, 0, 1, idle_ms=1_000)
        assert len(fetched_offsets(cluster)) <= 1_010  # at least 1 ms between two requests


def test_after_a_long_poll_the_next_fetch_is_sent_at_once() -> None:
    with one_partition((b"a",)) as (cluster, client), sleeps_take_no_time() as time:
        cluster.add_fault(FetchRequest, faults.changed(lambda _: time(0.5)))
        with pytest.raises(OffsetOutOfRangeError):
            read(client, 1, 2, idle_ms=2_000)
        assert time.pauses_ms == []


def test_two_ranges_over_one_connection_get_their_own_responses() -> None:
    with one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (_, client):
        ranges = [fetch_range(client, OffsetRange(PARTITION, 0, 2), IDLE_MS) for _ in range(2)]
        first = [next(range_).batches[0].header.base_offset for range_ in ranges]
        second = [next(range_).batches[0].header.base_offset for range_ in reversed(ranges)]
    assert (first, second) == ([0, 0], [1, 1])


def test_a_range_that_is_left_with_a_fetch_in_flight_closes_its_connection() -> None:
    with one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (_, client):
        range_ = fetch_range(client, OffsetRange(PARTITION, 0, 3), IDLE_MS)
        next(range_)
        broker = client.broker(1, clock.Deadline.after(IDLE_MS))
        assert broker.in_flight == 1
        del range_
        assert broker.is_closed


def test_a_batch_before_the_position_yields_no_offset_twice() -> None:
    """After an unclean election batches may have other bounds."""
    with one_partition(max_partition_fetch_bytes=1) as (cluster, client):
        cluster.append(PARTITION, *[b"a"] * 10)
        cluster.append(PARTITION, *[b"b"] * 10)
        wider = placed(batch_of(*[b"b"] * 15), 5, epoch=0).data

        def widen(response: FetchResponse) -> None:
            response.responses[0].partitions[0].records = wider

        cluster.add_fault(
            FetchRequest, lambda handler: faults.in_turn(handler, faults.changed(widen)(handler))
        )
        assert [offset for offset, _ in read(client, 2, 20)] == [*range(2, 20)]
        assert fetched_offsets(cluster) == [2, 10]


def test_a_batch_behind_a_stale_high_watermark_is_fetched_again() -> None:
    """A broker reads the high watermark before the log."""

    def stale(response: FetchResponse) -> None:
        response.responses[0].partitions[0].high_watermark = 1

    with one_partition((b"a",), (b"b",)) as (cluster, client):
        cluster.add_fault(FetchRequest, faults.changed(stale), count=1)
        assert read(client, 0, 2) == ABC[:2]
        assert fetched_offsets(cluster) == [0, 1]
