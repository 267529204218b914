from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.endurance.torture.expected import (
    Answer,
    as_written,
    dead_rows,
    difference,
    expected_rows,
    only,
)
from tests.endurance.torture.made_up import BEGUN_MS, TRUTH, partition_of, row, topic_of
from tests.endurance.torture.positions import Form, Position
from tests.endurance.torture.queries import COLUMNS, Query, draw

OMITTED = Position(Form.OMITTED)
EVERYTHING = Query(
    "spark batch", ("a",), "subscribe", (("a", 0), ("a", 1)), OMITTED, OMITTED, committed=False
)


def test_a_record_that_is_no_text_is_a_dead_letter() -> None:
    rows = [row("t", 0, n)._replace(key=b"\xff" if n == 1 else b"") for n in range(4)]
    rows[2] = rows[2]._replace(value=b"a\xff")
    rows[3] = rows[3]._replace(value=None)
    truth = {"t": topic_of("t", 1)._replace(partitions={0: partition_of(rows, 0, 4)})}
    query = EVERYTHING._replace(topics=("t",), places=(("t", 0),), types={"value": "string"})
    assert expected_rows(query, truth) == rows
    query = query._replace(way="dead letters")
    assert dead_rows(query, truth) == rows[2:3]
    assert expected_rows(query, truth) == [rows[0], rows[1], rows[3]]
    both = query._replace(types={"key": "string", "value": "string"})
    assert dead_rows(both, truth) == rows[1:3]


def test_headers_by_name_are_the_last_of_each() -> None:
    headers = (("a", b"1"), ("b", None), ("a", b"2"))
    rows = [row("t", 0, 0)._replace(headers=headers)]
    truth = {"t": topic_of("t", 1)._replace(partitions={0: partition_of(rows, 0, 1)})}
    query = EVERYTHING._replace(topics=("t",), places=(("t", 0),))
    assert expected_rows(query, truth) == rows
    query = query._replace(types={"headers": "map<string, binary>"})
    assert expected_rows(query, truth)[0].headers == (("a", b"2"), ("b", None))


@given(st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_the_rows_themselves_in_any_order_of_tasks_are_right(
    seed: int, chance: random.Random
) -> None:
    query = draw(random.Random(seed), TRUTH, BEGUN_MS)
    wanted = expected_rows(query, TRUTH)
    groups = [[each] for each in wanted]
    chance.shuffle(groups)
    assert difference(query, TRUTH, wanted, Answer(groups)) is None
    assert difference(query, TRUTH, wanted, Answer([wanted])) is None


def test_rows_of_a_task_must_be_in_order() -> None:
    wanted = expected_rows(EVERYTHING, TRUTH)
    swapped = [*wanted[:3], wanted[4], wanted[3], *wanted[5:]]
    found = difference(EVERYTHING, TRUTH, wanted, Answer([swapped]))
    assert found is not None
    assert found.kind == "reordered"
    assert difference(EVERYTHING, TRUTH, wanted, Answer([swapped], ordered=False)) is None


def test_rows_without_their_place_are_compared_too() -> None:
    query = EVERYTHING._replace(columns=("value", "key"))
    wanted = expected_rows(query, TRUTH)
    other = only(row("a", 0, 99), query.columns)
    for rows in (wanted[:3] + wanted[4:], [*wanted[:3], other, *wanted[4:]]):
        assert difference(query, TRUTH, wanted, Answer([rows[::-1]])) is not None
    assert difference(query, TRUTH, wanted, Answer([wanted[::-1]])) is None


def test_repeated_rows_are_right_only_where_they_may_be() -> None:
    wanted = as_written(expected_rows(EVERYTHING, TRUTH), COLUMNS)
    twice = [wanted, wanted[5:9]]
    assert difference(EVERYTHING, TRUTH, wanted, Answer(twice, may_repeat=True)) is None
    assert difference(EVERYTHING, TRUTH, wanted, Answer(twice)) is not None
    one_less = [wanted[:-1], wanted[5:9]]
    assert difference(EVERYTHING, TRUTH, wanted, Answer(one_less, may_repeat=True)) is not None
