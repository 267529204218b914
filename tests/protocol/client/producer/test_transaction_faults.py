"""Faults of transactions: fencing, time-outs, moving coordinators, lost responses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.producer.end_transactions import end, end_all
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import (
    OutcomeUnknownError,
    TransactionFencedError,
    begin,
)
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from kafka_protocol.messages.end_txn import EndTxnRequest
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Request, VersionRange
from tests.fakes import faults
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster
from tests.fakes.deadlines import PassesWhen
from tests.fakes.faults import Fault
from tests.fakes.log import batch_of
from tests.fakes.reading import PARTITION
from tests.fakes.transactions import (
    committed_values,
    opened,
    soon,
    transactional,
    write_in,
)
from tests.simulation.kafka.transactions import State

APIS = (InitProducerIdRequest, AddPartitionsToTxnRequest, EndTxnRequest)
# Shorter than request.timeout.ms.
SHORT_MS = 60


def quick(**options: Any) -> AbstractContextManager[tuple[FakeCluster, Cluster]]:
    """A cluster and a client with a short request.timeout.ms.

    On a busy machine the client may not wait for ApiVersions until it comes, and then assumes an
    old broker: one that has transactions.
    """
    defaults: dict[str, Any] = {"request_timeout_ms": 100, "broker_version_fallback": "0.11.0"}
    return transactional(**(defaults | options))


def commit(client: Cluster, *values: bytes) -> None:
    """Commit a transaction with these values."""
    end(client, opened(client, *values), soon(), committed=True)


def asked_again(cluster: FakeCluster, kind: type[Request]) -> Deadline:
    """A deadline that passes with the second request of a kind from now on."""
    asked = len(cluster.asked(kind))
    return PassesWhen(lambda: len(cluster.asked(kind)) >= asked + 2)


class Late:
    """Requests without a response, which take effect when `arrive` is called."""

    def __init__(self) -> None:
        self.is_on = True
        self._delayed: list[Callable[[], object]] = []

    def __call__(self, handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            if not self.is_on:
                return handler(request, version)
            self._delayed.append(partial(handler, request, version))
            return None

        return handle

    def arrive(self) -> int:
        """Let the delayed requests take effect; returns their number."""
        self.is_on = False
        arrived, self._delayed = self._delayed, []
        for request in arrived:
            request()
        return len(arrived)


# --- Sequences -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID], ids=str
)
def test_fault_45_a_transaction_gets_no_other_producer_id(error: ErrorCode) -> None:
    """Earlier records would be lost (as in librdkafka 1.8.2)."""
    with transactional() as (cluster, client):
        transaction = opened(client, b"before")
        cluster.add_fault(ProduceRequest, error=error, count=1)
        with pytest.raises(BrokerError, match=rf"Produce to t-0 .*{error.name}.*must be aborted"):
            write_in(client, transaction, b"after")
        assert len(cluster.asked(InitProducerIdRequest)) == 1
        end(client, transaction, soon(), committed=False)
        assert committed_values(client) == []


# --- Fencing -------------------------------------------------------------------------------------


def test_fault_47_a_fenced_transaction_cannot_write_or_end() -> None:
    with transactional(partitions=2) as (cluster, client):
        first = opened(client, b"zombie")
        second = opened(client, b"winner")
        length = cluster.log(PARTITION).end_offset
        for attempt in (
            lambda: write_in(client, first, b"zombie again"),
            lambda: end(client, first, soon(), committed=True),
            lambda: end(client, first, soon(), committed=False),
        ):
            with pytest.raises(TransactionFencedError, match=r"another attempt .*'a'") as caught:
                attempt()
            assert not caught.value.may_have_timed_out
            assert not caught.value.retriable
        assert cluster.log(PARTITION).end_offset == length
        assert cluster.transactions["a"].state is State.ONGOING
        end(client, second, soon(), committed=True)
        assert committed_values(client) == [b"winner"]


FENCED = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)


def adding_fails(error: ErrorCode) -> Fault:
    def change(response: AddPartitionsToTxnResponse) -> None:
        for topic in response.results_by_topic_v3_and_below:
            for result in topic.results_by_partition:
                result.partition_error_code = int(error)

    return faults.changed(change)


@pytest.mark.parametrize("error", FENCED, ids=str)
@pytest.mark.parametrize("kind", [ProduceRequest, AddPartitionsToTxnRequest, EndTxnRequest])
def test_fault_47_fencing_errors_are_not_retried(kind: type[Request], error: ErrorCode) -> None:
    with transactional() as (cluster, client):
        cluster.add_fault(kind, error=error, count=1)
        with pytest.raises(TransactionFencedError, match=rf"{kind.api_name} .*{error.name}.*'a'"):
            commit(client, b"a")
        assert len(cluster.asked(kind)) == 1
        assert committed_values(client) == []


def test_fault_47_two_transactions_begin_at_the_same_time() -> None:
    with transactional() as (cluster, client):
        cluster.add_fault(InitProducerIdRequest, error=ErrorCode.PRODUCER_FENCED, count=1)
        with pytest.raises(TransactionFencedError, match=r"'a'.*at the same time"):
            begin(client, "a", soon())


# --- Time-outs -----------------------------------------------------------------------------------


def test_fault_48_the_time_out_error_names_the_option_and_time() -> None:
    with transactional(transaction_timeout_ms=60_000) as (cluster, client):
        transaction = opened(client, b"a")
        cluster.time_out("a")
        old = transaction._replace(begun_ms=transaction.begun_ms - 75_000)
        for attempt in (
            lambda: write_in(client, old, b"b"),
            lambda: end(client, old, soon(), committed=True),
        ):
            with pytest.raises(
                TransactionFencedError,
                match=r"open for 75\.\d s.*kafka\.transaction\.timeout\.ms is 60000",
            ) as caught:
                attempt()
            assert caught.value.may_have_timed_out
        assert committed_values(client) == []


def test_the_broker_asks_for_an_abort() -> None:
    with transactional() as (cluster, client):
        cluster.add_fault(EndTxnRequest, error=ErrorCode.TRANSACTION_ABORTABLE, count=1)
        transaction = opened(client, b"a")
        with pytest.raises(BrokerError, match=r"TRANSACTION_ABORTABLE.*must be aborted"):
            end(client, transaction, soon(), committed=True)
        end(client, transaction, soon(), committed=False)
        assert committed_values(client) == []


# --- Coordinators --------------------------------------------------------------------------------

PASSING = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


@pytest.mark.no_cover
@pytest.mark.parametrize("error", PASSING, ids=str)
@pytest.mark.parametrize("kind", APIS)
def test_fault_49_temporary_errors_are_retried(kind: type[Request], error: ErrorCode) -> None:
    with transactional() as (cluster, client):
        cluster.add_fault(kind, error=error, count=2)
        commit(client, b"a")
        assert len(cluster.asked(kind)) == 3
        assert committed_values(client) == [b"a"]


def test_fault_49_a_new_coordinator_is_found() -> None:
    with transactional(nodes=3) as (cluster, client):
        transaction = begin(client, "a", soon())
        cluster.move_coordinator("a", 2)
        write_in(client, transaction, b"a")
        cluster.move_coordinator("a", 3)
        end(client, transaction, soon(), committed=True)
        assert committed_values(client) == [b"a"]
        nodes = [[node for node, _, _ in cluster.asked(kind)] for kind in APIS]
        assert nodes == [[1], [1, 2], [2, 3]]
        assert len(cluster.asked(FindCoordinatorRequest)) == 3


def test_a_coordinator_is_kept_until_it_refuses() -> None:
    with transactional(nodes=2) as (cluster, client):
        for _ in range(3):
            commit(client, b"a")
        assert len(cluster.asked(FindCoordinatorRequest)) == 1
        cluster.add_fault(
            InitProducerIdRequest, error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, count=1
        )
        commit(client, b"a")
        assert len(cluster.asked(FindCoordinatorRequest)) == 1
        cluster.add_fault(EndTxnRequest, error=ErrorCode.NOT_COORDINATOR, count=1)
        commit(client, b"a")
        assert len(cluster.asked(FindCoordinatorRequest)) == 2


def test_fault_49_a_kept_coordinator_that_died_is_replaced() -> None:
    with transactional(nodes=2) as (cluster, client):
        cluster.move_coordinator("a", 2)
        commit(client, b"a")
        cluster.move_coordinator("a", 1)
        cluster.stop(2)
        commit(client, b"b")
        assert committed_values(client) == [b"a", b"b"]


def test_fault_49_a_coordinator_that_is_down_is_waited_for() -> None:
    with transactional(nodes=2, connection_setup_timeout_ms=200) as (cluster, client):
        transaction = opened(client, b"a")
        cluster.move_coordinator("a", 2)
        cluster.stop(2)
        with faults.later(0.1, cluster.start, 2):
            end(client, transaction, Deadline.after(20_000), committed=True)
        assert committed_values(client) == [b"a"]


def test_fault_49_begin_waits_for_the_previous_end() -> None:
    with transactional() as (cluster, client):
        transaction = opened(client, b"a")
        cluster.hold_markers()
        end(client, transaction, soon(), committed=True)
        assert committed_values(client) == []
        with pytest.raises(BrokerError, match=r"CONCURRENT_TRANSACTIONS.*still being ended"):
            begin(client, "a", asked_again(cluster, InitProducerIdRequest))
        asked = len(cluster.asked(InitProducerIdRequest))

        def end_at_last(_: InitProducerIdResponse) -> None:
            if len(cluster.asked(InitProducerIdRequest)) == asked + 2:
                cluster.write_markers()

        cluster.add_fault(InitProducerIdRequest, faults.changed(end_at_last))
        assert begin(client, "a", soon()).epoch > transaction.epoch
        assert len(cluster.asked(InitProducerIdRequest)) == asked + 3
        assert committed_values(client) == [b"a"]


def test_fault_49_a_second_commit_waits_for_the_first() -> None:
    with transactional() as (cluster, client):
        transaction = opened(client, b"a")
        cluster.hold_markers()
        end(client, transaction, soon(), committed=True)
        with pytest.raises(OutcomeUnknownError, match="CONCURRENT_TRANSACTIONS"):
            end(client, transaction, asked_again(cluster, EndTxnRequest), committed=True)
        cluster.write_markers()
        end(client, transaction, soon(), committed=True)
        assert committed_values(client) == [b"a"]


def refused_then_lost(handler: Handler) -> Handler:
    return faults.in_turn(handler, faults.response_lost(handler))


def test_fault_49_a_refusal_is_named_though_the_last_try_has_no_response() -> None:
    with transactional() as (cluster, client):
        transaction = opened(client, b"a")
        cluster.hold_markers()
        end(client, transaction, soon(), committed=True)
        asked = len(cluster.asked(EndTxnRequest))
        cluster.add_fault(EndTxnRequest, refused_then_lost)
        deadline = Deadline.after(1_000)
        with pytest.raises(OutcomeUnknownError, match="CONCURRENT_TRANSACTIONS"):
            end(client, transaction, deadline, committed=True)
        assert len(cluster.asked(EndTxnRequest)) == asked + 2


def test_fault_39_a_response_without_the_coordinator() -> None:
    with transactional() as (cluster, client):
        cluster.add_fault(
            FindCoordinatorRequest, faults.changed(lambda r: r.coordinators.clear()), count=1
        )
        commit(client, b"a")
        assert committed_values(client) == [b"a"]
        cluster.add_fault(FindCoordinatorRequest, faults.changed(lambda r: r.coordinators.clear()))
        with pytest.raises(BrokerConnectionError, match=r"transactional id 'b'.*lacks it"):
            begin(client, "b", asked_again(cluster, FindCoordinatorRequest))


@pytest.mark.parametrize(
    "fault",
    [
        faults.changed(lambda response: response.results_by_topic_v3_and_below.clear()),
        adding_fails(ErrorCode.OPERATION_NOT_ATTEMPTED),
    ],
    ids=["missing", "without a reason"],
)
def test_fault_39_a_partition_that_was_not_added(fault: Fault) -> None:
    with transactional() as (cluster, client):
        cluster.add_fault(AddPartitionsToTxnRequest, fault, count=1)
        commit(client, b"a")
        assert len(cluster.asked(AddPartitionsToTxnRequest)) == 2


# --- Lost responses ------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", faults.LOST.values(), ids=faults.LOST)
@pytest.mark.parametrize("kind", APIS)
def test_fault_50_a_lost_response_is_retried(kind: type[Request], fault: Fault) -> None:
    with quick() as (cluster, client):
        cluster.add_fault(kind, fault, count=1)
        commit(client, b"a")
        commit(client, b"b")
        assert committed_values(client) == [b"a", b"b"]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "fault",
    [
        *faults.LOST.values(),
        faults.refusing(ErrorCode.UNKNOWN_SERVER_ERROR),
        faults.refusing(31_000),
    ],
    ids=[*faults.LOST, "UNKNOWN_SERVER_ERROR", "unknown code"],
)
@pytest.mark.parametrize("committed", [True, False])
def test_fault_50_without_a_response_the_outcome_is_unknown(fault: Fault, committed: bool) -> None:
    with quick() as (cluster, client):
        transaction = opened(client, b"a")
        cluster.add_fault(EndTxnRequest, fault)
        with pytest.raises(OutcomeUnknownError, match=r"'a'.*is unknown"):
            end(client, transaction, Deadline.after(SHORT_MS), committed=committed)


@pytest.mark.parametrize("nodes", [1, 2], ids=["cluster", "coordinator"])
def test_fault_50_the_brokers_are_down(nodes: int) -> None:
    with transactional(nodes=nodes, connection_setup_timeout_ms=100) as (cluster, client):
        transaction = opened(client, b"a")
        cluster.move_coordinator("a", nodes)
        cluster.stop(nodes)
        with pytest.raises(OutcomeUnknownError, match=r"'a'.*is unknown"):
            end(client, transaction, Deadline.after(SHORT_MS), committed=True)


@pytest.mark.parametrize("error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_fault_50_a_resigned_coordinator_may_have_decided(error: ErrorCode) -> None:
    """It has logged the decision, does not respond, and another transaction begins."""
    with transactional() as (cluster, client):
        transaction = opened(client, b"a")

        def taken_over(handler: Handler) -> Handler:
            def handle(request: Any, version: int) -> Any:
                response = handler(request, version)
                cluster.set_transaction("a", epoch=cluster.transactions["a"].epoch + 1)
                return response

            return faults.refusing(error)(handle)

        cluster.add_fault(EndTxnRequest, taken_over, count=1)
        with pytest.raises(OutcomeUnknownError, match=r"PRODUCER_FENCED.*is unknown"):
            end(client, transaction, soon(), committed=True)
        assert committed_values(client) == [b"a"]  # so "no effect" would be wrong


def test_fault_50_fenced_after_a_lost_response_may_be_committed() -> None:
    with quick() as (cluster, client):
        transaction = opened(client, b"a")
        late = Late()
        cluster.add_fault(EndTxnRequest, late)

        def meanwhile(handler: Handler) -> Handler:
            def handle(request: Any, version: int) -> Any:
                late.arrive()
                begin(elsewhere, "a", soon())
                return handler(request, version)

            return handle

        elsewhere = cluster.client()
        cluster.add_fault(
            EndTxnRequest, lambda handler: faults.in_turn(handler, meanwhile(handler))
        )
        with pytest.raises(OutcomeUnknownError, match="PRODUCER_FENCED"):
            end(client, transaction, soon(), committed=True)
        elsewhere.close()
        assert committed_values(client) == [b"a"]


@pytest.mark.parametrize("committed", [True, False])
def test_fault_50_a_late_end_does_not_affect_the_next(committed: bool) -> None:
    with quick() as (cluster, client):
        late = Late()
        cluster.add_fault(EndTxnRequest, late)
        first = opened(client, b"first")
        with pytest.raises(OutcomeUnknownError):
            end(client, first, Deadline.after(SHORT_MS), committed=committed)
        second = opened(client, b"second")
        assert late.arrive() >= 1
        assert cluster.transactions["a"].state is State.ONGOING
        assert committed_values(client) == []
        end(client, second, soon(), committed=not committed)
        assert committed_values(client) == ([] if committed else [b"second"])


@pytest.mark.no_cover
def test_fault_50_some_outcomes_are_unknown_and_others_known() -> None:
    with quick(nodes=2, request_timeout_ms=1_000) as (cluster, client):
        for name in "bc":
            cluster.move_coordinator(name, 2)
        done, *lost = (opened(client, name.encode(), name=name) for name in "abc")
        cluster.add_fault(EndTxnRequest, faults.response_lost, node=2)

        def asked() -> list[str]:
            return [request.transactional_id for _, request, _ in cluster.asked(EndTxnRequest)]

        lost_twice = PassesWhen(lambda: asked().count("b") == 2)
        outcomes = end_all(client, [*lost, done], lost_twice, committed=True)
        assert outcomes.pop(done) is None
        assert all(isinstance(outcomes[each], OutcomeUnknownError) for each in lost)
        assert asked().count("a") == 1


def test_fault_50_a_failed_send_leaves_the_outcome_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    with transactional() as (cluster, client):
        transaction = opened(client, b"a")
        send = Broker.send
        cut: list[Request] = []

        def fail_once(self: Broker, request: Request, *limits: Any) -> SentRequest:
            if cut or not isinstance(request, EndTxnRequest):
                return send(self, request, *limits)
            cut.append(request)
            begin(client, "a", soon())
            raise BrokerConnectionError("cut in the middle of a write")

        # The kernel takes a request of this size as a whole, so no peer can cut it.
        monkeypatch.setattr(Broker, "send", fail_once)
        with pytest.raises(OutcomeUnknownError, match="PRODUCER_FENCED"):
            end(client, transaction, soon(), committed=True)
        assert committed_values(client) == []
        assert cluster.transactions["a"].epoch > transaction.epoch


def test_fault_50_an_unsent_request_leaves_no_doubt() -> None:
    with transactional() as (cluster, client):
        transaction = opened(client, b"a")
        cluster.offer(EndTxnRequest, VersionRange(5, 5))
        client.close()
        with pytest.raises(UnsupportedVersionError, match=r"EndTxn.*0-4"):
            end(client, transaction, soon(), committed=True)


# --- All faults together -------------------------------------------------------------------------

LOSSES: dict[str, Fault] = {
    "answered": faults.delayed(0),
    "delayed": faults.delayed(2),
    "cut": faults.cut_after(11),
    "closed": faults.closing,
    "swallowed": faults.response_lost,
}
PARTITIONS = [TopicPartition("t", number) for number in range(2)]
MAX_COUNT = 5
QUICK_MS = 30


def in_turn(losses: list[str], late: Late) -> Fault:
    def wrap(handler: Handler) -> Handler:
        return faults.in_turn(*(LOSSES.get(loss, late)(handler) for loss in losses), handler)

    return wrap


def values_of(number: int) -> list[bytes]:
    return [b"%d-%d" % (number, i) for i in range(3)]


def is_committed(client: Cluster, number: int, wanted: bool) -> bool | None:
    """Write a transaction and end it; whether it is committed, None where that is unknown."""
    try:
        transaction = begin(client, "a", soon())
        producer = Producer(client, transaction)
        for value in values_of(number):
            for topic_partition in PARTITIONS:
                producer.add(topic_partition, batch_of(value))
            producer.push(100)
        producer.flush()
        end(client, transaction, Deadline.after(QUICK_MS / 2), committed=wanted)
    except OutcomeUnknownError:
        return None if wanted else False
    except KafkaError:
        return False
    return wanted


LOST_IN_TURN = st.lists(st.sampled_from([*LOSSES, "late"]), max_size=6)
CHOICES = st.lists(st.booleans(), min_size=MAX_COUNT, max_size=MAX_COUNT)


@pytest.mark.no_cover
@settings(max_examples=max(30, settings().max_examples * 3 // 10))
@given(
    st.fixed_dictionaries(dict.fromkeys((*APIS, ProduceRequest), LOST_IN_TURN)),
    st.integers(1, MAX_COUNT),
    CHOICES,
    CHOICES,
    CHOICES,
)
def test_fault_50_readers_see_whole_committed_transactions(
    losses: dict[type[Request], list[str]],
    count: int,
    commits: list[bool],
    arrivals: list[bool],
    time_outs: list[bool],
) -> None:
    """Each value once, in order, in both partitions or neither, and only if committed."""
    with quick(nodes=2, partitions=2, request_timeout_ms=QUICK_MS) as (cluster, client):
        late = Late()
        intact = [dict(node.broker.handlers) for node in cluster.nodes.values()]
        for kind, each in losses.items():
            cluster.add_fault(kind, in_turn(each, late))
        outcomes: list[bool | None] = []
        for number in range(count):
            outcomes.append(is_committed(client, number, commits[number]))
            entry = cluster.transactions.get("a")
            if time_outs[number] and entry is not None and entry.state is State.ONGOING:
                cluster.time_out("a")
            if arrivals[number]:
                late.arrive()
                late.is_on = True
        late.arrive()
        for node, handlers in zip(cluster.nodes.values(), intact, strict=True):
            node.broker.handlers.update(handlers)
        with closing(cluster.client(isolation_level="read_committed")) as patient:
            last = begin(patient, "a", soon())
            for topic_partition in PARTITIONS:
                write_in(patient, last, b"last", topic_partition=topic_partition)
            end(patient, last, soon(), committed=True)
            seen, seen_in_other = (committed_values(patient, each) for each in PARTITIONS)
        assert seen == seen_in_other
        assert seen.pop() == b"last"
        numbers = [int(value.partition(b"-")[0]) for value in seen[::3]]
        assert seen == [value for number in numbers for value in values_of(number)]
        certain = [number for number, outcome in enumerate(outcomes) if outcome]
        possible = [number for number, outcome in enumerate(outcomes) if outcome is not False]
        assert numbers == sorted(set(numbers))
        assert {*certain} <= {*numbers} <= {*possible}
