"""One query's micro-batches while brokers fail, and the number of requests of a trigger."""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Iterator

import pytest

from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.worker.worker import exclude_modules_from_gc
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.micro_batches import (
    EARLIEST,
    T0,
    T1,
    U0,
    Query,
    append,
    first_end,
    last_end,
    next_end,
    run,
    running,
)
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.stream_reading import streaming, values

# Longer than any other pause.
INTERVAL_MS = 777
# Of an idle query that uses no CPU.
PAUSE_MS = 25


@pytest.fixture
def repaired(cluster: FakeCluster) -> Iterator[list[float]]:
    """Between two attempts another broker takes over. Returns the waiting times in ms."""
    waits = []

    def repair(ms: float) -> None:
        if ms >= INTERVAL_MS:
            waits.append(ms)
            cluster.move_leader(T0, 2)

    with sleeps_take_no_time(repair):
        yield waits


QUICK = {
    "kafka.socket.connection.setup.timeout.ms": "200",
    "fetchOffset.retryIntervalMs": f"{INTERVAL_MS}",
}


def test_a_failed_attempt_starts_no_trigger_delay(
    cluster: FakeCluster, query: Query, repaired: list[float]
) -> None:
    limits = {"minOffsetsPerTrigger": "10", "maxBytesPerTrigger": "1000000"}
    batches = query(**QUICK, **EARLIEST, **limits, **{"fetchOffset.numRetries": "2"})
    batches.start()
    cluster.add_fault(FetchRequest, faults.closing, node=1)
    assert first_end(batches) == {T0: 5, T1: 2}
    assert repaired == [INTERVAL_MS]


def test_a_retry_keeps_the_target_of_available_now(
    cluster: FakeCluster, query: Query, repaired: list[float]
) -> None:
    batches = query(**QUICK, **EARLIEST, maxBytesPerTrigger="1", **{"fetchOffset.numRetries": "2"})
    batches.stop_at_available_now()
    batches.start()
    cluster.add_topic("u")
    append(cluster, U0, 1)
    cluster.move_leader(U0, 2)
    cluster.add_fault(FetchRequest, faults.closing, node=1)
    end = first_end(batches)
    assert repaired == [INTERVAL_MS]
    cluster.add_topic("v")
    assert last_end(batches, end) == {T0: 5, T1: 2, U0: 1}


def test_fault_19_a_running_query_retries_while_a_broker_is_down(
    cluster: FakeCluster, query: Query, repaired: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    batches = query(**QUICK)
    end = running(batches)
    cluster.stop(1)
    with caplog.at_level(logging.WARNING):
        assert run(batches, end) == (end, [])
    assert repaired == [INTERVAL_MS]
    assert "Planning failed and will be retried: " in caplog.text


def test_fault_26_a_permanent_error_is_raised_at_once(
    cluster: FakeCluster, query: Query, repaired: list[float]
) -> None:
    batches = query(**QUICK)
    end = running(batches)
    cluster.add_fault(ListOffsetsRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        next_end(batches, end)
    assert repaired == []


def test_an_idle_trigger_sends_one_request_to_each_leader(
    cluster: FakeCluster, query: Query, partitions_stay_fresh: None
) -> None:
    batches = query()
    end = running(batches)
    before = [len(cluster.asked(kind)) for kind in (ListOffsetsRequest, MetadataRequest)]
    for _ in range(5):
        next_end(batches, end)
    after = [len(cluster.asked(kind)) for kind in (ListOffsetsRequest, MetadataRequest)]
    assert after == [before[0] + 5 * 2, before[1]]


def test_connections_are_opened_again(query: Query) -> None:
    batches = query()
    end = running(batches)
    batches.close()
    assert next_end(batches, end) == end


def test_an_idle_query_is_not_searched_for_garbage(query: Query) -> None:
    """The JSON of 10,000 partitions makes Python search all objects at each sixth trigger."""
    exclude_modules_from_gc.cache_clear()
    gc.unfreeze()
    try:
        batches = query(**EARLIEST)
        end = running(batches)
        assert gc.get_freeze_count() == 0
        next_end(batches, end)
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()


def test_an_idle_query_pauses_between_requests(cluster: FakeCluster, query: Query) -> None:
    with sleeps_take_no_time() as time:
        batches = query(**EARLIEST)
        end = running(batches)
        assert next_end(batches, end) == end
        assert PAUSE_MS not in time.pauses_ms
        time(1.1)
        append(cluster, T0, 1)
        end = next_end(batches, end)
        time(1.1)
        before = time.pauses_ms.count(PAUSE_MS)
        assert next_end(batches, end) == next_end(batches, end) == end
        assert time.pauses_ms.count(PAUSE_MS) == before + 2


# --- Requests of a query -------------------------------------------------------------------------


def request_counts(cluster: FakeCluster) -> Counter[tuple[int, str]]:
    """The number of requests so far, by node and API."""
    return Counter(
        (number, type(request).api_name)
        for number, node in cluster.nodes.items()
        for request, _ in node.broker.requests
    )


@pytest.mark.usefixtures("partitions_stay_fresh")
@pytest.mark.parametrize(("coalesced", "fetches_of_a_leader"), [(True, 1), (False, 2)])
def test_a_task_on_a_warm_worker_sends_one_fetch(coalesced: bool, fetches_of_a_leader: int) -> None:
    """One to each leader, for all or for each of its partitions."""
    with streaming(nodes=3, coalescePartitions=coalesced) as (cluster, query):
        cluster.add_topic("t", 7)
        partitions = [TopicPartition("t", number) for number in range(7)]
        for round_ in (b"first", b"second", b"third"):
            before = request_counts(cluster)
            for tp in partitions[1:]:
                cluster.append(tp, round_)
            rows = query.trigger()
            assert rows is not None
            assert values(rows) == [round_.decode()] * 6
            if round_ != b"first":
                ends = {(node, "ListOffsets"): 1 for node in (1, 2, 3)}
                fetches = {(node, "Fetch"): fetches_of_a_leader for node in (1, 2, 3)}
                assert request_counts(cluster) - before == ends | fetches
