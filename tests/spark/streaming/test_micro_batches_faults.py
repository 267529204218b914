"""One query's micro-batches on the driver while brokers fail; and what a trigger asks of them."""

from __future__ import annotations

import logging

import pytest

from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
)
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_spark_source.streaming import logs as stream_logs
from kafka_spark_source.streaming import micro_batches
from tests.fakes import faults
from tests.fakes.cluster import ScriptedCluster
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


@pytest.fixture
def repaired(cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What happens between two tries: another broker takes over. And how long each wait was."""
    waits = []

    def repair(ms: float) -> None:
        waits.append(ms)
        cluster.move_leader(T0, 2)

    monkeypatch.setattr(micro_batches, "pause", repair)
    return waits


QUICK = {"kafka.socket.connection.setup.timeout.ms": "200", "fetchOffset.retryIntervalMs": "7"}


def test_a_new_query_tells_soon_what_is_wrong(
    cluster: ScriptedCluster, query: Query, repaired: list[float]
) -> None:
    cluster.stop(1)
    with pytest.raises(BrokerConnectionError):
        query(**QUICK).start()
    assert repaired == []


def test_a_new_query_tries_as_often_as_it_is_told(
    cluster: ScriptedCluster, query: Query, repaired: list[float]
) -> None:
    cluster.stop(1)
    assert query(**QUICK, **{"fetchOffset.numRetries": "2"}).start() == {T0: 5, T1: 2}
    assert repaired == [7]
    cluster.stop(2)
    with pytest.raises(BrokerConnectionError):
        query(**QUICK, **{"fetchOffset.numRetries": "3"}).start()
    assert repaired == [7, 7, 7]


def test_a_try_that_failed_is_no_micro_batch_to_wait_after(
    cluster: ScriptedCluster, query: Query, repaired: list[float]
) -> None:
    limits = {"minOffsetsPerTrigger": "10", "maxBytesPerTrigger": "1000000"}
    batches = query(**QUICK, **EARLIEST, **limits, **{"fetchOffset.numRetries": "2"})
    batches.start()
    cluster.spoil(FetchRequest, faults.closing, node=1)
    assert first_end(batches) == {T0: 5, T1: 2}
    assert repaired == [7]


def test_a_first_look_that_has_to_be_taken_twice_is_one_look(
    cluster: ScriptedCluster, query: Query, repaired: list[float]
) -> None:
    batches = query(**QUICK, **EARLIEST, maxBytesPerTrigger="1", **{"fetchOffset.numRetries": "2"})
    batches.stop_at_what_is_there()
    batches.start()
    cluster.add_topic("u")
    append(cluster, U0, 1)
    cluster.move_leader(U0, 2)
    cluster.spoil(FetchRequest, faults.closing, node=1)
    end = first_end(batches)
    assert repaired == [7]
    cluster.add_topic("v")
    assert last_end(batches, end) == {T0: 5, T1: 2, U0: 1}


def test_fault_19_a_query_that_runs_outlasts_the_loss_of_a_broker(
    cluster: ScriptedCluster,
    query: Query,
    repaired: list[float],
    caplog: pytest.LogCaptureFixture,
) -> None:
    batches = query(**QUICK)
    end = running(batches)
    cluster.stop(1)
    with caplog.at_level(logging.WARNING):
        assert run(batches, end) == (end, [])
    assert repaired == [7]
    assert "The next micro-batch cannot be planned yet: " in caplog.text


def test_fault_26_what_cannot_pass_is_told_at_once(
    cluster: ScriptedCluster, query: Query, repaired: list[float]
) -> None:
    batches = query(**QUICK)
    end = running(batches)
    cluster.spoil(ListOffsetsRequest, faults.refusing(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        next_end(batches, end)
    assert repaired == []


def test_an_idle_trigger_asks_each_leader_once_and_nobody_else(
    cluster: ScriptedCluster, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_logs, "_PARTITIONS_ARE_FRESH_MS", 60_000)
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


def test_looks_that_find_nothing_for_a_while_wait_a_little(
    cluster: ScriptedCluster, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused: list[float] = []
    monkeypatch.setattr(micro_batches, "pause", paused.append)
    batches = query(**EARLIEST)
    end = running(batches)
    assert next_end(batches, end) == end
    assert paused == []
    monkeypatch.setattr(micro_batches, "_IDLE_AFTER_MS", -1)
    append(cluster, T0, 1)
    end = next_end(batches, end)
    assert paused == []
    assert next_end(batches, end) == next_end(batches, end) == end
    assert paused == [micro_batches._IDLE_PAUSE_MS] * 2
