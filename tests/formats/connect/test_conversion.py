"""Parts of values are converted where they are, and faults are found by row."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_formats.connect.conversion import (
    Conversion,
    Fields,
    Items,
    Leaf,
    Outcome,
    Values,
    converted,
)
from kafka_formats.connect.times import moment_of_units

MILLIS = Leaf(moment_of_units(1_000), "too late")
LATE = 2**62
NUMBERS = pa.list_(pa.field("element", pa.int64()))


def broken(outcome: Outcome) -> list[tuple[object, list[bool], str]]:
    return [(each.path, each.is_broken.tolist(), each.reason) for each in outcome.misfits]


def micros(outcome: Outcome, to: pa.DataType) -> object:
    outcome.values.validate(full=True)
    return outcome.values.cast(to).to_pylist()


def test_without_a_conversion_values_are_the_same() -> None:
    values = pa.array([1, None])
    assert converted(None, values) == Outcome(values, [])


def test_lists_of_sliced_columns() -> None:
    values = pa.array([[9], [1, None], None, [], [2, LATE], [LATE]], NUMBERS).slice(1, 4)
    outcome = converted(Items(MILLIS), values)
    assert micros(outcome, NUMBERS) == [[1_000, None], None, [], [2_000, None]]
    assert broken(outcome) == [(("[]",), [False, False, False, True], "too late")]


def test_items_of_rows_that_are_cut_off_do_not_count() -> None:
    values = pa.array([[LATE], [1]], NUMBERS).slice(1)
    outcome = converted(Items(MILLIS), values)
    assert micros(outcome, NUMBERS) == [[1_000]]
    assert broken(outcome) == []


def test_the_values_of_maps() -> None:
    kind = pa.map_(pa.string(), pa.field("value", pa.int64()))
    values = pa.array([[("a", 1), ("b", None)], None, [("a", LATE)]], kind)
    outcome = converted(Values(MILLIS), values)
    assert micros(outcome, kind) == [[("a", 1_000), ("b", None)], None, [("a", None)]]
    assert broken(outcome) == [(("{}",), [False, False, True], "too late")]


@pytest.mark.parametrize("start", [0, 1])
def test_fields_of_structs_and_what_is_below_nulls(start: int) -> None:
    inner = pa.StructArray.from_arrays(
        [pa.array([5, LATE, 6, LATE]), pa.array(["a", "b", "c", "d"])],
        ["at", "name"],
        # The number below the null is not looked at.
        mask=pa.array([False, True, False, False]),
    )
    outer = pa.StructArray.from_arrays([inner], ["row"]).slice(start)
    conversion: Conversion = Fields({0: Fields({0: MILLIS})})
    outcome = converted(conversion, outer)
    at = pa.struct([("at", pa.int64()), ("name", pa.string())])
    assert (
        micros(outcome, pa.struct([("row", at)]))
        == [
            {"row": {"at": 5_000, "name": "a"}},
            {"row": None},
            {"row": {"at": 6_000, "name": "c"}},
            {"row": {"at": None, "name": "d"}},
        ][start:]
    )
    assert broken(outcome) == [
        (("row", "at"), [False, False, False, True][start:], "too late"),
    ]
