"""A planted fault: a text in one file of the product, and what is in its place."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Planted(NamedTuple):
    """A fault.

    Attributes:
        name: What is wrong.
        path: The file.
        right: Its text.
        wrong: The text in its place.
    """

    name: str
    path: str
    right: str
    wrong: str

    def apply(self, root: Path) -> None:
        """Put the fault into a copy of the product."""
        file = root / self.path
        text = file.read_text()
        assert text.count(self.right) == 1, f"{self.path} has another text: {self.name}"
        file.write_text(text.replace(self.right, self.wrong))
