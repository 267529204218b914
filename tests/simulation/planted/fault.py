"""A planted fault: a text in one file of the product, and what is in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.simulation.scenario import Scenario


class Planted(NamedTuple):
    """A fault.

    Attributes:
        name: What is wrong.
        path: The file.
        right: Its text.
        wrong: The text in its place.
        likely: Which scenarios are run first, as they have what the fault is about; None for all.
        missed: Why the simulation does not find it, and which test does; empty for all others.
        judges: Files of tests that hunt for it; empty if the simulation does.
    """

    name: str
    path: str
    right: str
    wrong: str
    likely: Callable[[Scenario], bool] | None = None
    missed: str = ""
    judges: tuple[str, ...] = ()

    def apply(self, root: Path) -> None:
        """Put the fault into a copy of the product."""
        file = root / self.path
        text = file.read_text()
        assert text.count(self.right) == 1, f"{self.path} has another text: {self.name}"
        file.write_text(text.replace(self.right, self.wrong))
