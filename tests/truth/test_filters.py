from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.filters import COMPARISONS, OF_NULLS, Filter, holds

numbers = st.integers(0, 3)
SAME = (
    *(("EqualTo", "="), ("EqualNullSafe", "<=>"), ("LessThan", "<"), ("LessThanOrEqual", "<=")),
    *(("GreaterThan", ">"), ("GreaterThanOrEqual", ">="), ("In", "IN")),
)


@given(numbers, numbers)
def test_each_value_is_less_or_equal_or_greater(value: int, limit: int) -> None:
    kept = {
        name: holds(Filter("a", name, limit), value)
        for name in COMPARISONS
        if "n" not in name.lower()
    }
    assert [kept["<"], kept["="], kept[">"]].count(True) == 1
    assert kept["<="] == (kept["<"] or kept["="])
    assert kept[">="] == (kept[">"] or kept["="])
    assert kept["<>"] != kept["="] == kept["<=>"]


@pytest.mark.parametrize(("of_spark", "of_sql"), SAME)
@given(st.none() | numbers, st.lists(numbers, min_size=1))
def test_classes_of_spark_and_operators_of_sql_mean_the_same(
    of_spark: str, of_sql: str, value: int | None, among: list[int]
) -> None:
    limit = among if of_sql == "IN" else among[0]
    assert holds(Filter("a", of_spark, limit), value) == holds(Filter("a", of_sql, limit), value)
    assert not holds(Filter("a", of_sql, limit), None)


def test_only_filters_about_nulls_keep_nulls() -> None:
    kept = {name: holds(Filter("a", name, 1), None) for name in (*COMPARISONS, *OF_NULLS)}
    assert [name for name, each in kept.items() if each] == ["IS NULL"]
    assert holds(Filter("a", "IS NOT NULL"), 0)
    assert holds(Filter("a", "IN", (1, 2)), 2) and not holds(Filter("a", "IN", (1, 2)), 3)
