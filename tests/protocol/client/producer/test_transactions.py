"""Transactions: begin, write, end; and what readers with read_committed see."""

from __future__ import annotations

import pickle

import pytest

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.producer.end_transactions import end, end_all
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import Transaction, TransactionFencedError, begin
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaConfigError, UnsupportedVersionError
from kafka_protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafka_protocol.messages.end_txn import EndTxnRequest
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.records.batch import BatchHeader
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Request
from tests.fakes import faults
from tests.fakes.broker import Peer
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import batch_of
from tests.fakes.reading import PARTITION, write
from tests.fakes.transactions import (
    committed_values,
    opened,
    soon,
    transactional,
    write_in,
)


def headers_of(cluster: FakeCluster) -> list[BatchHeader]:
    return cluster.log(PARTITION).data_headers


# --- Begin ---------------------------------------------------------------------------------------


def test_each_transaction_has_its_own_epoch() -> None:
    with transactional() as (_, client):
        first, second = (begin(client, "a", soon()) for _ in range(2))
        other = begin(client, "b", soon())
        assert (first.producer_id, first.epoch + 1) == (second.producer_id, second.epoch)
        assert other.producer_id != first.producer_id


def test_transactions_and_errors_can_be_pickled() -> None:
    with transactional() as (_, client):
        transaction = begin(client, "a", soon())
        assert pickle.loads(pickle.dumps(transaction)) == transaction
        error = TransactionFencedError("why", may_have_timed_out=True)
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.may_have_timed_out) == ("why", True)


def test_begin_sends_the_time_out_to_the_coordinator() -> None:
    with transactional(transaction_timeout_ms=1_234) as (cluster, client):
        begin(client, "a", soon())
        ((_, found, _),) = cluster.asked(FindCoordinatorRequest)
        ((_, asked, _),) = cluster.asked(InitProducerIdRequest)
        assert (found.key_type, found.coordinator_keys) == (1, ["a"])
        assert (asked.transactional_id, asked.transaction_timeout_ms) == ("a", 1_234)


def test_a_too_long_time_out_names_option_and_limit() -> None:
    with transactional(transaction_timeout_ms=900_001) as (_, client):
        with pytest.raises(
            BrokerError,
            match=r"'a'.*kafka\.transaction\.timeout\.ms is 900001.*transaction\.max\.timeout\.ms",
        ):
            begin(client, "a", soon())


@pytest.mark.parametrize("kind", [FindCoordinatorRequest, InitProducerIdRequest])
def test_fault_26_a_refused_transactional_id_names_the_acls(kind: type[Request]) -> None:
    with transactional() as (cluster, client):
        cluster.add_fault(kind, error=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, count=1)
        with pytest.raises(BrokerError, match=r"transactional id 'a'.*DESCRIBE and WRITE"):
            begin(client, "a", soon())
        assert len(cluster.asked(kind)) == 1


def test_transactions_need_idempotence() -> None:
    with transactional(enable_idempotence=False) as (cluster, client):
        with pytest.raises(KafkaConfigError, match=r"kafka\.acks"):
            begin(client, "a", soon())
        assert not cluster.asked(InitProducerIdRequest)


def test_fault_12_brokers_too_old_for_transactions() -> None:
    with transactional(release="0.10.2") as (_, client):
        with pytest.raises(UnsupportedVersionError, match="FindCoordinator"):
            begin(client, "a", soon())


# --- Write ---------------------------------------------------------------------------------------


def test_batches_have_the_transaction_s_producer_id() -> None:
    with transactional(acks=1) as (cluster, client):
        transaction = opened(client, b"a", b"b", b"c")
        headers = headers_of(cluster)
        assert {(h.producer_id, h.producer_epoch) for h in headers} == {transaction[1:3]}
        assert [h.base_sequence for h in headers] == [0, 1, 2]
        assert all(h.is_transactional for h in headers)
        requests = [request for _, request, _ in cluster.asked(ProduceRequest)]
        assert {(r.transactional_id, r.acks) for r in requests} == {("a", -1)}


