"""The pictures of the pages: each is shown, fits a phone, and is true where a test can tell."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.picture_table import AVRO_BYTES, AVRO_FIELDS, AVRO_ROW, PICTURES
from docs.pictures import MARGIN, WIDTH, Arrow, Box, Kind, Picture, svg

DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
NAMES = pytest.mark.parametrize("name", PICTURES)


@NAMES
def test_its_page_shows_it_with_its_title(name: str) -> None:
    page, picture = PICTURES[name]
    assert f"![{picture.title}](images/{name}.svg)" in (DOCS / page).read_text()


def test_there_are_no_others() -> None:
    assert {path.stem for path in (DOCS / "images").iterdir()} == set(PICTURES)


@NAMES
def test_it_is_drawn_whole(name: str) -> None:
    _, picture = PICTURES[name]
    drawn = ElementTree.fromstring(svg(picture))
    texts = [text.text or "" for text in drawn.iter(f"{SVG}text")]
    of_boxes = [line for box in picture.boxes for line in box.lines]
    lines = [*of_boxes, *(line for arrow in picture.arrows for line in arrow.lines)]
    assert sorted(texts) == sorted(lines)
    paths = [path for path in drawn.iter(f"{SVG}path") if path.get("class") == "arrow"]
    assert len(paths) == len(picture.arrows)
    assert drawn.get("viewBox", "").startswith(f"0 0 {WIDTH} ")


@NAMES
def test_each_text_is_within_its_box(name: str) -> None:
    """In DejaVu, which is wider than the fonts that systems usually have."""
    too_long = [
        line
        for box in PICTURES[name][1].boxes
        for place, line in enumerate(box.lines)
        if _width(line, box.kind, is_heading=place == 0) > box.right - box.left - 16
    ]
    assert too_long == []


def _width(line: str, kind: Kind, *, is_heading: bool) -> float:
    matplotlib = pytest.importorskip("matplotlib")
    ft2font = pytest.importorskip("matplotlib.ft2font")
    is_data = kind in {Kind.DATA, Kind.BROKEN} and not is_heading
    is_bold = is_heading and kind is not Kind.BORDER
    name = "DejaVuSansMono" if is_data else "DejaVuSans-Bold" if is_bold else "DejaVuSans"
    font = ft2font.FT2Font(str(Path(matplotlib.get_data_path(), "fonts", "ttf", f"{name}.ttf")))
    # Much larger than shown, so that no width is rounded to whole pixels.
    font.set_size(100 * (11.5 if is_data else 12.5), 72)
    font.set_text(line)
    return float(font.get_width_height()[0]) / 64 / 100


def test_arrows_go_across_down_and_back() -> None:
    across, down, back = Arrow("a", "b"), Arrow("a", "c", ("to c",)), Arrow("c", "a")
    boxes = (
        Box("a", 0, ("A",), Kind.OURS, left=30, right=100),
        Box("b", 0, ("B",), Kind.KAFKA, left=200),
        Box("c", 1, ("<C>",), Kind.DATA, left=30),
    )
    drawn = svg(Picture("all ways", boxes, (across, down, back)))
    ways = re.findall(r'class="arrow" d="([^"]+)"', drawn)
    assert ways == ["M100 25.5H200", "M65 41V67", f"M30 82.5H{MARGIN}V25.5H30"]
    assert "&lt;C&gt;" in drawn


def test_a_taller_box_moves_what_is_below_it() -> None:
    small, tall = (Box("a", 0, lines, Kind.OURS) for lines in (("A",), ("A", "more")))
    below = Box("b", 1, ("B",), Kind.OURS)
    tops = [
        float(re.findall(r' y="([\d.]+)" width', svg(Picture("", (box, below), ())))[1])
        for box in (small, tall)
    ]
    assert tops[1] - tops[0] == 17


def test_the_bytes_of_the_format_are_the_row() -> None:
    fastavro = pytest.importorskip("fastavro")
    fields = [{"name": name, "type": kind} for name, kind in AVRO_FIELDS.items()]
    schema = {"type": "record", "name": "Order", "fields": fields}
    written = io.BytesIO()
    fastavro.schemaless_writer(written, schema, AVRO_ROW)
    assert written.getvalue() == bytes.fromhex(AVRO_BYTES)
