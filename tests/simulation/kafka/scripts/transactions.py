"""Scripts of transactions: both versions, fencing, InitProducerId."""

from __future__ import annotations

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.find_coordinator import (
    TRANSACTION,
)
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.list_offsets import ListOffsetsResponse
from kafka_protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.peers import Peer, ask_until
from tests.simulation.kafka.requests import (
    list_request,
)
from tests.simulation.kafka.scripts.steps import (
    add,
    create,
    describe,
    describe_producers,
    end,
    find_coordinator,
    init,
    read,
    settle_end,
    wait_for_end,
    write,
)
from tests.simulation.kafka.transactions import Producer


def transactions(peer: Peer, topic: str) -> None:
    """Commit, abort, repeat both; reads of both kinds while open and afterwards."""
    create(peer, topic)
    find_coordinator(peer, topic, TRANSACTION)
    for commits in (True, False):
        producer = init(peer, topic)
        end(peer, topic, producer, commits=commits)
        write(peer, topic, b"early", producer=producer, transactional_id=topic)
        write(peer, topic, b"early", producer=producer, transactional_id=topic, version=10)
        add(peer, topic, producer, topic)
        add(peer, topic, producer, topic)
        write(peer, topic, b"a", b"b", producer=producer, transactional_id=topic)
        write(peer, topic, b"a", b"b", producer=producer, transactional_id=topic)
        write(peer, topic, b"c", producer=producer, sequence=2, transactional_id=topic)
        describe(peer, topic)
        describe_producers(peer, topic)
        for is_committed in (False, True):
            read(peer, topic, is_committed=is_committed)
            request = list_request(-1, TopicPartition(topic, 0), is_committed=is_committed)
            peer.ask(request, ListOffsetsResponse)
        end(peer, topic, producer, commits=commits)
        wait_for_end(peer, topic)
        end(peer, topic, producer, commits=commits)
        end(peer, topic, producer, commits=not commits)
        settle_end(peer, topic)
        describe_producers(peer, topic)
        for is_committed in (False, True):
            for offset in (0, 3, 5):
                read(peer, topic, offset, is_committed=is_committed)
        write(peer, topic, b"d", producer=producer, sequence=3, transactional_id=topic)
        write(peer, topic, b"plain")


def fenced_producers(peer: Peer, topic: str) -> None:
    """Another InitProducerId aborts what is open, and the old producer is told so."""
    create(peer, topic)
    find_coordinator(peer, topic, TRANSACTION)
    old = init(peer, topic)
    add(peer, topic, old, topic)
    write(peer, topic, b"a", producer=old, transactional_id=topic)
    request = InitProducerIdRequest(transactional_id=topic, transaction_timeout_ms=60_000)
    peer.ask(request, InitProducerIdResponse)  # CONCURRENT_TRANSACTIONS: it aborts
    wait_for_end(peer, topic)
    new = init(peer, topic)
    settle_end(peer, topic)
    for version in (1, 2, 3):
        add(peer, topic, old, topic, version=version)
        end(peer, topic, old, commits=True, version=version)
    write(peer, topic, b"b", producer=old, sequence=1, transactional_id=topic)
    write(peer, topic, b"b", producer=old, sequence=1, transactional_id=topic, version=10)
    stranger = Producer(new.producer_id + 500, 0)
    add(peer, topic, stranger, topic)
    end(peer, topic, stranger, commits=True)
    write(peer, topic, b"c", producer=stranger, transactional_id=topic)
    add(peer, topic, new, topic, 0, 4)
    add(peer, topic, new, f"no-{topic}")
    describe(peer, topic)
    read(peer, topic, is_committed=True)


def init_variants(peer: Peer, topic: str) -> None:
    """With and without the producer that one had, of all versions."""
    find_coordinator(peer, topic, TRANSACTION)
    first = init(peer, topic)
    for version in (0, 1, 2, 3, 4):
        init(peer, topic, version=version)
    for timeout_ms in (0, -1, 900_001):
        init(peer, topic, timeout_ms=timeout_ms)
    init(peer, "")
    last = init(peer, topic)
    same = init(peer, topic, last)
    init(peer, topic, last)  # repeated
    init(peer, topic, first)
    init(peer, topic, first, version=3)
    init(peer, topic, Producer(same.producer_id + 700, 0))
    init(peer, topic, Producer(same.producer_id, -1))
    init(peer, None, version=2)
    init(peer, None, same)
    describe(peer, topic, f"no-{topic}")


def transactions_v2(peer: Peer, topic: str) -> None:
    """Produce adds partitions, and each end brings the next epoch (KIP-890)."""
    create(peer, topic)
    find_coordinator(peer, topic, TRANSACTION)
    producer = init(peer, topic)
    for commits in (True, False):
        write(peer, topic, b"a", producer=producer, transactional_id=topic, version=12)
        write(peer, topic, b"b", producer=producer, sequence=1, transactional_id=topic, version=12)
        describe(peer, topic)
        after = end(peer, topic, producer, commits=commits, version=5)
        wait_for_end(peer, topic)
        end(peer, topic, producer, commits=commits, version=5)
        end(peer, topic, producer, commits=not commits, version=5)
        settle_end(peer, topic)
        write(peer, topic, b"c", producer=producer, sequence=2, transactional_id=topic, version=12)
        assert after is not None
        producer = after
    after = end(peer, topic, producer, commits=False, version=5)
    wait_for_end(peer, topic)
    end(peer, topic, after or producer, commits=True, version=5)
    read(peer, topic, is_committed=True)
    describe_producers(peer, topic)


def _has_loaded(response: ListTransactionsResponse) -> bool:
    return response.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def listed_transactions(peer: Peer, topic: str) -> None:
    """By state, producer, pattern and age."""
    create(peer, topic)
    find_coordinator(peer, topic, TRANSACTION)
    producer = init(peer, topic)
    pattern = f"{topic}.*"
    for states in ([], ["Empty"], ["Ongoing"], ["Nonsense", "Empty"]):
        for duration in (-1, 3_600_000):
            request = ListTransactionsRequest(
                state_filters=states,
                producer_id_filters=[producer.producer_id],
                duration_filter=duration,
                transactional_id_pattern=pattern,
            )
            ask_until(peer, request, ListTransactionsResponse, _has_loaded)
    request = ListTransactionsRequest(
        state_filters=[], producer_id_filters=[], transactional_id_pattern="no-such-.*"
    )
    peer.ask(request, ListTransactionsResponse)
    end(peer, topic, producer, commits=False)