def test_without_a_transaction_batches_are_not_transactional() -> None:
    with transactional() as (cluster, client):
        write(client, b"a")
        assert not headers_of(cluster)[0].is_transactional
        assert not cluster.asked(AddPartitionsToTxnRequest)
        ((_, request, _),) = cluster.asked(ProduceRequest)
        assert request.transactional_id is None


@pytest.mark.parametrize("release", ["0.11.0", "2.0", "2.7", "3.9", "4.0", "99"])
def test_all_releases_get_transactions_of_version_1(release: str) -> None:
    with transactional(release=release) as (cluster, client):
        transaction = opened(client, b"a")
        end(client, transaction, soon(), committed=True)
        highest: dict[type[Request], int] = {
            ProduceRequest: 11,
            AddPartitionsToTxnRequest: 3,
            EndTxnRequest: 4,
        }
        for kind, limit in highest.items():
            ((_, _, version),) = cluster.asked(kind)
            assert version <= limit
        assert committed_values(client) == [b"a"]


def partitions_added(cluster: FakeCluster) -> list[list[int]]:
    return [
        sorted(number for topic in request.v3_and_below_topics for number in topic.partitions)
        for _, request, _ in cluster.asked(AddPartitionsToTxnRequest)
    ]


def test_partitions_are_added_together_and_once() -> None:
    with transactional(partitions=9, nodes=2) as (cluster, client):
        producer = Producer(client, begin(client, "a", soon()))
        for numbers in ([0, 1, 2], [1, 2, 3, 4], [0, 4]):
            for number in numbers * 3:
                producer.add(TopicPartition("t", number), batch_of(b"x"))
            producer.push(500)
        producer.flush()
        assert partitions_added(cluster) == [[0, 1, 2], [3, 4]]


def test_a_partition_is_added_before_its_first_batch() -> None:
    """The broker is leader and coordinator, and responds in the order of the requests."""
    with transactional(partitions=20) as (_, client):
        transaction = begin(client, "a", soon())
        producer = Producer(client, transaction)
        for number in range(20):
            for _ in range(3):
                producer.add(TopicPartition("t", number), batch_of(b"%d" % number))
            producer.push(10**12)
        producer.flush()
        end(client, transaction, soon(), committed=True)
        for number in range(20):
            values = committed_values(client, TopicPartition("t", number))
            assert values == [b"%d" % number] * 3


def test_fault_44_split_batches_stay_in_the_transaction() -> None:
    with transactional() as (cluster, client):
        cluster.add_topic("t", config={"max.message.bytes": "300"})
        transaction = begin(client, "a", soon())
        values = [b"%d" % number * 50 for number in range(7)]
        producer = Producer(client, transaction)
        producer.add(PARTITION, batch_of(*values))
        producer.flush()
        assert all(header.is_transactional for header in headers_of(cluster))
        end(client, transaction, soon(), committed=True)
        assert committed_values(client) == values


def test_a_missing_partition_keeps_the_others_out() -> None:
    with transactional(max_block_ms=500) as (cluster, client):
        producer = Producer(client, begin(client, "a", soon()))
        producer.add(PARTITION, batch_of(b"x"))
        producer.add(TopicPartition("t", 1), batch_of(b"x"))
        with pytest.raises(
            BrokerError, match=r"AddPartitionsToTxn of t-1 .*UNKNOWN_TOPIC_OR_PARTITION"
        ):
            producer.flush()
        assert not producer.joined
        assert headers_of(cluster) == []


def test_an_old_message_format_is_refused() -> None:
    with transactional() as (_, client):
        producer = Producer(client, begin(client, "a", soon()))
        with pytest.raises(UnsupportedVersionError, match=r"'a'.*0\.11"):
            producer.add(PARTITION, bytes(16) + b"\x01" + bytes(20))


# --- End -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("committed", "seen"), [(True, [b"a", b"b"]), (False, [])])
def test_the_end_decides_what_readers_see(committed: bool, seen: list[bytes]) -> None:
    with transactional() as (_, client):
        transaction = opened(client, b"a", b"b")
        assert committed_values(client) == []
        end(client, transaction, soon(), committed=committed)
        assert committed_values(client) == seen


