"""What a hunt says: only a broken promise counts, and the likely seeds come first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.simulation.drawing import draw
from tests.simulation.planted.fault import Planted
from tests.simulation.planted.hunt import Found, by_the_fault, found_in, order_of


def line(seed: int, *, crashed: bool = False, broken: dict[str, Any] | None = None) -> str:
    return json.dumps({"seed": seed, "crashed": crashed, "broken": broken})


def test_a_broken_promise_is_found_with_its_judge() -> None:
    broken = {"judge": "rows", "text": "several\nlines"}
    found = found_in([line(4), line(9, crashed=True), line(0, broken=broken)], "", 7.0)
    assert (found.seed, found.seeds, found.crashed) == (0, 3, 1)
    assert (found.judge, found.text, found.seconds) == ("rows", "lines", 7.0)


def test_a_crash_or_a_hang_finds_nothing() -> None:
    found = found_in([line(0, crashed=True), "not a line of the hunt"], "", 1.0)
    assert (found.seed, found.crashed, found.text) == (None, 1, "not found in 1 seeds")
    assert found_in([], "a seed does not end", 1.0).text == "a seed does not end"


def test_a_seed_that_fails_without_the_fault_finds_nothing() -> None:
    def run(order: Sequence[int]) -> Found:
        broken = {"judge": "rows", "text": "lines"}
        at = next((at for at, seed in enumerate(order) if seed in {3, 5}), None)
        passed = [line(seed) for seed in order[:at]]
        return found_in([*passed, *([] if at is None else [line(order[at], broken=broken)])], "", 1)

    order = [0, 3, 4, 5, 6]
    assert by_the_fault(order, run, lambda _: False)[:2] == (3, 2)
    assert by_the_fault(order, run, lambda seed: seed == 3)[:2] == (5, 4)
    assert by_the_fault(order, run, lambda _: True)[:2] == (None, 5)


def test_likely_seeds_come_first() -> None:
    anything = Planted("", "", "", "")
    assert order_of(anything, 5) == [0, 1, 2, 3, 4]
    rare = anything._replace(likely=lambda scenario: "kafka.group.id" in scenario.source)
    order = order_of(rare, 8)
    assert len({*order}) == len(order) == 8
    is_likely = ["kafka.group.id" in draw(seed).source for seed in order]
    assert is_likely == sorted(is_likely, reverse=True)
    assert any(is_likely)
    assert max(order) < 80
