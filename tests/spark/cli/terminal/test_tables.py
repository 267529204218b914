"""The layout of tables: nothing beyond the width, and no character of a cell is lost."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kafka_spark_source.cli.terminal.tables import cut, layout, properties, wrapped, wrapped_lines

# A letter for each cell, so that its characters are recognised wherever they stand; some are wide.
NARROW: Final = [chr(0x100 + number) for number in range(0, 126, 2)]
WIDE: Final = [chr(0x4E00 + number) for number in range(30)]
LENGTHS: Final = st.one_of(st.integers(1, 12), st.integers(13, 249))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """Headings and rows. A cell has words of its own letter; some columns have equal cells."""
    letters = iter(draw(st.permutations(NARROW + WIDE)))
    names = [f"{'h' * number} n" for number in draw(st.lists(st.integers(1, 16), max_size=6))]
    columns = []
    count = draw(st.integers(0, 4))
    for _ in names:
        shapes = draw(st.lists(st.lists(LENGTHS, max_size=3), min_size=count, max_size=count))
        cells = [
            " ".join(letter * n for n in shape)
            for shape, letter in zip(shapes, letters, strict=False)
        ]
        columns.append(cells[:1] * count if draw(st.booleans()) else cells)
    return names, [list(row) for row in zip(*columns, strict=True)] if names else []


@given(tables(), st.integers(2, 200))
def test_no_line_is_too_wide_and_no_character_is_lost(
    table: tuple[list[str], list[list[str]]], width: int
) -> None:
    headings, rows = table
    if not headings:
        return
    above, names, lines = layout(headings, rows, width)
    printed = [*above, *names, *lines]
    assert [line for line in printed if cell_len(line) > width] == []
    shown = Counter("".join(printed))
    for column in zip(*rows, strict=True):
        for letter, count in Counter("".join(column).replace(" ", "")).items():
            # A value that all rows have may stand once for them.
            allowed = {count, count // len(rows)} if len(set(column)) == 1 else {count}
            assert shown[letter] in allowed


def test_rows_without_a_difference_are_all_shown() -> None:
    assert sum(layout(["a"], [["x" * 90]] * 3, 80).rows[at] == "x" * 80 for at in range(6)) == 3


@given(st.lists(st.lists(st.text("a 1,é日", min_size=1), min_size=3, max_size=3)))
def test_a_program_gets_each_row_in_a_line(rows: list[list[str]]) -> None:
    """As `awk -F'  +'` splits it. Further blanks of a cell are escapes."""
    above, headings, lines = layout(["a b", "c", "d"], rows, None)
    assert (above, [re.split("  +", line) for line in headings]) == ([], [["a b", "c", "d"]])
    split = [[cell.replace(r"\x20", " ") for cell in re.split("  +", line)] for line in lines]
    assert split == rows


TOPIC: Final = "orders-of-the-western-region"
LAG: Final = ["source", "topic", "partition", "committed", "planned", "latest", "behind", "lost"]


def test_what_is_tried_in_turn() -> None:
    times = [["0", "2026-11-24 21:37:50Z"], ["1", "2026-11-24 21:37:51Z"]]
    assert layout(["partition", "first"], times, 40).rows[0] == "0          2026-11-24 21:37:50Z"
    reasons = [["0", "the value is not JSON"], ["1", "the key is not a number, but text"]]
    between_words = layout(["partition", "reason"], reasons, 31)
    assert between_words.rows[:2] == ["0          the value is not", "           JSON"]
    # Not narrower than a time, which would be a column of single words.
    assert layout(["partition", "first"], times, 22).rows[0] == "partition: 0"

    lags = [["0", TOPIC, str(n), *["1,204,567,890"] * 3, f"{n} s", "0"] for n in range(2)]
    equal_above = layout(LAG, lags, 80)
    assert equal_above.above[:2] == ["source:     0", f"topic:      {TOPIC}"]
    assert equal_above.above[-1] == ""
    assert equal_above.rows == ["0          0 s", "1          1 s"]

    topics = [[TOPIC, "1,204,567,890"], ["orders", "2"]]
    broken = layout(["topic", "offsets"], topics, 33)
    assert broken.headings == ["topic               offsets"]
    assert broken.rows[:2] == ["orders-of-the-west  1,204,567,890", "ern-region"]

    blocks = layout(["topic", "offsets"], topics, 30)
    assert blocks.headings == []
    assert blocks.rows[:5] == [
        *("topic:    orders-of-the-wester", "          n-region"),
        *("offsets:  1,204,567,890", "", "topic:    orders"),
    ]


def test_properties() -> None:
    rows = [("data", "/tmp/1"), ("data", "/tmp/" + "2" * 30)]
    assert properties(rows, None) == ["data  /tmp/1", "data  /tmp/" + "2" * 30]
    assert properties(rows, 30) == ["data  /tmp/1", f"data  /tmp/{'2' * 19}", f"      {'2' * 11}"]
    assert properties(rows, 10) == [
        *("data", "/tmp/1", "data", "/tmp/22222"),
        *("2222222222", "2222222222", "22222"),
    ]
    assert properties([], 80) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a bc def", ["a bc", "def"]),
        ("abcdefg h", ["abcde", "fg h"]),
        ("日本語", ["日本", "語"]),
        ("ab: ", ["ab: "]),
    ],
)
def test_words(text: str, lines: list[str]) -> None:
    assert wrapped(text, 5) == lines


def test_lines_keep_their_indentation() -> None:
    assert wrapped_lines("ok\n  a bcd efg", 8) == ["ok", "  a bcd", "  efg"]


def test_cut() -> None:
    assert [cut("日本語", width) for width in (6, 5, 2)] == ["日本語", "日本", "日"]
    assert cut("", 5) == ""
