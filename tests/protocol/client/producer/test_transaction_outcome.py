"""What logs tell of a transaction: that it was committed, or aborted, or that nobody knows."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import crc32c
import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transaction_outcome import was_committed
from kafka_protocol.client.producer.transactions import OutcomeUnknownError, Transaction, begin
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaTimeoutError
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.records.batch import HEADER_BYTES
from tests.fakes.log import Log, batch_of, in_transaction
from tests.fakes.reading import PARTITION
from tests.fakes.transactions import transactional, write_in


def soon() -> Deadline:
    return Deadline.after(5_000)


def ask(
    client: Cluster, of: Transaction, offset: int | None, deadline: Deadline | None = None
) -> bool:
    try:
        return was_committed(client.config, of, PARTITION, offset, deadline or soon())
    finally:
        close_shared_clusters()


def ended(client: Cluster, *values: bytes, committed: bool) -> tuple[Transaction, int]:
    """A transaction of which its coordinator tells nothing more, and where it wrote."""
    transaction = begin(client, "a", soon())
    offset = write_in(client, transaction, *values).joined[PARTITION]
    assert offset is not None
    end(client, transaction, committed, soon())
    begin(client, "a", soon())
    return transaction, offset


@pytest.mark.parametrize("committed", [True, False])
def test_it_is_told_by_its_records(committed: bool) -> None:
    """Whatever lies around them, and whichever of them is asked for."""
    with transactional() as (_, client):
        ended(client, b"before", committed=not committed)
        transaction, offset = ended(client, b"x", b"y", committed=committed)
        ended(client, b"behind", committed=not committed)
        assert offset == 2
        assert ask(client, transaction, offset) is committed
        assert ask(client, transaction, offset + 1) is committed


def test_the_offset_is_that_of_a_batch_which_a_broker_told() -> None:
    """The first may have been acknowledged as a duplicate, without one."""
    with transactional() as (cluster, client):
        producer = Producer(client, begin(client, "a", soon()))
        assert producer.joined == {}
        cluster.push_errors(ProduceRequest, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
        for value in (b"x", b"y"):
            producer.add(PARTITION, batch_of(value))
            producer.flush()
        assert producer.joined == {PARTITION: 0}


def test_an_open_one_is_waited_for_and_named() -> None:
    with transactional() as (_, client):
        transaction = begin(client, "a", soon())
        write_in(client, transaction, b"x")
        with pytest.raises(KafkaTimeoutError, match="An open transaction holds the last stable"):
            ask(client, transaction, 0, Deadline.after(200))


def test_one_that_is_being_ended_is_waited_for() -> None:
    """Timed out, and its markers are late."""
    with transactional() as (cluster, client):
        transaction = begin(client, "a", soon())
        write_in(client, transaction, b"x")
        cluster.holds_markers = True
        cluster.time_out("a")

        def write_markers() -> None:
            deadline = soon()
            while not cluster.asked(FetchRequest) and not deadline.has_passed:
                time.sleep(0.001)
            cluster.write_markers()

        with ThreadPoolExecutor() as beside:
            late = beside.submit(write_markers)
            assert ask(client, transaction, 0) is False
            late.result()


GONE: dict[str, Callable[[Log], object]] = {
    "retention": lambda log: log.delete_before(3),
    "an unclean election": lambda log: log.truncate(0),
    "compaction of a part": lambda log: log.delete_before(1),
    "another topic of that name": lambda log: (log.truncate(0), log.append(batch_of(b"other"))),
}


@pytest.mark.parametrize("go", GONE.values(), ids=[*GONE])
@pytest.mark.parametrize("committed", [True, False])
def test_fault_27_what_is_gone_tells_nothing(go: Callable[[Log], object], committed: bool) -> None:
    with transactional() as (cluster, client):
        transaction, offset = ended(client, b"x", committed=committed)
        go(cluster.log(PARTITION))
        with pytest.raises(OutcomeUnknownError, match=r"'a'.* at offset 0 of t-0 is not there any"):
            ask(client, transaction, offset, Deadline.after(500))


def test_a_header_that_compaction_left_tells_nothing() -> None:
    """Those of aborted batches are left too, and the list of them is not."""
    with transactional() as (cluster, client):
        transaction, offset = ended(client, b"x", committed=False)
        log = cluster.log(PARTITION)
        log.truncate(0)
        log.aborted.clear()
        log.append_at(0, emptied(in_transaction(transaction.producer_id, b"x")))
        log.append(batch_of(b"behind"))
        with pytest.raises(OutcomeUnknownError, match="compaction"):
            ask(client, transaction, offset)


def test_a_topic_that_is_gone() -> None:
    with transactional(topic_propagation_max_ms=50) as (cluster, client):
        transaction, offset = ended(client, b"x", committed=True)
        del cluster.topics["t"]
        with pytest.raises(OutcomeUnknownError, match="a topic that was deleted"):
            ask(client, transaction, offset)


def test_where_the_records_are_was_never_told() -> None:
    with transactional() as (_, client):
        transaction, _ = ended(client, b"x", committed=True)
        with pytest.raises(OutcomeUnknownError, match="no broker told where its records are"):
            ask(client, transaction, None)


def test_fault_26_who_may_not_read_is_told() -> None:
    with transactional() as (cluster, client):
        transaction, offset = ended(client, b"x", committed=True)
        cluster.push_errors(FetchRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            ask(client, transaction, offset)


def emptied(batch: bytes) -> bytes:
    """Its header alone, as the cleaner writes it."""
    header = bytearray(batch[:HEADER_BYTES])
    header[8:12] = (HEADER_BYTES - 12).to_bytes(4, "big")
    header[57:61] = bytes(4)
    header[17:21] = crc32c.crc32c(bytes(header[21:])).to_bytes(4, "big")
    return bytes(header)
