"""Open transactions are found at every coordinator, and ended by fencing."""

from __future__ import annotations

import pytest

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.open_transactions import (
    EMPTY,
    ONGOING,
    OpenTransactions,
    TransactionState,
    fence_all,
    list_open,
    transaction_state,
)
from kafka_protocol.client.producer.transactions import TransactionFencedError, begin
from kafka_protocol.errors import BrokerError, ErrorCode, UnsupportedVersionError
from kafka_protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_protocol.messages.list_transactions import ListTransactionsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes import faults
from tests.fakes.reading import PARTITION
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.transactions import committed_values, opened, soon, transactional, write_in


def test_those_of_every_coordinator_are_listed() -> None:
    with transactional(nodes=3) as (cluster, client):
        for node in (1, 2, 3):
            cluster.move_coordinator(f"a-{node}", node)
            opened(client, b"a", name=f"a-{node}")
        opened(client, b"a", name="b-1")
        end(client, opened(client, b"a", name="a-4"), soon(), committed=True)
        begin(client, "a-5", soon())
        ids = frozenset({"a-1", "a-2", "a-3"})
        assert list_open(client, r"a-\d", soon()) == OpenTransactions(ids, ())


def test_brokers_below_4_1_list_all_ids() -> None:
    with transactional(release="4.0") as (_, client):
        for name in ("a-1", "b-1"):
            opened(client, b"a", name=name)
        assert list_open(client, r"a-\d", soon()).ids == {"a-1", "b-1"}


def test_brokers_below_3_0_cannot_list_or_describe_any() -> None:
    with transactional(release="2.8") as (_, client):
        with pytest.raises(UnsupportedVersionError, match="ListTransactions"):
            list_open(client, "a", soon())
        with pytest.raises(UnsupportedVersionError, match="DescribeTransactions"):
            transaction_state(client, "a", soon())


def test_fault_49_a_coordinator_that_loads_is_asked_again() -> None:
    with transactional() as (cluster, client):
        opened(client, b"a")
        cluster.add_fault(
            ListTransactionsRequest, error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, count=1
        )
        assert list_open(client, "a", soon()) == OpenTransactions(frozenset("a"), ())
        cluster.add_fault(
            ListTransactionsRequest, error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, count=10_000
        )
        with sleeps_take_no_time():
            ids, errors = list_open(client, "a", soon())
        assert not ids
        assert "ListTransactions to" in str(errors[0])


def test_what_was_listed_stays_if_the_brokers_go_while_a_coordinator_loads() -> None:
    with transactional() as (cluster, client):
        cluster.add_fault(
            ListTransactionsRequest, error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, count=1
        )
        cluster.add_fault(
            ListTransactionsRequest,
            faults.changed(lambda _: cluster.add_fault(MetadataRequest, faults.closing)),
        )
        with sleeps_take_no_time():
            _, (error,) = list_open(client, "a", soon())
        assert "COORDINATOR_LOAD_IN_PROGRESS" in str(error)


def test_what_was_listed_stays_if_a_broker_is_silent_while_a_coordinator_loads() -> None:
    """As at the deadline, which cuts requests off."""
    with transactional(nodes=2) as (cluster, client):
        cluster.move_coordinator("a", 1)
        opened(client, b"a")

        def silence(_: object) -> None:
            cluster.add_fault(ListTransactionsRequest, faults.closing, node=1)

        cluster.add_fault(ListTransactionsRequest, faults.changed(silence), node=1, count=1)
        cluster.add_fault(
            ListTransactionsRequest, error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, node=2, count=1
        )
        with sleeps_take_no_time():
            ids, (error,) = list_open(client, "a", soon())
        assert ids == {"a"}
        assert "COORDINATOR_LOAD_IN_PROGRESS" in str(error)


def test_a_broker_without_a_response_hides_only_its_own() -> None:
    with transactional(nodes=2) as (cluster, client):
        for node in (1, 2):
            cluster.move_coordinator(f"a-{node}", node)
            opened(client, b"a", name=f"a-{node}")
        cluster.add_fault(ListTransactionsRequest, faults.closing, node=1)
        ids, (error,) = list_open(client, "a.*", soon())
        assert ids == {"a-2"}
        assert "ListTransactions to broker 1" in str(error)


def test_the_state_of_an_id() -> None:
    with transactional() as (cluster, client):
        transaction = begin(client, "a", soon())
        none = frozenset[TopicPartition]()
        assert transaction_state(client, "a", soon()) == TransactionState(
            transaction.producer, EMPTY, -1, 60_000, none
        )
        before_ms = now_ms()
        write_in(client, transaction, b"a")
        state = transaction_state(client, "a", soon())
        assert (state.producer, state.name) == (transaction.producer, ONGOING)
        assert before_ms <= state.started_ms <= now_ms()
        assert state.partitions == {PARTITION}
        with pytest.raises(BrokerError, match=r"DescribeTransactions of 'b' .*NOT_FOUND"):
            transaction_state(client, "b", soon())
        cluster.add_fault(
            DescribeTransactionsRequest,
            faults.changed(lambda response: response.transaction_states.clear()),
            count=1,
        )
        assert transaction_state(client, "a", soon()).name == "Ongoing"


def test_fault_47_a_fenced_transaction_is_aborted() -> None:
    with transactional() as (_, client):
        transaction = opened(client, b"stale")
        assert fence_all(client, ["a", "never begun"], soon()) == {"a": None, "never begun": None}
        assert not list_open(client, "a", soon()).ids
        with pytest.raises(TransactionFencedError):
            end(client, transaction, soon(), committed=True)
        assert committed_values(client) == []


def test_fault_26_each_fenced_id_has_its_own_error() -> None:
    with transactional() as (cluster, client):
        for error in (ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED):
            cluster.add_fault(InitProducerIdRequest, error=error, count=1)
        errors = fence_all(client, ["a", "b"], soon())
        assert errors["a"] is None
        assert "InitProducerId of transactional id b to" in str(errors["b"])


def test_more_than_can_be_in_flight_are_fenced() -> None:
    with transactional() as (cluster, client):
        ids = [f"a-{number}" for number in range(1_200)]
        assert set(fence_all(client, ids, Deadline.after(60_000)).values()) == {None}
        assert len(cluster.asked(InitProducerIdRequest)) == len(ids)
