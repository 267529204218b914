"""The table in SECURITY.md: guards and tests exist, and no cell that needs a guard is empty."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from docs.trust_table import GUARDS, INPUTS, PLACES, Guard, guards_of, needs_guard

ROOT = Path(__file__).parents[1]


def functions_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.function)
def test_a_guard_and_its_test_exist(guard: Guard) -> None:
    path, _, function = guard.function.partition(":")
    assert function in functions_in(path)
    path, _, test = guard.test.partition("::")
    assert test in functions_in(path)
    assert {*guard.inputs} <= INPUTS.keys()
    assert {*guard.places} <= PLACES.keys()


@pytest.mark.parametrize("place", [each for each in PLACES if needs_guard(each)])
def test_what_each_input_takes_has_a_limit(place: str) -> None:
    assert [source for source in INPUTS if not guards_of(source, place)] == []
