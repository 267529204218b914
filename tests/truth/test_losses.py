from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.losses import false_alarms, unreported

REPORT = "Could not read records in offset [3, 4) for topic partition in-0"
reports = st.lists(st.sampled_from([REPORT, "in-1 lost records", "started"]))


@given(st.integers(0, 3), reports, st.booleans())
def test_a_loss_is_told_as_the_option_wants_it(lost: int, told: list[str], may_go_on: bool) -> None:
    is_right = not lost or (may_go_on and REPORT in told)
    assert bool([*unreported("in-0", lost, told, may_go_on=may_go_on)]) != is_right


@pytest.mark.parametrize(
    ("may_go_on", "reason"), [(False, "failOnDataLoss did not stop"), (True, "nothing was logged")]
)
def test_the_sentence_tells_what_is_owed(may_go_on: bool, reason: str) -> None:
    (sentence,) = unreported("in-0", 2, [], may_go_on=may_go_on)
    assert sentence == f"in-0: 2 records were deleted unread, and {reason}"


def test_an_alarm_is_false_where_nothing_can_be_lost() -> None:
    alarm = "LogTruncatedError: in-0 was truncated"
    assert [*false_alarms([alarm], may_lose=True)] == []
    assert [*false_alarms([alarm], may_lose=False)] == [
        f"nothing is lost, and the query ended: {alarm}"
    ]
