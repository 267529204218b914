"""Draws the pictures of the pages as SVG: boxes and arrows, which docs/picture_table.py names.

A picture is as wide as a phone, and a screen with more room shows it larger. It has a light and a
dark background of its own, because a page can be of the other scheme. Rows are as high as their
text; nothing is placed by hand but the left and the right of a box.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 360
SHOWN_WIDTH: Final = 480  # where there is room
MARGIN: Final = 10

_PAD: Final = 8
_LINE: Final = 17
_GAP: Final = 26  # between rows
_CORNER: Final = 6
_STYLE: Final = """<style>
text { font: 12.5px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.head { font-weight: 600 }
.data { font: 11.5px ui-monospace, Menlo, Consolas, monospace; white-space: pre }
.label { font-size: 11px }
.page { fill: #fafbfc }
.kafka { fill: #e7e9ee; stroke: #8b949e }
.spark { fill: #fbe8da; stroke: #c2571a }
.ours { fill: #d9edf4; stroke: #0a7ea4 }
.plain { fill: #ffffff; stroke: #8b949e }
.broken { fill: #fbdfdf; stroke: #c23434 }
.arrow { fill: none; stroke: #57606a; stroke-width: 1.5 }
.tip { fill: #57606a }
.border { stroke: #57606a; stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .page { fill: #161b22 }
  .kafka { fill: #30363d }
  .spark { fill: #4a2b17 }
  .ours { fill: #0d3a4b }
  .plain { fill: #0d1117 }
  .broken { fill: #4f2020 }
  .arrow, .border { stroke: #9da7b3 }
  .tip { fill: #9da7b3 }
}
</style>"""


class Kind(Enum):
    """What a box shows; the value is its class in the style."""

    KAFKA = "kafka"
    SPARK = "spark"
    OURS = "ours"
    DATA = "plain"  # a heading, then lines in a font of one width
    BROKEN = "broken"  # the same, of data that cannot be decoded
    BORDER = "border"  # no box but a line, with its text below


class Box(NamedTuple):
    """A box in one or more rows, from `left` to `right`. Its first line is a heading."""

    name: str
    row: int
    lines: tuple[str, ...]
    kind: Kind
    left: int = MARGIN
    right: int = WIDTH - MARGIN
    rows: int = 1


class Arrow(NamedTuple):
    """From one box to another: across if they share a row, else down, or back along the left."""

    source: str
    target: str
    lines: tuple[str, ...] = ()
    both_ways: bool = False


class Picture(NamedTuple):
    """What a page shows; the title tells it to those who do not see it."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


class _Place(NamedTuple):
    box: Box
    top: float
    bottom: float

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def svg(picture: Picture) -> str:
    """The text of the file; the same for the same picture."""
    places = _places(picture)
    height = max(place.bottom for place in places.values()) + MARGIN
    shapes = [
        *(shape for place in places.values() for shape in _box(place)),
        *(
            shape
            for arrow in picture.arrows
            for shape in _arrow(arrow, places[arrow.source], places[arrow.target])
        ),
    ]
    shown_height = round(height * SHOWN_WIDTH / WIDTH)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height:g}" '
            f'width="{SHOWN_WIDTH}" height="{shown_height}">',
            f"<title>{escape(picture.title)}</title>",
            _STYLE,
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path class="tip" d="M0 0L8 4L0 8z"/></marker>',
            f'<rect class="page" width="{WIDTH}" height="{height:g}" rx="{_CORNER}"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def _places(picture: Picture) -> dict[str, _Place]:
    """Where each box is, by its name."""
    rows = range(1 + max(box.row for box in picture.boxes))
    single = [box for box in picture.boxes if box.rows == 1]
    tops, bottoms = [], []
    y = float(MARGIN)
    for row in rows:
        tops.append(y)
        y += max(_height(box) for box in single if box.row == row)
        bottoms.append(y)
        y += _GAP
    return {
        box.name: _Place(box, tops[box.row], bottoms[box.row + box.rows - 1])
        for box in picture.boxes
    }


def _height(box: Box) -> int:
    return 2 * _PAD + _LINE * len(box.lines) - 2


def _box(place: _Place) -> Iterator[str]:
    box, top = place.box, place.top
    if box.kind is Kind.BORDER:
        yield f'<path class="border" d="M{box.left} {top:g}H{box.right}"/>'
    else:
        yield (
            f'<rect class="{box.kind.value}" x="{box.left}" y="{top:g}" '
            f'width="{box.right - box.left}" height="{place.bottom - top:g}" rx="{_CORNER}"/>'
        )
    is_data = box.kind in {Kind.DATA, Kind.BROKEN}
    heading, *lines = box.lines
    y = top + _PAD + 11
    yield _text(box.left + _PAD, y, heading, "" if box.kind is Kind.BORDER else "head")
    for line in lines:
        y += _LINE
        yield _text(box.left + _PAD, y, line, "data" if is_data else "")


def _arrow(arrow: Arrow, source: _Place, target: _Place) -> Iterator[str]:
    start = ' marker-start="url(#tip)"' if arrow.both_ways else ""
    path, x, y, anchor = _way(source, target, len(arrow.lines))
    yield f'<path class="arrow" d="{path}" marker-end="url(#tip)"{start}/>'
    for line in arrow.lines:
        yield _text(x, y, line, "label", anchor)
        y += _LINE - 3


def _way(source: _Place, target: _Place, lines: int) -> tuple[str, float, float, str]:
    """The path of an arrow, and where its text is."""
    if source.top < target.bottom and target.top < source.bottom:
        is_right = source.box.left < target.box.left
        start = source.box.right if is_right else source.box.left
        end = target.box.left if is_right else target.box.right
        y = min(source, target, key=lambda place: place.bottom - place.top).middle
        return (
            f"M{start} {y:g}H{end}",
            (start + end) / 2,
            y - 6 - (_LINE - 3) * (lines - 1),
            "middle",
        )
    if source.top < target.top:
        left = max(source.box.left, target.box.left)
        x = (left + min(source.box.right, target.box.right)) / 2
        y = (source.bottom + target.top) / 2 + 4 - (_LINE - 3) * (lines - 1) / 2
        return f"M{x:g} {source.bottom:g}V{target.top:g}", x + 9, y, "start"
    side = MARGIN
    path = f"M{source.box.left} {source.middle:g}H{side}V{target.middle:g}H{target.box.left}"
    return path, side, (source.middle + target.middle) / 2, "start"


def _text(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    named = f' class="{style}"' if style else ""
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}"{named}{placed} xml:space="preserve">{escape(text)}</text>'
