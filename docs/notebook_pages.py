"""Notebooks as pages of the site: text, code, and what the cells printed and drew."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

_FENCE = "```"


def write_page(notebook: Path, page: Path) -> None:
    """Write the page, and the images that it shows beside it."""
    page.parent.mkdir(parents=True, exist_ok=True)
    parts: list[str] = []
    for number, cell in enumerate(json.loads(notebook.read_text())["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"{_FENCE}python\n{source}\n{_FENCE}")
        parts += [_shown(each, page, f"{page.stem}-{number}.png") for each in cell["outputs"]]
    page.write_text("\n\n".join(parts) + "\n")


def _shown(output: dict[str, Any], page: Path, image: str) -> str:
    """An output in Markdown; an image goes into a file of its own."""
    data = output.get("data", {})
    if "image/png" in data:
        page.with_name(image).write_bytes(base64.b64decode(data["image/png"]))
        return f"![What the cell draws]({image})"
    text = "".join(output.get("text", data.get("text/plain", ()))).rstrip()
    return f"{_FENCE}text\n{text}\n{_FENCE}"
