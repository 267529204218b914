"""Fetches from offsets that a read has not reached: every record once, whatever they bring."""

from __future__ import annotations

import time
from itertools import count, pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_protocol.client.consumer import fetch, fetch_ahead
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.client.consumer.fetch_ahead import FetchAhead
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.topic_partition import OffsetRange
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import PARTITION, one_partition, read

FETCH_BYTES = 4_000
# Ten of them fill a Fetch.
BATCH = (b"x" * 100, b"y" * 100, b"z" * 100)
Batches = tuple[tuple[bytes, ...], ...]


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every broker counts as far away."""
    monkeypatch.setattr(fetch_ahead, "_FAR_MS", 0)


def offsets_of(cluster: FakeCluster) -> list[int]:
    """The offsets of all Fetches, in their order."""
    return [
        request.topics[0].partitions[0].fetch_offset
        for _, request, _ in cluster.asked(FetchRequest)
    ]


def records_of(batches: Batches) -> list[tuple[int, bytes]]:
    return [*enumerate(value for values in batches for value in values)]


def read_whole(batches: Batches) -> list[int]:
    """Read a partition with these batches, check the records, and return the Fetches' offsets."""
    expected = records_of(batches)
    with one_partition(*batches, max_partition_fetch_bytes=FETCH_BYTES) as (cluster, client):
        assert read(client, 0, len(expected)) == expected
        return offsets_of(cluster)


def test_a_near_broker_gets_one_fetch_beside_the_response_that_is_decoded() -> None:
    ahead = FetchAhead()
    assert [ahead.in_flight(ms) for ms in (0.1, 19.9, 20, 400)] == [1, 1, 3, 3]


def test_after_each_fetch_in_vain_more_responses_are_waited_for() -> None:
    ahead = FetchAhead()
    for misses in (1, 2, 3):
        ahead.miss()
        assert repr(ahead) == f"<FetchAhead: {misses} in vain>"
        asked = [ahead.in_flight(200) for _ in range(2**misses + 1)]
        assert asked == [1] * 2**misses + [3]


@pytest.mark.usefixtures("far")
def test_fetches_are_in_flight_from_offsets_that_are_not_reached() -> None:
    with one_partition(*[BATCH] * 60, max_partition_fetch_bytes=FETCH_BYTES) as (cluster, client):
        range_ = fetch_range(client, OffsetRange(PARTITION, 0, 180), 5_000)
        first = next(range_)
        assert Deadline(10).wait_for(lambda: len(offsets_of(cluster)) == 4)
        _, reached, *ahead = offsets_of(cluster)
        assert reached == first.batches[-1].header.next_offset
        assert ahead == sorted(set(ahead))
        assert ahead[0] > reached
        for fetched in range_:
            assert fetched.window.from_offset >= reached


@pytest.mark.usefixtures("far")
def test_what_two_responses_have_is_read_once() -> None:
    offsets = read_whole((BATCH,) * 100)
    assert offsets == sorted(offsets), "no Fetch was in vain"


@pytest.mark.usefixtures("far")
def test_records_between_two_responses_are_fetched_again() -> None:
    """Records become larger, so that a response ends before the offset of the next one."""
    offsets = read_whole((BATCH,) * 40 + ((b"large" * 150,) * 3,) * 40)
    assert any(later < earlier for earlier, later in pairwise(offsets))


@pytest.mark.usefixtures("far")
def test_the_connection_is_kept_at_the_end_of_a_range() -> None:
    """Also where the last records are so small that more Fetches were sent than needed."""
    batches = (BATCH,) * 40 + ((b"",) * 3,) * 200
    with one_partition(*batches, max_partition_fetch_bytes=FETCH_BYTES) as (cluster, client):
        for _ in range(2):
            assert len(read(client, 0, 720)) == 720
        assert cluster.nodes[1].broker.connections <= 2, "the bootstrap server's, and the broker's"


@pytest.mark.usefixtures("far")
def test_the_end_of_a_range_does_not_wait_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response without use that takes long costs its connection, and no record."""
    monkeypatch.setattr(fetch, "_REST_MS", 20)
    batches = (BATCH,) * 40 + ((b"",) * 3,) * 200
    with one_partition(*batches, max_partition_fetch_bytes=FETCH_BYTES) as (cluster, client):
        assert read(client, 0, 720) == records_of(batches)
        without_use, number = (len(offsets_of(cluster)) - 1, len(offsets_of(cluster))), count(1)
        slow = faults.changed(lambda _: time.sleep(0.2 * (next(number) in without_use)))
        cluster.add_fault(FetchRequest, slow)
        for _ in range(2):
            assert read(client, 0, 720) == records_of(batches)
        assert cluster.nodes[1].broker.connections > 2


@pytest.mark.usefixtures("far")
@pytest.mark.parametrize("number", range(2, 6))
def test_only_the_error_at_the_position_counts(number: int) -> None:
    """An error of a Fetch from an offset that is not reached leads to one from the position."""
    batches = (BATCH,) * 60
    with one_partition(*batches, max_partition_fetch_bytes=FETCH_BYTES) as (cluster, client):
        for error in (*[ErrorCode.NONE] * number, ErrorCode.OFFSET_OUT_OF_RANGE):
            cluster.add_fault(FetchRequest, error=error, count=1)
        assert read(client, 0, 180) == records_of(batches)


@pytest.mark.usefixtures("far")
def test_an_error_at_the_position_is_raised() -> None:
    with one_partition(*[BATCH] * 60, max_partition_fetch_bytes=FETCH_BYTES) as (cluster, client):
        for error in (ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED):
            cluster.add_fault(FetchRequest, error=error, count=1)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            read(client, 0, 180)


@st.composite
def batches_of_sizes(draw: st.DrawFn) -> Batches:
    """Stretches of batches; each has records of one size."""
    stretches = draw(
        st.lists(
            st.tuples(st.integers(1, 30), st.integers(1, 8), st.sampled_from((0, 50, 400, 3_000))),
            min_size=1,
            max_size=6,
        )
    )
    return tuple(
        (b"v" * size,) * records for count, records, size in stretches for _ in range(count)
    )


@pytest.mark.usefixtures("far")
@given(batches=batches_of_sizes())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_record_is_read_once_and_in_order(batches: Batches) -> None:
    read_whole(batches)
