"""The judge of batches with the newest records, and each way in which one can be wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.disk import Row
from tests.simulation.judge_newest import newest_lacking, wrong_newest
from tests.simulation.outcome import LogRecord

KEYS = [b"a", b"b", b"a", None, b"c", None]
LOG = [LogRecord(at, 0, key, b"%d" % at, "committed") for at, key in enumerate(KEYS)]


def rows(*offsets: int) -> list[Row]:
    return [Row("in", 0, at, 0, KEYS[at], b"") for at in offsets]


def lacking(
    *offsets: int, must: int = 6, passes: Callable[[LogRecord], bool] = lambda _: True
) -> list[int]:
    return [each.offset for each in newest_lacking(LOG[:must], LOG, passes, rows(*offsets))]


def test_a_good_table() -> None:
    assert lacking(1, 2, 4, 5) == []
    assert [*wrong_newest(LOG, rows(1, 2, 4, 5))] == []


def test_a_key_that_is_missing() -> None:
    assert lacking(1, 2, 5) == [4]
    assert lacking(1, 2, 5, passes=lambda each: each.key != b"c") == []


def test_a_record_that_may_be_newer_excuses_a_filter() -> None:
    assert lacking(1, 2, must=4) == []


@pytest.mark.parametrize(
    ("offsets", "reason"),
    [
        ((0, 1, 4, 5), "the row at 0 is older than the record at 2"),
        ((0, 1, 2, 4, 5), "the key of the row at 2 has another row"),
        ((1, 2, 3, 4), "the row at 3 is older than the record at 5"),
    ],
)
def test_a_row_that_is_not_the_newest(offsets: tuple[int, ...], reason: str) -> None:
    assert reason in [*wrong_newest(LOG, rows(*offsets))]
