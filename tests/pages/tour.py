"""A tour through a page: its Python and SQL, statement by statement, in the order of the page.

A test that runs a page takes all of its statements. What it does not take, and what is not in the
table `not_run`, is an error at the end of the tour.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final

from typing_extensions import Self

from tests.pages.not_run import row_for
from tests.pages.statements import Kind, Statement, statements_of

RUN: Final = (Kind.PYTHON, Kind.SQL)


def runs_on(page: str) -> list[Statement]:
    """The statements of a page that a test has to run, in order."""
    return [each for each in statements_of(page) if each.kind in RUN and row_for(each) is None]


class Tour:
    """Runs the statements of a page in one namespace.

    Args:
        page: From the root of the project.
        names: What a reader of the page has; statements add to it. A block that begins with a dot
            continues `reader`, and its read is then `df`.
        replaced: A name on the page -> what it is here, such as an address or a folder.

    Attributes:
        results: What statements returned, by their text on the page: the rows of SQL, the value of
            an expression in the text.
    """

    def __init__(
        self, page: str, names: Mapping[str, Any] = {}, replaced: Mapping[str, str] = {}
    ) -> None:
        self.page = page
        self.names = dict(names)
        self.results: dict[str, Any] = {}
        self._replaced = replaced
        self._left = deque(runs_on(page))
        self._pages_text = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            assert not self._left, f"not run: {', '.join(map(str, self._left))}"

    @property
    def next_text(self) -> str:
        """The next statement as the page has it; empty at the end."""
        return self._left[0].text if self._left else ""

    def take(self, part: str = "") -> str:
        """The text of the next statement, for a test that runs it in its own way.

        Args:
            part: What the statement must hold.
        """
        statement = self._left.popleft()
        assert part in statement.text, f"{statement} is before the statement with {part}"
        self._pages_text = text = statement.text
        for old, new in self._replaced.items():
            text = text.replace(old, new)
        return text

    def run(self, part: str = "") -> None:
        """Run the next statement, which must hold `part`."""
        kind = self._left[0].kind
        text = self.take(part)
        if kind is Kind.SQL:
            self.results[self._pages_text] = self.names["spark"].sql(text).collect()
        elif (expression := _expression(text)) is not None:
            self.results[self._pages_text] = eval(expression, self.names)
        else:
            exec(_whole(text), self.names)

    def run_to(self, part: str) -> None:
        """Run the statements before the first one that holds `part`."""
        while part not in self.next_text:
            assert self._left, f"no statement holds {part}"
            self.run()

    def run_all(self) -> None:
        """Run the statements that are left."""
        while self._left:
            self.run()


def _expression(text: str) -> str | None:
    """The text, if it is one expression."""
    try:
        ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return None
    return text.strip()


def _whole(text: str) -> str:
    if text.startswith("."):
        return f"df = (reader{text}.load())"
    # The head of a `with` in a text has no block.
    return f"{text}: pass" if text.startswith("with ") and "\n" not in text else text
