"""The layout of tables and texts within a width: texts in, lines out.

A table that is too wide is laid out in another way, which loses no character of a cell. In order:
words of a cell go to lines of their own; values that all rows have go above the table; long words
are broken; and at last each row is a block of lines with names and values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import product, zip_longest
from typing import Final, NamedTuple

from rich.cells import cell_len

# Between two columns. In a cell no two blanks follow each other, so that programs see the columns.
_GAP: Final = "  "
_OTHER_BLANKS: Final = re.compile(r"(?<= ) |^ | $")
# A number is never broken, and other words only into parts of at least this width.
_NUMBER: Final = re.compile(r"-?[\d,.]+")
_PART: Final = 16
# Nor are several words of a cell put into lines of less than this width, as a time has.
_WORDS: Final = 20


class Layout(NamedTuple):
    """The lines of a table: what stands above it, its headings, and its rows."""

    above: list[str]
    headings: list[str]
    rows: list[str]


class _Column(NamedTuple):
    heading: str
    cells: list[str]

    @property
    def texts(self) -> list[str]:
        return [self.heading, *self.cells]

    @property
    def width(self) -> int:
        return max(map(cell_len, self.texts))

    def narrowest(self, part: float) -> int:
        """The least width, where words may be broken into parts of this width."""
        words = {word for text in self.texts for word in text.split(" ")}
        numbers = [cell_len(word) for word in words if _NUMBER.fullmatch(word)]
        longest = max(map(cell_len, words))
        several = [min(cell_len(text), _WORDS) for text in self.cells if " " in text]
        return int(max(min(longest, part), *numbers, *several, 0))


def layout(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> Layout:
    """Lay out rows below headings.

    Args:
        headings: The names of the columns.
        rows: The cells. A text in a cell is a line of printable characters.
        width: That of the terminal. None for a program: a line for each row, however long.
    """
    texts = [[_in_a_cell(text) for text in row] for row in (headings, *rows)]
    columns = [_Column(heading, cells) for heading, *cells in zip(*texts, strict=True)]
    if width is None:
        return _table([], columns, [each.width for each in columns])
    # Rows without a difference stay rows: nothing else would show how many there are.
    is_one = len(rows) == 1
    others = [each for each in columns if len(set(each.cells)) != 1] or columns[: not is_one]
    equal = [each for each in columns if each not in others]
    for part, (above, below) in product((math.inf, _PART), (([], columns), (equal, others))):
        widths = _fitting(below, width, part)
        if widths is not None:
            return _table(_named_values(above, 0, width), below, widths)
    blocks = [_named_values(others, at, width) for at in range(len(rows))]
    if equal:
        blocks.insert(0, _named_values(equal, 0, width))
    return Layout([], [], [line for block in blocks for line in (*block, "")][:-1])


def properties(rows: Sequence[tuple[str, str]], width: int | None) -> list[str]:
    """Names and values, one pair below the other; a name may be empty."""
    names, values = ([_in_a_cell(row[at]) for row in rows] for at in (0, 1))
    pair = [_Column("", names), _Column("", values)]
    needed = [each.width for each in pair]
    left = needed[1] if width is None else width - needed[0] - len(_GAP)
    if left >= min(needed[1], _PART):
        return _table([], pair, [needed[0], min(needed[1], left)]).rows
    texts = (f"{name} {value}" for name, value in zip(names, values, strict=True))
    return [line for text in texts for line in wrapped(text, width or _PART)]


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines, broken between words where that is possible."""
    lines: list[str] = []
    line = ""
    for number, word in enumerate(text.split(" ")):
        joined = f"{line} {word}" if number else word
        if cell_len(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *whole, line = _broken(word, width)
        lines.extend(whole)
    return [*lines, line]


def wrapped_lines(text: str, width: int) -> list[str]:
    """The lines of a text, each `wrapped`; what is continued is indented as its line is."""
    lines = []
    for line in text.split("\n"):
        rest = line.lstrip(" ")
        indent = line[: min(len(line) - len(rest), width // 2)]
        lines += [indent + each for each in wrapped(rest, width - len(indent))]
    return lines


def cut(text: str, width: int) -> str:
    """The beginning of a text, up to a width."""
    return next(iter(_broken(text, width)))


def _in_a_cell(text: str) -> str:
    """The text with at most one blank between two words, and others as an escape."""
    return _OTHER_BLANKS.sub(r"\\x20", text)


def _named_values(columns: Sequence[_Column], row: int, width: int) -> list[str]:
    """A line `name: value` for each column, of one row."""
    return properties([(f"{each.heading}:", each.cells[row]) for each in columns], width)


def _fitting(columns: Sequence[_Column], width: int, part: float) -> list[int] | None:
    """The widths of columns within a width, or None. Columns with most to gain are cut first.

    Words are broken, into parts of at least `part`, only after lines between words.
    """
    widths = [each.width for each in columns]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    for least in (math.inf, part):
        narrowest = [each.narrowest(least) for each in columns]
        for at in sorted(range(len(widths)), key=lambda at: narrowest[at] - widths[at]):
            taken = min(max(0, excess), widths[at] - narrowest[at])
            widths[at] -= taken
            excess -= taken
    return None if excess > 0 else widths


def _table(above: list[str], columns: Sequence[_Column], widths: Sequence[int]) -> Layout:
    headings, *rows = zip(*(each.texts for each in columns), strict=True) if columns else [()]
    separated = [*above, ""] if above and columns else above
    lines = [line for row in rows for line in _row(row, widths)]
    return Layout(separated, [*_row(headings, widths)], lines)


def _row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """The lines of one row: as many as its longest cell has."""
    parts = [wrapped(text, width) for text, width in zip(cells, widths, strict=True)]
    for line in zip_longest(*parts, fillvalue=""):
        padded = (
            text + " " * (width - cell_len(text)) for text, width in zip(line, widths, strict=True)
        )
        yield _GAP.join(padded).rstrip(" ")


def _broken(word: str, width: int) -> list[str]:
    """A word in parts, each within a width; a character that is wider is a part of its own."""
    parts, used = [""], 0
    for character in word:
        needed = cell_len(character)
        if parts[-1] and used + needed > width:
            parts.append("")
            used = 0
        parts[-1] += character
        used += needed
    return parts
