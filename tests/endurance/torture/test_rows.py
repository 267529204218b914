"""Rows as text, and as records of their partition; `tests/truth` tests how they are compared."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endurance.torture.promise import violation
from tests.endurance.torture.rows import Row, by_partition, text_of
from tests.endurance.torture.ways.tables import rows_of
from tests.truth.delivery import KINDS, Difference
from tests.truth.wrongs import WRONGS

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
    assert violation({}, [*some, *others], in_order) is None
    assert {*by_partition(mixed)} == {("t", some[0].partition), ("t", 9)}


@pytest.mark.parametrize("kind", KINDS)
@given(rows, st.randoms(use_true_random=False))
def test_each_wrong_copy_differs(kind: str, some: list[Row], chance: random.Random) -> None:
    def change(each: Row) -> Row:
        if kind == "altered":
            return chance.choice(
                [
                    each._replace(timestamp=-9),
                    each._replace(timestamp_type=1),
                    each._replace(key=b""),
                    each._replace(value=None),
                    each._replace(headers=(("a", None),)),
                ]
            )
        return each._replace(offset=each.offset + 100)

    difference = violation({}, some, WRONGS[kind](chance, some, change))
    assert difference is not None
    assert difference.kind == kind


def test_a_row_in_another_partition_is_missing() -> None:
    found = violation({}, [row(1), row(5, partition=1)], [row(1), row(5, partition=2)])
    assert found == Difference("behind", row(5, partition=1))


def test_rows_without_offsets_are_told_apart_by_all_that_they_have() -> None:
    expected = [row(-1, b"a"), row(-1, b"b"), row(-1, b"c")]
    assert violation({}, expected, expected) is None
    less = violation({}, expected, [row(-1, b"a"), row(-1, b"c")])
    assert less == Difference("lost", expected[1])
    assert violation({}, expected, expected[:2]) == Difference("behind", expected[2])
    assert violation({}, expected[:2], expected) == Difference("unknown", None, expected[2])
    # Two equal records are two rows.
    again = violation({}, expected[:1], expected[:1] * 2)
    assert again == Difference("twice", None, expected[0])
    assert violation({}, expected[:1] * 2, expected[:1]) == Difference("behind", expected[0])


def test_the_text_names_what_is_altered_and_shortens_it() -> None:
    large = row(7, b"y" * 3_000_000)
    text = text_of(Difference("altered", row(7), large))
    assert text.startswith("altered (value): expected t-0 offset 7, timestamp 1 (0), key b'k'")
    assert "3,000,000 bytes, CRC" in text
    assert "headers ['h'=None]" in text
    assert len(text) < 400


def test_the_text_of_one_row_has_one_row() -> None:
    many = tuple((f"h{each}", b"") for each in range(9))
    text = text_of(Difference("unknown", None, row(7)._replace(headers=many)))
    assert text.startswith("unknown: found t-0 offset 7")
    assert text.endswith("and 4 more]")


def test_headers_of_a_map_have_no_order() -> None:
    pairs = [("b", b"1"), ("a", None)]
    as_map = pa.table({"headers": pa.array([pairs], pa.map_(pa.string(), pa.binary()))})
    as_list = pa.table({"headers": [[{"key": key, "value": value} for key, value in pairs]]})
    assert rows_of(as_map)[0].headers == (("a", None), ("b", b"1"))
    assert rows_of(as_list)[0].headers == (("b", b"1"), ("a", None))
