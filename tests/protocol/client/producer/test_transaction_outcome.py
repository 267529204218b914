"""The outcome of a transaction from its records: committed, aborted or unknown."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transaction_outcome import Views, was_committed
from kafka_protocol.client.producer.transactions import OutcomeUnknownError, Transaction, begin
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaTimeoutError
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.records.transactions import COMMIT
from tests.fakes.log import PartitionLog, batch_of, in_transaction
from tests.fakes.reading import PARTITION
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.transactions import opened, soon, transactional, write_in
from tests.simulation.kafka.batches import emptied, placed

FEW_TRIES: dict[str, Any] = {"retry_backoff_ms": 500, "retry_backoff_max_ms": 500}


def outcome(client: Cluster, transaction: Transaction, offset: int | None) -> bool:
    views = Views(
        *(
            Cluster(replace(client.config, isolation_level=level))
            for level in ("read_committed", "read_uncommitted")
        )
    )
    try:
        return was_committed(views, transaction, PARTITION, offset, Deadline.after(60_000))
    finally:
        for view in views:
            view.close()


def ended(client: Cluster, *values: bytes, committed: bool) -> tuple[Transaction, int]:
    """A transaction that its coordinator has forgotten, and the offset of its record."""
    transaction = begin(client, "a", soon())
    offset = write_in(client, transaction, *values).joined[PARTITION]
    assert offset is not None
    end(client, transaction, soon(), committed=committed)
    begin(client, "a", soon())
    return transaction, offset


@pytest.mark.parametrize("committed", [True, False])
def test_records_show_the_outcome(committed: bool) -> None:
    """With records of other transactions before and behind."""
    with transactional() as (_, client):
        ended(client, b"before", committed=not committed)
        transaction, offset = ended(client, b"x", b"y", committed=committed)
        ended(client, b"behind", committed=not committed)
        assert offset == 2
        assert outcome(client, transaction, offset) is committed
        assert outcome(client, transaction, offset + 1) is committed


def test_joined_has_an_offset_from_a_response() -> None:
    """The first batch may be acknowledged as a duplicate, without an offset."""
    with transactional() as (cluster, client):
        producer = Producer(client, begin(client, "a", soon()))
        assert producer.joined == {}
        cluster.add_fault(ProduceRequest, error=ErrorCode.DUPLICATE_SEQUENCE_NUMBER, count=1)
        for value in (b"x", b"y"):
            producer.add(PARTITION, batch_of(value))
            producer.flush()
        assert producer.joined == {PARTITION: 0}


def test_an_open_transaction_is_waited_for_and_named() -> None:
    with transactional(transaction_timeout_ms=900_000, **FEW_TRIES) as (_, client):
        transaction = opened(client, b"x")
        held = "An open transaction holds the last stable"
        with pytest.raises(KafkaTimeoutError, match=held), sleeps_take_no_time():
            outcome(client, transaction, 0)


def test_a_transaction_being_ended_is_waited_for() -> None:
    """It timed out, and its markers are late."""
    with transactional() as (cluster, client):
        transaction = opened(client, b"x")
        cluster.hold_markers()
        cluster.time_out("a")

        def write_markers() -> None:
            deadline = soon()
            while not cluster.asked(FetchRequest) and not deadline.has_passed:
                time.sleep(0.001)
            cluster.write_markers()

        with ThreadPoolExecutor() as beside:
            late = beside.submit(write_markers)
            assert outcome(client, transaction, 0) is False
            late.result()


def recreate(log: PartitionLog) -> None:
    log.truncate(0)
    log.append(batch_of(b"other"))


GONE: dict[str, Callable[[PartitionLog], None]] = {
    "retention": lambda log: log.delete_before(3),
    "unclean election": lambda log: log.truncate(0),
    "partial deletion": lambda log: log.delete_before(1),
    "re-created topic": recreate,
}


@pytest.mark.no_cover
@pytest.mark.parametrize("delete", GONE.values(), ids=[*GONE])
@pytest.mark.parametrize("committed", [True, False])
def test_fault_27_deleted_records_leave_the_outcome_unknown(
    delete: Callable[[PartitionLog], None], committed: bool
) -> None:
    with transactional(**FEW_TRIES) as (cluster, client):
        transaction, offset = ended(client, b"x", committed=committed)
        delete(cluster.log(PARTITION))
        gone = r"'a'.* at offset 0 of t-0 no longer exists"
        with pytest.raises(OutcomeUnknownError, match=gone), sleeps_take_no_time():
            outcome(client, transaction, offset)


def test_an_empty_batch_leaves_the_outcome_unknown() -> None:
    """Compaction leaves headers of aborted batches too, but no list of aborted transactions."""
    with transactional() as (cluster, client):
        transaction, offset = ended(client, b"x", committed=False)
        log = cluster.log(PARTITION)
        log.truncate(0)
        batch = placed(in_transaction(transaction.producer_id, b"x"), 0, epoch=0)
        log.append_at(0, emptied(batch).data)
        log.end_transaction(transaction.producer_id, COMMIT)
        log.append(batch_of(b"behind"))
        with pytest.raises(OutcomeUnknownError, match="compaction"):
            outcome(client, transaction, offset)


def test_a_deleted_topic_leaves_the_outcome_unknown() -> None:
    with transactional(topic_propagation_max_ms=50) as (cluster, client):
        transaction, offset = ended(client, b"x", committed=True)
        cluster.delete_topic("t")
        with pytest.raises(OutcomeUnknownError, match="a topic that was deleted"):
            outcome(client, transaction, offset)


def test_without_an_offset_the_outcome_is_unknown() -> None:
    with transactional() as (_, client):
        transaction, _ = ended(client, b"x", committed=True)
        with pytest.raises(OutcomeUnknownError, match="no broker returned an offset"):
            outcome(client, transaction, None)


def test_fault_26_an_authorization_error_is_raised() -> None:
    with transactional() as (cluster, client):
        transaction, offset = ended(client, b"x", committed=True)
        cluster.add_fault(FetchRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, count=1)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            outcome(client, transaction, offset)
