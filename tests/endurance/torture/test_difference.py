from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.endurance.torture.difference import Difference, first_difference, kept_in_order
from tests.endurance.torture.rows import Row

rows = st.builds(
    lambda offsets, partition: [
        Row("t", partition, offset, 7 * offset, 0, None, b"value %d" % offset)
        for offset in sorted(offsets)
    ],
    st.sets(st.integers(0, 50), min_size=2, max_size=20),
    st.integers(0, 3),
)


def row(offset: int, value: bytes | None = b"x", partition: int = 0) -> Row:
    return Row("t", partition, offset, 1, 0, b"k", value, (("h", None),))


@given(rows, st.integers(0, 99))
def test_equal_rows_have_no_difference_in_any_order_of_partitions(
    some: list[Row], seed: int
) -> None:
    others = [each._replace(partition=9) for each in some]
    mixed = [*some, *others]
    random.Random(seed).shuffle(mixed)
    in_order = sorted(mixed, key=lambda each: each.offset)
    assert first_difference([*some, *others], in_order) is None


@given(rows, st.integers(0))
def test_a_row_less_is_missing(some: list[Row], at: int) -> None:
    left = [*some]
    gone = left.pop(at % len(left))
    assert first_difference(some, left) == Difference("missing", gone, None)


@given(rows, st.integers(0))
def test_a_row_more_is_extra(some: list[Row], at: int) -> None:
    left = [*some]
    more = left.pop(at % len(left))
    assert first_difference(left, some) == Difference("extra", None, more)


@given(rows, st.integers(0))
def test_another_value_is_altered(some: list[Row], at: int) -> None:
    place = at % len(some)
    other = some[place]._replace(value=b"another")
    found = [*some[:place], other, *some[place + 1 :]]
    assert first_difference(some, found) == Difference("altered", some[place], other)


@given(rows, st.integers(0))
def test_a_row_that_comes_again_is_twice(some: list[Row], at: int) -> None:
    again = some[at % len(some)]
    assert first_difference(some, [*some, again]) == Difference("twice", None, again)


@given(rows)
def test_rows_in_another_order_differ(some: list[Row]) -> None:
    difference = first_difference(some, some[::-1])
    # The middle row of an odd number keeps its place, so the first one is told.
    assert difference == Difference("order", some[0], some[-1])


def test_a_row_in_another_partition_is_missing() -> None:
    found = first_difference([row(1), row(5, partition=1)], [row(1), row(5, partition=2)])
    assert found == Difference("missing", row(5, partition=1), None)


def test_rows_without_offsets_are_told_apart_by_place() -> None:
    expected = [row(-1, b"a"), row(-1, b"b"), row(-1, b"c")]
    assert first_difference(expected, expected) is None
    altered = first_difference(expected, [row(-1, b"a"), row(-1, b"c")])
    assert altered == Difference("altered", row(-1, b"b"), row(-1, b"c"))
    assert first_difference(expected, expected[:2]) == Difference("missing", expected[2], None)
    more = first_difference(expected[:2], expected)
    assert more == Difference("extra", None, expected[2])
    # Two equal records are two rows.
    assert first_difference(expected[:1], expected[:1] * 2) == Difference(
        "twice", None, expected[0]
    )


def test_the_text_names_what_is_altered_and_shortens_it() -> None:
    large = row(7, b"y" * 3_000_000)
    text = Difference("altered", row(7), large).text
    assert text.startswith("altered (value): expected t-0 offset 7, timestamp 1 (0), key b'k'")
    assert "3,000,000 bytes, CRC" in text
    assert "headers ['h'=None]" in text
    assert len(text) < 400


def test_the_text_of_one_row_has_one_row() -> None:
    many = tuple((f"h{each}", b"") for each in range(9))
    text = Difference("extra", None, row(7)._replace(headers=many)).text
    assert text.startswith("extra: found t-0 offset 7")
    assert text.endswith("and 4 more]")


def test_some_of_the_wanted_rows_in_order() -> None:
    wanted = {offset: row(offset) for offset in range(5)}
    assert kept_in_order(wanted, [row(0), row(3)]) is None
    assert kept_in_order(wanted, [row(3), row(0)]) == Difference("order", row(0), row(0))
    assert kept_in_order(wanted, [row(3), row(3)]) == Difference("twice", None, row(3))
    assert kept_in_order(wanted, [row(9)]) == Difference("extra", None, row(9))
    assert kept_in_order(wanted, [row(1, None)]) == Difference("altered", row(1), row(1, None))
