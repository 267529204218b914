from __future__ import annotations

import pytest

from tests.endurance.torture.filters import Filter
from tests.endurance.torture.made_up import FIRST_MS, row
from tests.endurance.torture.rows import Row

ROW = row("t", 1, 7)
NULLS = ROW._replace(key=None, value=None)


@pytest.mark.parametrize(
    ("each", "sql", "holds"),
    [
        (Filter("offset", ">=", 7), "offset >= 7", True),
        (Filter("offset", "<", 7), "offset < 7", False),
        (Filter("partition", "IN", (0, 1)), "partition IN (0, 1)", True),
        (Filter("topic", "IN", ("u", "none")), "topic IN ('u', 'none')", False),
        (Filter("topic", "<>", "t"), "topic <> 't'", False),
        (Filter("key", "=", b"key 7"), "key = X'6b65792037'", True),
        (Filter("key", "<=>", b""), "key <=> X''", False),
        (Filter("value", "IS NULL"), "value IS NULL", False),
        (Filter("value", "IS NOT NULL"), "value IS NOT NULL", True),
        (Filter("length", ">", 6), "length(value) > 6", True),
        (Filter("timestamp", "<=", FIRST_MS), f"timestamp <= timestamp_millis({FIRST_MS})", False),
    ],
    ids=str,
)
def test_a_filter_as_sql_and_of_a_row(each: Filter, sql: str, holds: bool) -> None:
    assert each.sql == sql
    assert each.holds(ROW) == holds


@pytest.mark.parametrize("operator", ["=", "<>", "<=>", "<"])
def test_a_comparison_with_null_does_not_hold(operator: str) -> None:
    assert not Filter("key", operator, b"a").holds(NULLS)
    assert not Filter("length", operator, 0).holds(NULLS)
    assert Filter("key", "IS NULL").holds(NULLS)


def test_bytes_are_compared_as_spark_does() -> None:
    low, high = (ROW._replace(value=each) for each in (b"\x7f", b"\x80"))
    kept: list[Row] = [each for each in (low, high) if Filter("value", ">", b"\x7f").holds(each)]
    assert kept == [high]
