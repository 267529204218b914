"""Requests that arrive after their clients went on change no later transaction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.producer import transactions
from kafka_protocol.client.producer.open_transactions import transaction_state
from kafka_protocol.client.producer.partition_queue import PartitionQueue
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import Transaction
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.writing import exactly_once
from tests.simulation.campaign import problems_of
from tests.simulation.drawing import draw
from tests.simulation.run import run
from tests.simulation.scenario import EXECUTORS, INPUT, Fault, Part, Scenario, Send
from tests.simulation.spark import DRIVER_HOST
from tests.simulation.test_batch_jobs import SMALL

# Batches for one broker are late by 4 s. Their tasks fail, and abort, after 2 s.
LATE = {"hosts": [*EXECUTORS], "nodes": [3], "late_ms": 4_000.0, "is_partition": True, "skips": 0}
GIVES_UP = replace(
    SMALL,
    sink="exactly once",
    write={"kafka.request.timeout.ms": "1000", "kafka.delivery.timeout.ms": "2000"},
    sends=tuple(
        Send(400.0 * number, "producer-0", "plain", (Part(INPUT, number % 2, 4 * number, 4),))
        for number in range(24)
    ),
    faults=(Fault(1_500.0, "late request", 3_000.0, LATE | {"api": "PRODUCE"}),),
)

ALL = [1, 2, 3]
DIES = Fault(5_200.0, "crash driver within", 0.0, {"call": "commit", "calls": 10})
# The end of a task's transaction arrives while the next one of its id is open: tasks are slow.
# Then the driver dies before it decides about that one.
ENDS = replace(
    GIVES_UP,
    write={},
    slots=2,
    faults=(
        Fault(1.0, "slow network", 15_000.0, {"hosts": [*EXECUTORS], "nodes": ALL}),
        Fault(
            2_000.0,
            "late request",
            3_000.0,
            {
                "api": "END_TXN",
                "hosts": [DRIVER_HOST],
                "nodes": ALL,
                "late_ms": 1_550.0,
                "is_partition": False,
                "skips": 1,  # the decision
            },
        ),
        DIES,
    ),
)


def test_late_requests_are_drawn() -> None:
    late = [
        f.arguments
        for each in map(draw, range(200))
        for f in each.faults
        if f.kind == "late request"
    ]
    assert {"END_TXN", "ADD_PARTITIONS_TO_TXN", "INIT_PRODUCER_ID", "PRODUCE"} == {
        each["api"] for each in late
    }
    assert {each["is_partition"] for each in late} == {False, True}


def on(release: str) -> Scenario:
    return replace(GIVES_UP, release=release)


@pytest.mark.parametrize("release", ["0.11.0", "2.4", "3.5", "4.3"])
@pytest.mark.parametrize("scenario", [GIVES_UP, ENDS], ids=["batch", "end"])
def test_a_late_request_changes_no_later_transaction(scenario: Scenario, release: str) -> None:
    scenario = replace(scenario, release=release)
    _, trace = run(scenario)
    assert any("late by" in each.detail for each in trace)
    assert problems_of(scenario) == []


def test_one_epoch_for_two_transactions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Java's producer does it with transactions of version 1."""
    made: dict[str, tuple[Transaction, dict[TopicPartition, PartitionQueue]]] = {}

    def begin(cluster: Cluster, name: str, deadline: Deadline) -> Transaction:
        transaction, _ = made.get(name, (None, {}))
        state = transaction and transaction_state(cluster, name, deadline)
        if transaction and state and state[:2] == (transaction.producer, "CompleteCommit"):
            return transaction
        made[name] = transactions.begin(cluster, name, deadline), {}
        return made[name][0]

    def producer(cluster: Cluster, transaction: Transaction) -> Producer:
        made_producer = Producer(cluster, transaction)
        made_producer._queues.update(made[transaction.transactional_id][1])
        made[transaction.transactional_id] = transaction, made_producer._queues
        return made_producer

    monkeypatch.setattr(exactly_once, "begin", begin)
    monkeypatch.setattr(exactly_once, "Producer", producer)
    assert any(" twice, as " in each for each in problems_of(ENDS))
    without = tuple(each for each in ENDS.faults if each.kind != "late request")
    assert problems_of(replace(ENDS, faults=without)) == []


@pytest.mark.parametrize(
    ("release", "is_found"), [("0.11.0", True), ("2.4", True), ("3.5", True), ("4.3", False)]
)
def test_an_abort_before_the_batch_arrives_is_found(
    release: str, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Producer, "settle", lambda self, deadline: True)
    assert any(" twice, as " in each for each in problems_of(on(release))) == is_found
