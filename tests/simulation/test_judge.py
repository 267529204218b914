"""The judge: one good outcome, and each way in which a run can be wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.contents import key_of
from tests.simulation.disk import Row
from tests.simulation.expected import headers_as_read
from tests.simulation.judge import CRASHES, broken_promise, judged, violations
from tests.simulation.outcome import JobResult, LogRecord, Outcome, Sent, Violation, Waited
from tests.simulation.scenario import INPUT, OUTPUT, Fault, Job, Part, Scenario, Send, Sink, Topic
from tests.simulation.spark import Plan
from tests.truth.delivery import KINDS
from tests.truth.wrongs import WRONGS

COUNT = 6
SINKS: tuple[Sink, ...] = ("files", "at least once", "exactly once")
IN, OUT = (INPUT, 0), (OUTPUT, 0)


def record(offset: int, outcome: str = "committed") -> LogRecord:
    return LogRecord(offset, 1_000 + offset, b"k", b"v%d" % offset, outcome)


def row(offset: int) -> Row:
    return Row(INPUT, 0, offset, 1_000 + offset, b"k", b"v%d" % offset)


def good(sink: Sink = "files", **changes: object) -> Outcome:
    """Six records, the third of an aborted transaction, in two micro-batches."""
    source = {"kafka.isolation.level": "read_committed"}
    sends = (Send(0, "producer-0", "plain", (Part(INPUT, 0, 0, COUNT),)),)
    scenario = Scenario(1, sink=sink, topics=(Topic(INPUT, 1, 1),), sends=sends, source=source)
    log = [record(each, "aborted" if each == 2 else "committed") for each in range(COUNT)]
    visible = [each for each in range(COUNT) if each != 2]
    outcome = Outcome(
        scenario,
        is_level=True,
        logs={IN: log},
        sent=[Sent(INPUT, 0, each.key, each.value, each.outcome) for each in log],
        plans=(
            Plan(1, 0, "{}", "3", ((INPUT, 0, 0, 3),)),
            Plan(2, 0, "{}", "3", ((INPUT, 0, 0, 1), (INPUT, 0, 1, 3))),
            Plan(2, 1, "3", "6", ((INPUT, 0, 3, 6),)),
        ),
        processed={IN: COUNT},
    )
    if sink == "files":
        outcome.batches = {
            0: [row(each) for each in visible if each < 3],
            1: [row(each) for each in visible if each >= 3],
        }
    else:
        outcome.logs[OUT] = [record(each) for each in visible]
    for name, value in changes.items():
        setattr(outcome, name, value)
    return outcome


@pytest.mark.parametrize("sink", SINKS)
def test_a_good_run(sink: Sink) -> None:
    assert violations(good(sink)) == []


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("kind", KINDS)
@given(chance=st.randoms(use_true_random=False))
def test_each_wrong_copy_is_seen(sink: Sink, kind: str, chance: random.Random) -> None:
    outcome = good(sink)
    fields: dict[str, Any] = {"altered": {"value": b"x"}, "unknown": {"offset": 77, "value": b"x"}}

    def change(each: Any) -> Any:
        return each._replace(**fields[kind])

    if sink == "files":
        outcome.batches[1] = WRONGS[kind](chance, outcome.batches[1], change)
    else:
        of_first, of_second = outcome.logs[OUT][:2], outcome.logs[OUT][2:]
        outcome.logs[OUT] = [*of_first, *WRONGS[kind](chance, of_second, change)]
    is_wrong = (sink, kind) != ("at least once", "twice")
    assert bool(violations(outcome)) == is_wrong


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (row(2), "unknown"),
        (row(5)._replace(partition=9), "does not exist"),
        (row(5)._replace(timestamp_ms=1), "altered"),
    ],
    ids=["aborted", "partition", "timestamp"],
)
def test_a_wrong_row_of_the_file_sink(wrong: Row, reason: str) -> None:
    outcome = good()
    outcome.batches[1] = [row(3), row(4), wrong]
    assert any(reason in each for each in violations(outcome))


def test_aborted_records_belong_to_the_other_view() -> None:
    outcome = good()
    outcome.scenario = replace(outcome.scenario, source={})
    assert any("1 lost" in each for each in violations(outcome))


def test_only_what_is_processed_is_expected() -> None:
    outcome = good(processed={IN: 3})
    outcome.batches.pop(1)
    assert violations(outcome) == []


def test_what_was_rolled_back_in_the_output_does_not_count() -> None:
    outcome = good("exactly once")
    outcome.logs[OUT] = [record(0, "aborted"), *outcome.logs[OUT], record(5, "open")]
    assert violations(outcome) == []


def test_rows_of_different_tasks_come_in_any_order_and_those_of_batches_do_not() -> None:
    outcome = good("exactly once")
    outcome.plans = (
        Plan(1, 0, "{}", "3", ((INPUT, 0, 0, 1), (INPUT, 0, 1, 3))),
        Plan(1, 1, "3", "6", ((INPUT, 0, 3, 6),)),
    )
    outcome.logs[OUT] = [record(each) for each in (1, 0, 3, 4, 5)]
    assert violations(outcome) == []
    outcome.logs[OUT] = [record(each) for each in (0, 1, 4, 3, 5)]
    assert any("reordered" in each for each in violations(outcome))


def test_a_later_micro_batch_before_an_earlier_one() -> None:
    outcome = good("exactly once")
    outcome.logs[OUT] = [record(each) for each in (3, 4, 5, 0, 1)]
    assert any("out of order" in each for each in violations(outcome))


def test_an_acknowledged_record_that_the_log_lacks_or_rolled_back() -> None:
    outcome = good()
    outcome.sent[0] = outcome.sent[0]._replace(value=b"gone")
    outcome.sent[1] = outcome.sent[1]._replace(outcome="aborted")
    acknowledged = "records of in that were acknowledged"
    assert [each for each in violations(outcome) if acknowledged in each] == [
        f"{acknowledged}: 1 altered, as (b'k', b'v1', 'committed') for (b'k', b'v1', 'aborted')",
        f"{acknowledged}: 1 lost, as (b'k', b'gone', 'committed')",
    ]


def test_records_of_a_send_are_in_its_order() -> None:
    outcome = good()
    sent = outcome.sent[3]
    outcome.sent = [*outcome.sent[:3], outcome.sent[4], sent, outcome.sent[5]]
    assert violations(outcome) == ["a send to in-0: 1 reordered, as (b'k', b'v4')"]
    outcome.sent[4] = sent._replace(send=7)
    assert violations(outcome) == []


def test_an_attempt_that_read_something_else() -> None:
    assert violations(good(attempts={"0/0-0": [row(0), row(1)]})) == []
    for other in (row(1)._replace(value=b"x"), row(9)):
        (violation,) = violations(good(attempts={"0/0-0": [row(0), other]}))
        assert violation.startswith("file 0/0-0: Row(")


def test_a_deleted_record_may_have_a_copy_that_is_read() -> None:
    """A producer without an id writes again what it has no response to."""
    outcome = good(starts={IN: 4}, warnings=["Could not read records in offset [3, 4) of in-0"])
    faults = (Fault(1, "delete records", 0, {}),)
    producer = {"kafka.enable.idempotence": "false"}
    source = outcome.scenario.source | {"failOnDataLoss": "false"}
    outcome.scenario = replace(outcome.scenario, faults=faults, producer=producer, source=source)
    copy = record(4)._replace(value=b"v3")
    outcome.logs[IN] = [*outcome.logs[IN][:4], copy, record(5)]
    outcome.sent[4] = outcome.sent[4]._replace(value=b"v3")
    outcome.batches[1] = [row(4)._replace(value=b"v3"), row(5)]
    assert violations(outcome) == []


def test_compacted_records_may_be_missing() -> None:
    outcome = good(compacted={IN: frozenset({3, 4})})
    outcome.batches[1] = [row(4), row(5)]
    assert violations(outcome) == []
    outcome.batches[1] = [row(4)]
    assert any("1 missing at the end" in each for each in violations(outcome))


def test_a_query_may_fail_with_a_loss_only_if_it_should() -> None:
    outcome = good(is_stuck=True, is_level=False, errors=["DataLossError: ..."])
    assert violations(outcome) == []
    outcome.scenario = replace(
        outcome.scenario, source=outcome.scenario.source | {"failOnDataLoss": "false"}
    )
    assert violations(outcome) == [
        "failOnDataLoss is false, and the query failed: DataLossError: ..."
    ]


def test_records_before_the_start_of_the_query_are_not_expected() -> None:
    outcome = good(first={IN: 3})
    outcome.batches[0] = []
    assert violations(outcome) == []


def test_errors_waits_frames_and_ends() -> None:
    outcome = good(
        unexpected=["TypeError ended the query"],
        waits=[Waited("commit", 10, 20), Waited("latestOffset", 30, 20)],
        bad_frames=["response 7 differs"],
        is_level=False,
    )
    assert violations(outcome) == [
        "TypeError ended the query",
        "response 7 differs",
        "latestOffset took 30 ms, and may take 20 ms",
        "not level 0 ms after the last fault; drivers ended with: nothing",
    ]


HEADERS = ((b"a", b"1"), (b"a", None))


def test_headers_of_rows_are_those_of_the_log() -> None:
    outcome = good()
    outcome.logs[IN] = [each._replace(headers=HEADERS) for each in outcome.logs[IN]]
    outcome.attempts = {"0/0-0": [row(0), row(1)._replace(headers=HEADERS)]}
    assert violations(outcome) == []
    for wrong in ((), HEADERS[:1]):
        outcome.attempts = {"0/0-0": [row(1)._replace(headers=wrong)]}
        assert any("file 0/0-0" in each for each in violations(outcome))


def test_headers_of_a_copy_are_those_of_the_record_if_they_were_read() -> None:
    outcome = good("at least once")
    outcome.logs[IN] = [each._replace(headers=HEADERS) for each in outcome.logs[IN]]
    assert violations(outcome) == []
    source = outcome.scenario.source | {"includeHeaders": "true"}
    outcome.scenario = replace(outcome.scenario, source=source)
    assert any("has other headers" in each for each in violations(outcome))


def test_after_a_rewrite_only_what_was_sent_may_be_read() -> None:
    outcome = good()
    outcome.scenario = replace(outcome.scenario, faults=(Fault(1, "recreate topic", 0, {}),))
    value = outcome.scenario.values.of(INPUT, 0, 1)
    known = Row(INPUT, 0, 9, 1, key_of(1), value)
    outcome.attempts = {"0/0-0": [known]}
    outcome.sent = []
    assert violations(outcome) == []
    for wrong in (
        known._replace(key=b"x"),
        known._replace(value=b"x"),
        known._replace(partition=1),
    ):
        outcome.attempts = {"0/0-0": [wrong]}
        assert any("nobody has sent" in each for each in violations(outcome))


def test_a_violation_has_the_name_of_its_judge() -> None:
    outcome = good(is_level=False, errors=["DataLossError: ..."])
    assert [each.judge for each in judged(outcome)] == ["level"]


def test_a_crash_and_what_follows_from_it_are_no_broken_promise() -> None:
    crash, late, lost = (Violation(each, "") for each in (CRASHES, "level", "rows"))
    assert broken_promise([]) is None
    assert broken_promise([crash]) is None
    assert broken_promise([crash, late]) is None
    assert broken_promise([late]) == late
    assert broken_promise([crash, lost, late]) == lost


def test_a_bug_that_ends_a_batch_query_is_a_crash() -> None:
    result = JobResult(Job(0, "read", {}, ()), {}, {}, [], "TypeError: ...", True)
    found = judged(good(jobs=[result]))
    assert found == [Violation(CRASHES, "batch 1 ended with TypeError: ...")]
    assert judged(good(jobs=[result._replace(is_unexpected=False)])) == []


def table() -> Outcome:
    """The good run, in which all records have one key, so that each micro-batch has one row."""
    outcome = good()
    outcome.scenario.source["envelope"] = "upsert"
    outcome.batches = {number: rows[-1:] for number, rows in outcome.batches.items()}
    return outcome


def test_a_good_table() -> None:
    assert violations(table()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda now, all_rows: now.clear(),
        lambda now, all_rows: now.insert(0, all_rows[0]),
        lambda now, all_rows: now.__setitem__(0, all_rows[0]),
    ],
    ids=["none", "another one", "an older one"],
)
def test_a_wrong_table(change: Callable[[list[Any], list[Any]], object]) -> None:
    outcome, rows = table(), [*good().batches[1]]
    now = [*outcome.batches[1]]
    change(now, rows)
    outcome.batches[1] = now
    assert violations(outcome) != []


def test_headers_by_name_are_asked_for() -> None:
    assert headers_as_read({"value": "string"}, HEADERS) == HEADERS
    assert headers_as_read({"headers": "map"}, HEADERS) == HEADERS[1:]
