from __future__ import annotations

import pytest

from tests.endurance.torture.rows import PartitionTruth, Row, TopicTruth
from tests.endurance.torture.topics import TopicPlan
from tests.endurance.torture.truth import TruthError, check


def row(offset: int, key: bytes = b"k", value: bytes = b"v") -> Row:
    return Row("t", 0, offset, 1, 0, key, value)


WRITTEN = (row(0), row(1), row(2), row(3))
# Offset 2 is of an aborted transaction, 0 is deleted.
RIGHT = PartitionTruth(1, 5, 5, (WRITTEN[1], WRITTEN[3]), WRITTEN[1:], WRITTEN, frozenset({2}))


def check_it(known: PartitionTruth, cleanup: str = "delete") -> None:
    check(TopicTruth("t", TopicPlan("t", 1, cleanup), {0: known}))


@pytest.mark.parametrize("cleanup", ["delete", "compact"])
def test_what_was_acknowledged_is_right(cleanup: str) -> None:
    check_it(RIGHT, cleanup)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (RIGHT._replace(stable=2), "t-0: a transaction is open at 2 of 5"),
        (RIGHT._replace(uncommitted=WRITTEN[2:]), "lost: expected t-0 offset 1"),
        (RIGHT._replace(committed=WRITTEN[3:]), "lost: expected t-0 offset 1"),
        (RIGHT._replace(committed=WRITTEN[1:]), "unknown: found t-0 offset 2"),
        (RIGHT._replace(uncommitted=WRITTEN), "unknown: found t-0 offset 0"),
        (RIGHT._replace(start=2), "unknown: found t-0 offset 1"),
    ],
)
def test_brokers_that_have_other_rows(wrong: PartitionTruth, message: str) -> None:
    with pytest.raises(TruthError, match=message):
        check_it(wrong)


def test_a_compacted_topic_has_the_newest_row() -> None:
    check_it(RIGHT._replace(committed=WRITTEN[3:], uncommitted=WRITTEN[3:]), "compact")
    with pytest.raises(TruthError, match="missing at the end: expected t-0 offset 3"):
        check_it(RIGHT._replace(committed=WRITTEN[1:2]), "compact")
    with pytest.raises(TruthError, match=r"altered \(value\): "):
        check_it(RIGHT._replace(uncommitted=(row(3, value=b"w"),)), "compact")
