"""Requests that arrive after their clients went on end and commit nothing of a later transaction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_protocol.client.producer.producer import Producer
from tests.simulation.campaign import problems_of
from tests.simulation.drawing import draw
from tests.simulation.run import run
from tests.simulation.scenario import EXECUTORS, INPUT, Fault, Part, Scenario, Send
from tests.simulation.test_batch_jobs import SMALL

# Batches for one broker are late by 4 s. Their tasks fail, and abort, after 2 s.
LATE = {"hosts": [*EXECUTORS], "nodes": [3], "late_ms": 4_000.0, "is_partition": True}
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
def test_a_batch_of_a_failed_task_is_in_no_later_transaction(release: str) -> None:
    _, trace = run(on(release))
    assert any("late by" in each.detail for each in trace)
    assert problems_of(on(release)) == []


@pytest.mark.parametrize(
    ("release", "is_found"), [("0.11.0", True), ("2.4", True), ("3.5", True), ("4.3", False)]
)
def test_an_abort_before_the_batch_arrives_is_found(
    release: str, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Producer, "settle", lambda self, deadline: True)
    assert any(" twice, as " in each for each in problems_of(on(release))) == is_found
