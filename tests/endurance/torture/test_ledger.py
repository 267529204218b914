from __future__ import annotations

import pytest

from tests.endurance.torture.ledger import Ledger
from tests.endurance.torture.rows import PartitionTruth, Row, TopicTruth
from tests.endurance.torture.topics import TopicPlan


def row(partition: int, offset: int) -> Row:
    return Row("t", partition, offset, 1, 0, None, b"v")


def test_rows_come_by_offset_with_what_was_aborted() -> None:
    ledger = Ledger()
    ledger.add([row(0, 3), row(0, 1), row(1, 0)], committed=True)
    ledger.add([row(0, 2)], committed=False)
    assert ledger.written(0) == (row(0, 1), row(0, 2), row(0, 3))
    assert ledger.aborted(0) == {2}
    assert ledger.written(1) == (row(1, 0),)
    assert ledger.written(7) == ()
    assert ledger.aborted(1) == frozenset()


def test_two_rows_cannot_have_one_offset() -> None:
    ledger = Ledger()
    ledger.add([row(0, 1)], committed=True)
    with pytest.raises(ValueError, match="partition 0: two rows have offset 1"):
        ledger.add([row(0, 1)], committed=True)


def test_a_deleted_topic_is_forgotten() -> None:
    ledger = Ledger()
    ledger.add([row(0, 1)], committed=False)
    ledger.forget()
    assert ledger.written(0) == ()
    assert ledger.aborted(0) == frozenset()


def test_it_goes_on_after_a_truth() -> None:
    written = (row(0, 1), row(0, 2))
    known = PartitionTruth(2, 3, 3, (), written[1:], written, frozenset({2}))
    ledger = Ledger(TopicTruth("t", TopicPlan("t", 1), {0: known}))
    ledger.add([row(0, 4)], committed=True)
    assert ledger.written(0) == (*written, row(0, 4))
    assert ledger.aborted(0) == {2}
    # The truth that it came from stays as it is.
    assert known.written == written
