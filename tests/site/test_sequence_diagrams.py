"""The diagrams of the pages are drawn whole, and what cannot be drawn is an error."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.sequence_diagrams import draw

PAGES = (Path(__file__).parents[2] / "docs").rglob("*.md")
DIAGRAMS = [
    diagram
    for page in PAGES
    for diagram in re.findall(r"^```mermaid\n(.*?)^```$", page.read_text(), re.M | re.S)
]


@pytest.mark.parametrize("diagram", DIAGRAMS, ids=range(len(DIAGRAMS)))
def test_a_drawing_has_each_text_of_its_diagram(diagram: str) -> None:
    drawn = {text.strip() for text in ElementTree.fromstring(draw(diagram)).itertext()}
    said = re.findall(r"(?:: | as |participant (?!\w+ as )|^ +(?=loop ))(.+)$", diagram, re.M)
    assert len(said) > 8
    assert set(said) <= drawn


def test_arrows_and_boxes() -> None:
    drawing = draw(
        "sequenceDiagram\nparticipant A\nparticipant B as <B>\nloop always\nA->>B: go\n"
        "B-->>A: done\nend\nNote over A,B: both"
    )
    assert drawing.count("marker-end") == 2
    assert drawing.count("stroke-dasharray") == 1
    assert drawing.count("<rect") == 4
    assert "&lt;B&gt;" in drawing


@pytest.mark.parametrize("text", ["flowchart TD", "sequenceDiagram\nactivate A"])
def test_what_is_not_known_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"flowchart TD|activate A"):
        draw(text)
