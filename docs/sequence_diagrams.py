"""Draws the sequence diagrams of the pages as SVG: the site needs no script of another host.

GitHub draws ```mermaid blocks itself. This module knows only the parts that the pages use:
participants, messages (`->>`, `-->>`), `loop ... end` and `Note over`. Another line is an error
that names it.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

_COLUMN: Final = 190  # between the lines of two participants
_ROW: Final = 36
_MARGIN: Final = 85
_HEAD: Final = 30  # the height of a participant's box
_LINE: Final = re.compile(
    r"participant (?P<id>\w+)(?: as (?P<label>.+))?"
    r"|(?P<source>\w+)(?P<arrow>--?)>>(?P<target>\w+): (?P<text>.+)"
    r"|loop (?P<loop>.+)|(?P<end>end)|Note over (?P<over>[\w,]+): (?P<note>.+)"
)


def draw(diagram: str) -> str:
    """The SVG of the text of a sequence diagram.

    Raises:
        ValueError: A line is of a kind that is not drawn here.
    """
    kind, *lines = (line.strip() for line in diagram.strip().splitlines())
    if kind != "sequenceDiagram":
        raise ValueError(f"docs/sequence_diagrams.py draws no {kind!r}")
    drawing = _Drawing()
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"docs/sequence_diagrams.py does not know the line {line!r}")
        drawing.add(match)
    return drawing.svg()


class _Drawing:
    def __init__(self) -> None:
        self.columns: dict[str, int] = {}  # x of the line of each participant
        self.labels: list[str] = []
        self.shapes: list[str] = []
        self.loops: list[int] = []  # y of the beginning of each open loop
        self.y = _HEAD + 20

    def add(self, line: re.Match[str]) -> None:
        if name := line["id"]:
            self.columns[name] = _MARGIN + _COLUMN * len(self.columns)
            self.labels.append(line["label"] or name)
        elif line["arrow"]:
            self._message(line)
        elif line["loop"]:
            self.loops.append(self.y)
            self._text(10, self.y + 14, f"loop {line['loop']}", "start")
            self.y += 24
        elif line["end"]:
            top = self.loops.pop()
            self._box(2, top, self._width() - 4, self.y - top)
            self.y += 14
        else:
            ends = [self.columns[name] for name in line["over"].split(",")]
            left, right = min(ends) - _MARGIN + 10, max(ends) + _MARGIN - 10
            self._box(left, self.y, right - left, 26)
            self._text((left + right) / 2, self.y + 17, line["note"])
            self.y += _ROW

    def _message(self, line: re.Match[str]) -> None:
        start, end = self.columns[line["source"]], self.columns[line["target"]]
        dashes = ' stroke-dasharray="5 4"' if line["arrow"] == "--" else ""
        y = self.y + 22
        if start == end:
            path = f"M{start} {y - 8}h26v12h-20"
            self._text(start + 32, y + 2, line["text"], "start")
        else:
            path = f"M{start} {y}H{end + (-6 if end > start else 6)}"
            self._text((start + end) / 2, y - 6, line["text"])
        self.shapes.append(f'<path d="{path}"{dashes} marker-end="url(#arrow)"/>')
        self.y += _ROW

    def _box(self, x: float, y: float, width: float, height: float) -> None:
        self.shapes.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3"/>')

    def _text(self, x: float, y: float, text: str, anchor: str = "middle") -> None:
        self.shapes.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>')

    def _width(self) -> int:
        return 2 * _MARGIN + _COLUMN * (len(self.columns) - 1)

    def svg(self) -> str:
        height = self.y + 10
        lives = "".join(
            f'<path class="life" d="M{x} {_HEAD + 2}V{height - 4}"/>' for x in self.columns.values()
        )
        for x, label in zip(self.columns.values(), self.labels, strict=True):
            self._box(x - 80, 2, 160, _HEAD)
            self._text(x, 22, label)
        return (
            f'<div class="sequence"><svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {self._width()} {height}" width="{self._width()}" height="{height}">'
            '<marker id="arrow" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker>'
            f"{lives}{''.join(self.shapes)}</svg></div>"
        )