def test_another_process_can_end_a_transaction() -> None:
    with transactional() as (cluster, client):
        transaction = opened(client, b"a")
        elsewhere = cluster.client()
        end(elsewhere, pickle.loads(pickle.dumps(transaction)), soon(), committed=True)
        elsewhere.close()
        assert committed_values(client) == [b"a"]


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_can_be_repeated_but_not_reversed(committed: bool) -> None:
    with transactional() as (cluster, client):
        transaction = opened(client, b"a")
        for _ in range(3):
            end(client, transaction, soon(), committed=committed)
        with pytest.raises(TransactionFencedError, match=r"INVALID_TXN_STATE.*ended before"):
            end(client, transaction, soon(), committed=not committed)
        assert committed_values(client) == ([b"a"] if committed else [])
        assert cluster.log(PARTITION).end_offset == 2  # with one marker


def test_a_transaction_without_partitions_cannot_end() -> None:
    with transactional() as (_, client):
        transaction = begin(client, "a", soon())
        producer = Producer(client, transaction)
        producer.flush()
        assert not producer.joined
        with pytest.raises(TransactionFencedError, match="has no partitions"):
            end(client, transaction, soon(), committed=True)
        assert write_in(client, begin(client, "a", soon()), b"x").joined


def written(client: Cluster, count: int) -> list[Transaction]:
    transactions = [begin(client, f"id-{number}", soon()) for number in range(count)]
    for number, transaction in enumerate(transactions):
        write_in(client, transaction, b"%d" % number)
    return transactions


@pytest.mark.parametrize("release", ["2.7", "99"], ids=["one coordinator a response", "many"])
def test_many_transactions_end_at_their_coordinators(release: str) -> None:
    with transactional(nodes=3, release=release) as (cluster, client):
        coordinators = {f"id-{number}": number % 3 + 1 for number in range(9)}
        for transactional_id, node in coordinators.items():
            cluster.move_coordinator(transactional_id, node)
        transactions = written(client, 9)
        assert end_all(client, transactions, soon(), committed=True) == dict.fromkeys(transactions)
        assert sorted(committed_values(client)) == [b"%d" % number for number in range(9)]
        asked = [
            (node, request.transactional_id) for node, request, _ in cluster.asked(EndTxnRequest)
        ]
        assert sorted(asked) == sorted((node, id_) for id_, node in coordinators.items())


def held_until(count: int) -> faults.Fault:
    """The responses wait until there are so many of them."""
    held: list[bytes] = []

    def deliver(frame: bytes, peer: Peer) -> None:
        held.append(frame)
        if len(held) == count:
            peer.write(b"".join(held))

    return faults.delivered(deliver)


def test_requests_to_end_many_are_in_flight_together() -> None:
    with transactional() as (cluster, client):
        transactions = written(client, 9)
        cluster.add_fault(EndTxnRequest, held_until(9))
        assert end_all(client, transactions, soon(), committed=True) == dict.fromkeys(transactions)
        assert len(cluster.asked(EndTxnRequest)) == 9


def test_each_of_many_has_its_own_outcome() -> None:
    with transactional() as (cluster, client):
        done, fenced, unknown_id, aborted = written(client, 4)
        begin(client, fenced.transactional_id, soon())
        cluster.set_transaction(unknown_id.transactional_id, producer_id=99)
        end(client, aborted, soon(), committed=False)
        outcomes = end_all(client, [done, fenced, unknown_id, aborted], soon(), committed=True)
        assert outcomes.pop(done) is None
        reasons = {t.transactional_id: str(error) for t, error in outcomes.items()}
        assert all(isinstance(error, TransactionFencedError) for error in outcomes.values())
        assert "PRODUCER_FENCED" in reasons["id-1"]
        assert "transactional.id.expiration.ms" in reasons["id-2"]
        assert "INVALID_TXN_STATE" in reasons["id-3"]
        assert committed_values(client) == [b"0"]  # the transaction of the unknown id stays open


def test_ending_none_sends_no_request() -> None:
    with transactional() as (cluster, client):
        assert end_all(client, [], soon(), committed=True) == {}
        assert not cluster.asked(FindCoordinatorRequest)
