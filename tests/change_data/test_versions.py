"""`apply_changes` with history: all versions of a row, each once, whichever way they come."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_spark_source.changes.arguments import ChangeError
from tests.change_data.tables import MakeTarget, change

pytestmark = [pytest.mark.integration, pytest.mark.spark]

CHANGES = [
    change("c", 1, "ann", 0),
    change("c", 2, "bob", 1),
    change("u", 1, "Ann", 2),
    change("d", 2, "bob", 3),
    change("c", 2, "Bob", 4),
    change("d", 1, "Ann", 5),
]
# Key, name, first second, last second, whether it is the newest.
VERSIONS = [
    (1, "Ann", 2, 5, False),
    (1, "ann", 0, 2, False),
    (2, "Bob", 4, None, True),
    (2, "bob", 1, 3, False),
]
COLUMNS = ("id", "name", "unix_seconds(valid_from)", "unix_seconds(valid_to)", "current")


@pytest.mark.parametrize("size", [1, 2, 6])
def test_each_change_is_a_version(new_target: MakeTarget, size: int) -> None:
    target = new_target()
    batches = [CHANGES[begin : begin + size] for begin in range(0, len(CHANGES), size)]
    for batch in batches:
        target.apply(batch, history=True)
    assert target.rows(*COLUMNS) == VERSIONS
    for batch in (batches[0], batches[-1], CHANGES):
        target.apply(batch, history=True)
        assert target.rows(*COLUMNS) == VERSIONS


def test_a_change_that_comes_late_finds_its_place(new_target: MakeTarget) -> None:
    target = new_target()
    for each in reversed(CHANGES):
        target.apply([each], history=True, sequence_by="ts_ms")
    assert target.rows(*COLUMNS) == VERSIONS


@pytest.mark.slow
@pytest.mark.core
def test_a_value_that_was_not_sent_is_that_of_the_version_before(new_target: MakeTarget) -> None:
    target = new_target()
    target.apply([change("c", 1, "ann", 0, size=7)], history=True)
    later = [change("u", 1, "Ann", 1, _unavailable=["size"]), change("u", 1, "Anna", 2, size=8)]
    target.apply(later, history=True)
    target.apply(later, history=True)
    assert target.rows("name", "size") == [("Ann", 7), ("Anna", 8), ("ann", 7)]
    with pytest.raises(ChangeError, match="column size of the change of t-0 at offset 9"):
        target.apply([change("u", 5, "x", 9, _unavailable=["size"])], history=True)


def test_the_time_can_be_an_expression(new_target: MakeTarget) -> None:
    target = new_target()
    target.apply(CHANGES[:1], history="date_from_unix_date(7)")
    assert [str(day) for (day,) in target.rows("valid_from")] == ["1970-01-08"]


def test_the_versions_of_a_topic_that_was_created_again_follow(new_target: MakeTarget) -> None:
    target = new_target()
    target.apply(CHANGES[:2], history=True)
    again = [change("u", 1, "Ann", 0, topicId="B", ts_ms=2_000)]
    with pytest.raises(ChangeError, match=r"created again.* The ids are A, B"):
        target.apply(again, history=True)
    for batch in (again, again, CHANGES[:1]):
        target.apply(batch, history=True, topic_ids=["A", "B"])
        assert target.rows(*COLUMNS)[:2] == [(1, "Ann", 2, None, True), (1, "ann", 0, 2, False)]


def test_offsets_of_two_partitions_are_in_no_order(new_target: MakeTarget) -> None:
    target = new_target()
    target.apply(CHANGES[:1], history=True)
    with pytest.raises(ChangeError, match="the key has changes in another partition"):
        target.apply([change("u", 1, "Ann", 0, partition=1)], history=True)


def test_a_table_with_versions_is_not_overwritten_and_no_other_gets_them(
    new_target: MakeTarget,
) -> None:
    target, other = new_target(), new_target()
    target.apply(CHANGES[:1], history=True)
    other.apply(CHANGES[:1])
    with pytest.raises(ChangeError, match="has versions of rows"):
        target.apply(CHANGES[2:3])
    with pytest.raises(ChangeError, match="was filled without `history`"):
        other.apply(CHANGES[2:3], history=True)


def test_an_equal_sequence_later_in_kafka_is_the_next_version(new_target: MakeTarget) -> None:
    target = new_target()
    arguments: Any = {"history": True, "sequence_by": "size"}
    first = change("c", 1, "ann", 0, size=5)
    for batch in ([first], [change("u", 1, "Ann", 3, size=5)], [first]):
        target.apply(batch, **arguments)
    assert target.rows("name", "current") == [("Ann", True), ("ann", False)]
    again = change("u", 1, "Ann", 9, size=5)
    target.apply([again], **arguments)
    assert target.rows("name", "current") == [("Ann", True), ("ann", False)]
