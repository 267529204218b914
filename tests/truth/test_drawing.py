from __future__ import annotations

import random

from tests.truth.drawing import draw_options

TABLES = (((1.0, "a", ("1", "2")), (0.0, "b", ("1",))), ((0.25, "c", ("1",)),))


def test_options_have_their_shares_and_a_seed_repeats_them() -> None:
    drawn = [draw_options(random.Random(seed), *TABLES) for seed in range(1_000)]
    assert drawn == [draw_options(random.Random(seed), *TABLES) for seed in range(1_000)]
    assert {each["a"] for each in drawn} == {"1", "2"}
    assert not any("b" in each for each in drawn)
    assert 200 < sum("c" in each for each in drawn) < 300
