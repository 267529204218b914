"""Faults of reads: wrong or incomplete responses of a leader to Fetch and ListOffsets.

With fake brokers that lead and keep logs as real ones do, one fault at a time.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.consumer.fetch import OffsetOutOfRangeError, fetch_range
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.errors import (
    BrokerError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    OutOfStepError,
)
from kafka_protocol.messages.fetch import FINAL_SESSION_EPOCH, FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP, ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.records.transactions import ABORT, COMMIT
from kafka_protocol.topic_partition import OffsetRange
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import faults
from tests.fakes.fetch_cases import (
    SESSION_ERRORS,
    headless,
    hole,
    hollow,
    no_partition,
    nothing,
    only_another_topic,
    short,
    transactions,
)
from tests.fakes.log import batch_of, in_transaction
from tests.fakes.reading import ABC, IN_THREE, PARTITION, offset_of, one_partition, read, write
from tests.fakes.skipping_time import sleeps_take_no_time

SOON_MS = 5_000


# --- Batches that are cut, or too large ----------------------------------------------------------


def test_fault_29_the_last_batch_is_cut_at_every_byte() -> None:
    """Complete batches are used, and the rest is fetched again."""
    cuts: list[int] = []
    with one_partition((b"a", b"b"), (b"c",)) as (cluster, client):
        cluster.add_fault(FetchRequest, faults.records_cut_at(cuts))
        for length in range(len(batch_of(b"a", b"b") + batch_of(b"c"))):
            cuts.append(length)
            assert read(client, 0, 3) == ABC
            assert not cuts


@pytest.mark.parametrize("version", [2, 3, 18])
def test_fault_29_and_30_responses_of_few_bytes(version: int) -> None:
    """Below v3 a larger batch is cut; from v3 on the first one is complete."""
    values = [(b"%d" % number * 50,) for number in range(8)]
    with one_partition(*values, max_partition_fetch_bytes=100) as (cluster, client):
        cluster.offer(FetchRequest, VersionRange(0, version))
        assert read(client, 0, 8) == [(n, value) for n, (value,) in enumerate(values)]
        sizes = {
            request.topics[0].partitions[0].partition_max_bytes
            for _, request, _ in cluster.asked(FetchRequest)
        }
        assert sizes == ({100, 200} if version < 3 else {100})


# --- Gaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "start", "until", "values"),
    [
        (hole, 0, 7, b"abc"),
        (hole, 3, 7, b""),
        (hole, 3, 10, b""),
        (hole, 5, 11, b"k"),
        (hole, 0, 11, b"abck"),
        (headless, 0, 3, b""),
        (headless, 0, 6, b"f"),
        (short, 0, 5, b"abc"),
        (short, 3, 5, b""),
        (short, 4, 5, b""),
        (hollow, 0, 10, b"abc"),
        (hollow, 3, 10, b""),
        (hollow, 9, 10, b""),
    ],
)
def test_fault_34_a_range_with_gaps_is_read_to_its_end(
    make: Any, start: int, until: int, values: bytes
) -> None:
    for max_bytes in (1, 10_000):
        with one_partition(max_partition_fetch_bytes=max_bytes) as (cluster, client):
            make(cluster.log(PARTITION))
            found = read(client, start, until)
            assert b"".join(value or b"" for _, value in found) == values
            assert len(cluster.asked(FetchRequest)) <= 2


def test_fault_34_missing_offsets_are_not_polled_in_a_loop() -> None:
    """The log ends before the range, as after the election of a follower that lagged."""
    with (
        one_partition((b"a",), retry_backoff_ms=200) as (cluster, client),
        sleeps_take_no_time(),
    ):
        with pytest.raises(OffsetOutOfRangeError, match=r"offset 1 of t-0 .* holds \[0, 1\)"):
            read(client, 0, 5, idle_ms=2_000)
        assert len(cluster.asked(FetchRequest)) <= 15


# --- Transactions --------------------------------------------------------------------------------


@pytest.mark.parametrize("max_bytes", [1, 150, 10_000])
def test_fault_35_aborted_records_are_hidden_in_every_range(max_bytes: int) -> None:
    with one_partition(isolation_level="read_committed", max_partition_fetch_bytes=max_bytes) as (
        cluster,
        client,
    ):
        committed = transactions(cluster.log(PARTITION))
        edges = [(start, 16) for start in range(16)] + [(0, until) for until in range(17)]
        for start, until in edges:
            expected = [row for row in committed if start <= row[0] < until]
            assert read(client, start, until) == expected


def test_fault_35_read_uncommitted_hides_only_markers() -> None:
    with one_partition() as (cluster, client):
        transactions(cluster.log(PARTITION))
        offsets = [offset for offset, _ in read(client, 0, 16)]
        assert offsets == [0, 1, 2, 3, 4, 6, 7, 11, 12, 13, 15]


def test_fault_35_responses_with_aborted_records_are_progress() -> None:
    """None leads to a pause, and together they may take longer than the idle time-out."""
    with (
        one_partition(
            isolation_level="read_committed", max_partition_fetch_bytes=1, retry_backoff_ms=5_000
        ) as (cluster, client),
        sleeps_take_no_time() as pass_seconds,
    ):
        log = cluster.log(PARTITION)
        for _ in range(40):
            log.append(in_transaction(1, b"no"))
        log.end_transaction(1, ABORT)
        log.append(batch_of(b"end"))
        cluster.add_fault(FetchRequest, faults.changed(lambda _: pass_seconds(0.1)))
        assert read(client, 0, 42, idle_ms=3_000) == [(41, b"end")]
        assert len(cluster.asked(FetchRequest)) == 42


def test_fault_36_an_open_transaction_hides_later_records() -> None:
    options: dict[str, Any] = {"isolation_level": "read_committed", "retry_backoff_ms": 200}
    with one_partition((b"a",), **options) as (cluster, client):
        log = cluster.log(PARTITION)
        log.append(in_transaction(1, b"b"))
        log.append(batch_of(b"c"))
        assert offset_of(client) == 1
        assert read(client, 0, 1) == ABC[:1]
        with (
            pytest.raises(KafkaTimeoutError, match="Cannot fetch record for offset 1 of t-0"),
            sleeps_take_no_time(),
        ):
            read(client, 0, 3, idle_ms=2_000)
        log.end_transaction(1, COMMIT)
        assert offset_of(client) == 4
        assert read(client, 0, 3) == ABC
        levels = {request.isolation_level for _, request, _ in cluster.asked(FetchRequest)}
        assert levels == {1}


# --- Sessions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", SESSION_ERRORS)
def test_fault_38_session_errors_lead_to_a_full_fetch(error: ErrorCode) -> None:
    with one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (cluster, client):
        broken = faults.only(2, faults.refusing_all(error))
        cluster.add_fault(FetchRequest, lambda handler: faults.in_turn(handler, broken(handler)))
        assert read(client, 0, 3) == ABC
        for _, request, _ in cluster.asked(FetchRequest):
            assert (request.session_id, request.session_epoch) == (0, FINAL_SESSION_EPOCH)
            assert len(request.topics) == 1


def test_fault_38_an_unrequested_session_is_ignored() -> None:
    def hand_out(response: FetchResponse) -> None:
        response.session_id = 77

    with one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (cluster, client):
        cluster.add_fault(FetchRequest, faults.changed(hand_out))
        assert read(client, 0, 3) == ABC


# --- Responses with wrong parts ------------------------------------------------------------------


@pytest.mark.parametrize("change", [nothing, no_partition, only_another_topic])
def test_fault_39_a_missing_partition_is_fetched_again(change: Any) -> None:
    with (
        one_partition(*IN_THREE, retry_backoff_ms=100, retry_backoff_max_ms=200) as (
            cluster,
            client,
        ),
        sleeps_take_no_time(),
    ):
        cluster.add_fault(FetchRequest, faults.changed(change), count=3)
        assert read(client, 0, 3) == ABC
        cluster.add_fault(FetchRequest, faults.changed(change))
        before = len(cluster.asked(FetchRequest))
        with pytest.raises(OutOfStepError, match=r"Fetch of t-0 at offset 0 .*lacks the partition"):
            read(client, 0, 3, idle_ms=2_000)
        assert len(cluster.asked(FetchRequest)) - before < 30


# --- Temporary errors ----------------------------------------------------------------------------

TEMPORARY = faults.errors("KAFKA_STORAGE_ERROR UNKNOWN_SERVER_ERROR OFFSET_NOT_AVAILABLE")
MOVED = faults.errors(
    "NOT_LEADER_OR_FOLLOWER LEADER_NOT_AVAILABLE UNKNOWN_LEADER_EPOCH FENCED_LEADER_EPOCH "
    "UNKNOWN_TOPIC_OR_PARTITION"
)


@pytest.mark.parametrize("error", TEMPORARY + MOVED)
def test_fault_17_and_40_temporary_errors_of_list_offsets_are_retried(error: ErrorCode) -> None:
    with one_partition(*IN_THREE) as (cluster, client):
        cluster.add_fault(ListOffsetsRequest, error=error, count=3)
        assert offset_of(client) == 3
        assert len(cluster.asked(ListOffsetsRequest)) == 4


@pytest.mark.parametrize("error", TEMPORARY)
def test_fault_40_lasting_errors_end_at_the_deadline(error: ErrorCode) -> None:
    with (
        one_partition((b"a",), retry_backoff_ms=100, retry_backoff_max_ms=400) as (cluster, client),
        sleeps_take_no_time(),
    ):
        cluster.add_fault(FetchRequest, error=error)
        cluster.add_fault(ListOffsetsRequest, error=error)
        started = time.monotonic()
        with pytest.raises(BrokerError, match=rf"Fetch of t-0 at offset 0 .*{error.name}"):
            read(client, 0, 1, idle_ms=2_000)
        with pytest.raises(BrokerError, match=rf"ListOffsets of t-0 to broker 1.*{error.name}"):
            list_offsets(client, {PARTITION: LATEST_TIMESTAMP}, Deadline.after(2_000))
        assert time.monotonic() - started < 10
        assert len(cluster.asked(FetchRequest)) < 20
        assert len(cluster.asked(ListOffsetsRequest)) < 20


@pytest.mark.parametrize(
    "error", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER, *SESSION_ERRORS]
)
def test_fault_40_a_response_error_is_not_retried_in_a_loop(error: ErrorCode) -> None:
    with (
        one_partition((b"a",), retry_backoff_ms=200, retry_backoff_max_ms=400) as (cluster, client),
        sleeps_take_no_time(),
    ):
        cluster.add_fault(FetchRequest, faults.refusing_all(error))
        with pytest.raises(BrokerError, match=error.name):
            read(client, 0, 1, idle_ms=3_000)
        assert len(cluster.asked(FetchRequest)) <= 20


# --- Quotas --------------------------------------------------------------------------------------


def throttling(ms: int) -> faults.Fault:
    def change(response: FetchResponse) -> None:
        response.throttle_time_ms = ms

    return faults.changed(change)


def test_fault_41_a_throttled_read_waits_and_is_complete() -> None:
    """On the same connection, before each request but the first."""
    with (
        one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (cluster, client),
        sleeps_take_no_time() as time,
    ):
        cluster.add_fault(FetchRequest, throttling(5_000))
        assert read(client, 0, 3, idle_ms=10_000) == ABC
        assert [round(ms, -3) for ms in time.pauses_ms] == [5_000, 5_000]
        assert cluster.nodes[1].broker.connections == 2  # the first contact, and the leader


@pytest.mark.parametrize(("version", "waits"), [(7, False), (8, True)])
def test_fault_41_below_2_0_the_broker_waits_itself(version: int, waits: bool) -> None:
    with (
        one_partition(*IN_THREE, max_partition_fetch_bytes=1) as (cluster, client),
        sleeps_take_no_time() as time,
    ):
        cluster.offer(FetchRequest, VersionRange(0, version))
        cluster.add_fault(FetchRequest, throttling(5_000))
        assert read(client, 0, 3, idle_ms=10_000) == ABC
        assert bool(time.pauses_ms) is waits


def over_quota(ms: int) -> faults.Fault:
    """The response of brokers since 2.0: a throttle time, and no topics."""

    def change(response: FetchResponse) -> None:
        response.throttle_time_ms = ms
        response.responses.clear()

    return faults.changed(change)


@pytest.mark.parametrize("rack", ["", "here"])
def test_fault_41_a_response_with_only_a_throttle_time(rack: str) -> None:
    with (
        one_partition(*IN_THREE, nodes=2, racks={2: "here"}, client_rack=rack) as (
            cluster,
            client,
        ),
        sleeps_take_no_time() as time,
    ):
        node = 2 if rack else 1
        cluster.add_fault(FetchRequest, over_quota(5_000), node=node, count=3)
        assert read(client, 0, 3, idle_ms=60_000) == ABC
        assert [round(ms, -3) for ms in time.pauses_ms] == [5_000] * 3
        # No other replica, and no new metadata.
        assert [n for n, _, _ in cluster.asked(FetchRequest)].count(node) == 4
        assert len(cluster.asked(MetadataRequest)) == 1


def test_fault_41_throttled_until_the_time_out() -> None:
    with one_partition((b"a",)) as (cluster, client), sleeps_take_no_time():
        cluster.add_fault(FetchRequest, over_quota(200))
        with pytest.raises(KafkaError, match=r"Fetch to broker 1 .*throttles|Cannot fetch record"):
            read(client, 0, 1, idle_ms=2_000)
        assert len(cluster.asked(FetchRequest)) <= 12


def test_fault_41_batches_are_yielded_before_the_wait() -> None:
    """The next Fetch is not sent ahead, so that the caller can decode meanwhile."""
    few_tries = {"retry_backoff_ms": 2_000, "retry_backoff_max_ms": 2_000}
    options: dict[str, Any] = {"max_partition_fetch_bytes": 1} | few_tries
    with one_partition(*IN_THREE, **options) as (cluster, client), sleeps_take_no_time():
        cluster.add_fault(FetchRequest, throttling(60_000))
        range_ = fetch_range(client, OffsetRange(PARTITION, 0, 3), 10_000)
        assert len(next(range_).batches) == 1
        with pytest.raises(KafkaTimeoutError, match=r"Fetch to broker 1 .*throttles .*quota"):
            next(range_)
        assert len(cluster.asked(FetchRequest)) == 1


# --- Replicas and epochs -------------------------------------------------------------------------


def test_fault_17_a_fetch_follows_the_leader_epoch() -> None:
    with one_partition(*IN_THREE, nodes=2, max_partition_fetch_bytes=1) as (cluster, client):
        assert read(client, 0, 1) == ABC[:1]
        cluster.move_leader(PARTITION, 2)
        cluster.move_leader(PARTITION, 1)
        assert read(client, 0, 3) == ABC
        write(client, b"d")
        epochs = [
            request.topics[0].partitions[0].current_leader_epoch
            for _, request, _ in cluster.asked(FetchRequest)
        ]
        assert epochs[0] == 0
        assert epochs[-1] == 2


def test_fault_16_the_leader_moves_between_responses() -> None:
    """No record is lost or read twice."""
    with one_partition(nodes=3, max_partition_fetch_bytes=1) as (cluster, client):
        for number in range(12):
            cluster.append(PARTITION, b"%d" % number)

        def move(_response: FetchResponse) -> None:
            # The batch in this response still comes from the previous leader.
            cluster.move_leader(PARTITION, cluster.leader(PARTITION) % 3 + 1)

        cluster.add_fault(FetchRequest, faults.changed(move))
        assert read(client, 0, 12) == [(n, b"%d" % n) for n in range(12)]


# --- All errors ----------------------------------------------------------------------------------


def test_every_error_code_is_raised_or_retried() -> None:
    with one_partition(*IN_THREE) as (cluster, client), sleeps_take_no_time():
        for error in ErrorCode:
            cluster.add_fault(FetchRequest, error=error, count=1)
            try:
                assert read(client, 0, 3, idle_ms=SOON_MS) == ABC
            except KafkaError as refusal:
                assert error.name in str(refusal)
                assert not error.retriable
