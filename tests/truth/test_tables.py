"""Good tables, and each way in which one can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.tables import lacking, newest, wrong_rows


class Record(NamedTuple):
    offset: int
    key: bytes | None


KEYS = [b"a", b"b", b"a", None, b"c", None]
LOG = [*map(Record, range(len(KEYS)), KEYS)]
logs = st.lists(st.sampled_from([b"a", b"b", b"", None]), max_size=12).map(
    lambda keys: [Record(3 * at, key) for at, key in enumerate(keys)]
)


def rows(*offsets: int) -> list[Record]:
    return [LOG[at] for at in offsets]


def lacks(
    *offsets: int, must: int = 6, passes: Callable[[Record], bool] = lambda _: True
) -> list[int]:
    return [each.offset for each in lacking(LOG[:must], LOG, passes, rows(*offsets))]


@given(logs)
def test_the_newest_of_each_key_are_a_good_table(log: list[Record]) -> None:
    table = newest(log)
    assert {each.key for each in table} == {each.key for each in log}
    assert all(each == max(r for r in log if r.key == each.key) for each in table)
    assert lacking(log, log, lambda _: True, table) == []
    assert [*wrong_rows(log, table)] == []


@given(logs.filter(bool), st.data())
def test_a_row_less_or_an_older_one_is_seen(log: list[Record], data: st.DataObject) -> None:
    table = newest(log)
    gone = data.draw(st.sampled_from(table))
    rest = [each for each in table if each != gone]
    assert lacking(log, log, lambda _: True, rest) == [gone]
    for older in log:
        if older not in table:
            wrong = [older if each.key == older.key else each for each in table]
            assert [*wrong_rows(log, wrong)] != []
    again = f"the key of the row at {gone.offset} has another row"
    assert [*wrong_rows(log, [*table, gone])] == [again]


def test_other_groups_than_keys() -> None:
    log = [*map(Record, range(5), (b"a", b"b", b"a", b"a", b"b"))]
    of_batches = newest(log, lambda each: (each.offset // 3, each.key))
    assert [each.offset for each in of_batches] == [1, 2, 3, 4]


def test_a_filter_may_take_the_newest_row_away() -> None:
    assert lacks(1, 2, 5) == [4]
    assert lacks(1, 2, 5, passes=lambda each: each.key != b"c") == []


def test_a_record_that_may_be_newer_excuses_a_missing_row() -> None:
    assert lacks(1, 2, must=4) == []


@pytest.mark.parametrize(
    ("offsets", "reason"),
    [
        ((0, 1, 4, 5), "the row at 0 is older than the record at 2"),
        ((0, 1, 2, 4, 5), "the key of the row at 2 has another row"),
        ((1, 2, 3, 4), "the row at 3 is older than the record at 5"),
    ],
)
def test_a_row_that_is_not_the_newest(offsets: tuple[int, ...], reason: str) -> None:
    assert reason in [*wrong_rows(LOG, rows(*offsets))]
