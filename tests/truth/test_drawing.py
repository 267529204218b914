from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.truth.drawing import draw_options

ALWAYS = ((1.0, "a", ("1", "2")),)
NEVER = ((0.0, "b", ("1",)),)
SOMETIMES = ((0.25, "c", ("1",)),)


@given(st.integers())
def test_options_have_their_shares(seed: int) -> None:
    drawn = draw_options(random.Random(seed), ALWAYS, NEVER, SOMETIMES)
    assert drawn == draw_options(random.Random(seed), ALWAYS, NEVER, SOMETIMES)
    assert {"a"} <= {*drawn} <= {"a", "c"}
    assert drawn["a"] in {"1", "2"}


def test_an_option_of_a_quarter_of_the_queries() -> None:
    chance = random.Random(1)
    times = sum("c" in draw_options(chance, SOMETIMES) for _ in range(1_000))
    assert 200 < times < 300
