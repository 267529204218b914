"""The matrix of columns whose type changes: each value is right, or refused by name."""

from __future__ import annotations

import pytest

from tests.change_data.matrix import ALTERED, CONVERTERS, MODES
from tests.formats.debezium.matrix_cells import EXACT, REFUSED
from tests.formats.debezium.matrix_pairs import altered_of, pairs_across, pairs_of
from tests.formats.debezium.matrix_table import ROWS

QUICK = {("avro", "connect")}
CONNECTORS = [
    pytest.param(converter, mode, marks=[pytest.mark.slow] * ((converter, mode) not in QUICK))
    for converter in CONVERTERS
    if converter != "plain"
    for mode in MODES
]
WIDENED = {("int2", "int4"), ("int2", "int8"), ("int4", "int8"), ("float4", "float8")}
SCALED = {("num10_2", "num38_10"), ("domain", "num10_2")}


@pytest.mark.no_cover
@pytest.mark.parametrize(("converter", "mode"), CONNECTORS)
def test_a_value_of_another_type_is_exact_or_refused(converter: str, mode: str) -> None:
    cells = [*pairs_of(converter, mode)]
    assert [each for each in cells if each.outcome not in {EXACT, REFUSED}] == []
    seen: dict[tuple[str, str], set[str]] = {}
    for each in cells:
        if each.text is not None:
            seen.setdefault((each.written, each.read), set()).add(each.outcome)
    assert all(seen[name, name] == {EXACT} for name in {each.read for each in cells})
    lossless = WIDENED | (SCALED if MODES[mode].get("decimal.handling.mode") is None else set())
    assert all(seen[pair] == {EXACT} for pair in lossless)
    if mode == "adaptive":
        assert seen["ts3", "ts"] == seen["tstz", "char"] == {EXACT}
    assert sum(each == {REFUSED} for each in seen.values()) > len(seen) / 2


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("converter", "first", "then"),
    [
        (converter, first, then)
        for converter in ("told", "avro")
        for first in MODES
        for then in MODES
        if first != then
    ],
)
def test_a_connector_whose_options_were_changed(converter: str, first: str, then: str) -> None:
    cells = [*pairs_across(converter, first, then)]
    assert [each for each in cells if each.outcome not in {EXACT, REFUSED}] == []
    assert {each.written for each in cells if each.outcome == EXACT} >= {"int4", "tstz", "uuid"}


@pytest.mark.no_cover
@pytest.mark.parametrize(("converter", "mode"), CONNECTORS)
def test_a_type_that_was_changed_in_the_database(converter: str, mode: str) -> None:
    cells = [*altered_of(converter, mode)]
    own = {(each.written, each.text): each.outcome for each in cells if each.written == each.read}
    listed = {
        column
        for row in ROWS
        for each in row.clauses
        if mode in each.modes
        for column in each.columns
    }
    assert {kind for (kind, _), outcome in own.items() if outcome != EXACT} <= listed
    assert [
        each
        for each in cells
        if own[each.written, each.text] == EXACT and each.outcome not in {EXACT, REFUSED}
    ] == []
    assert {(each.written, each.read) for each in cells} >= set(ALTERED.values())
