"""The judge of dead letters: good runs, and each way in which one can be wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation.disk import Headers
from tests.simulation.judge import violations
from tests.simulation.outcome import LogRecord, Outcome
from tests.simulation.scenario import LETTERS
from tests.simulation.test_judge import IN, good

OWN: Headers = ((b"number", b"1"),)
BROKEN = LogRecord(1, 1_001, b"k", b"\xff1", "committed", OWN)
AT_LETTERS = (LETTERS, 0)


def place(offset: int) -> Headers:
    values = {"topic": b"in", "partition": b"0", "offset": b"%d" % offset}
    return tuple((f"__connect.errors.{name}".encode(), value) for name, value in values.items())


def letter(offset: int = 0, of: int = 1, came_ms: int = 1_001, **changes: Any) -> LogRecord:
    time = (b"__pykafka.errors.timestamp", b"%d" % came_ms)
    made = BROKEN._replace(offset=offset, timestamp_ms=9_000, headers=(*OWN, *place(of), time))
    return made._replace(**changes)


def with_letters(*letters: LogRecord, ends: int = 1) -> Outcome:
    """The good run, with a record that cannot be decoded, and where the letters ended with it."""
    outcome = good()
    log = [BROKEN if each.offset == 1 else each for each in outcome.logs[IN]]
    outcome.logs = {IN: log, AT_LETTERS: [*letters]}
    outcome.batches[0] = [each for each in outcome.batches[0] if each.offset != 1]
    outcome.sent = []
    outcome.letters = {0: {AT_LETTERS: ends}}
    outcome.scenario.source["deadLetterTopic"] = LETTERS
    return outcome


def test_good_dead_letters() -> None:
    assert violations(with_letters(letter())) == []
    assert violations(with_letters(letter(), letter(1), ends=2)) == []  # of a task that failed


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (with_letters(), "in-0 at 1 cannot be decoded, and is no dead letter"),
        (with_letters(letter(), ends=0), "in-0 at 1 was no dead letter when its micro-batch was"),
        (with_letters(letter(), letter(1, of=3)), "letters-0 at 1 is of no such record"),
        (with_letters(letter(), letter(1, of=77)), "letters-0 at 1 is of no such record"),
        (with_letters(letter(value=b"x")), "letters-0 at 0 is not as it came"),
        (with_letters(letter(headers=place(1))), "letters-0 at 0 is not as it came"),
        (with_letters(letter(came_ms=7)), "letters-0 at 0 has another time"),
    ],
)
def test_wrong_dead_letters(outcome: Outcome, reason: str) -> None:
    assert any(reason in each for each in violations(outcome))


def test_a_deleted_record_need_not_be_a_dead_letter() -> None:
    outcome = with_letters()
    outcome.starts = {IN: 2}
    assert not [each for each in violations(outcome) if "dead letter" in each]
