"""The statements of pages, in order: blocks of code, and what stands in backquotes in the text.

Words in backquotes that are no statement (names, types, texts of errors) are left out.
"""

from __future__ import annotations

import ast
import re
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
# Each page that users read.
PAGES: Final = tuple(
    path.relative_to(ROOT).as_posix()
    for path in (
        *(ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"),
        ROOT / "examples" / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    )
)

_PIECE: Final = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<block>.*?)^(?P=indent)```$"
    r"|(?<!`)(?P<fence>`{1,2})(?!`)(?P<span>.+?)(?<!`)(?P=fence)(?!`)",
    re.MULTILINE | re.DOTALL,
)
_PROGRAMS: Final = (
    *("pykafka", "make", "pip", "%pip", "python", "pytest", "protoc", "sail", "grep", "docker"),
    *("spark-submit", "spark-pipelines", "kafka-topics.sh", "keytool", "openssl", "aws", "gcloud"),
    *("cp", "echo", "export", "venv-pack"),
)
_SQL: Final = re.compile(
    r"(?:SELECT|INSERT|CREATE|ALTER|UPDATE|DELETE|DROP|MERGE|DESCRIBE|WITH|WHERE)\b"
)
_EXPRESSION: Final = re.compile(r"\[?\"?(?:CAST|CASE|substring|transform|row_number)\b.*[^.]")
# Of pykafka: a text that calls them has a whole statement.
_FUNCTIONS: Final = ("write_table", "read_topic", "apply_changes", "kafka_cluster_factory")
_TYPE: Final = re.compile(r"(?:decimal|timestamp)\([\d, ]+\)")
_SETTING: Final = re.compile(r"[A-Za-z][\w.-]*=\S+")
_FLAG: Final = re.compile(r"(?:--[a-z][\w-]+|-[A-Za-z])(?: \S+)*")


class Kind(Enum):
    """What a statement is."""

    PYTHON = "Python"
    CALL = "a call of Python whose object the text names, such as `.mode(...)`"
    SQL = "SQL"
    EXPRESSION = "an expression or a clause of SQL"
    COMMAND = "a command line"
    FLAG = "arguments of a command line"
    SETTING = "an option with its value"
    SHOWN = "something to look at: an output, a diagram, a patch, a file"


class Statement(NamedTuple):
    """One statement of a page.

    Attributes:
        page: From the root of the project.
        line: The number of its line, from 1.
        kind: What it is.
        text: As the page has it; of a statement within the text in one line.
        is_inline: Whether it stands within the text.
    """

    page: str
    line: int
    kind: Kind
    text: str
    is_inline: bool

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


@cache
def statements_of(page: str) -> tuple[Statement, ...]:
    """Those of a page, in its order."""
    return statements_in((ROOT / page).read_text(), page)


def statements_in(text: str, page: str) -> tuple[Statement, ...]:
    """Those of a page's text, in order."""
    found = []
    for piece in _PIECE.finditer(text):
        line = text.count("\n", 0, piece.start()) + 1
        if piece["span"] is None:
            block = re.sub(f"^{piece['indent']}", "", piece["block"], flags=re.MULTILINE)
            kind = kind_of_block(piece["language"], block)
            found += [
                Statement(page, line, kind, each, False) for each in _split(kind, block) if each
            ]
        else:
            span = " ".join(piece["span"].replace("\\|", "|").split())
            if inline := kind_of_span(span):
                found.append(Statement(page, line, inline, span, True))
    return tuple(found)


def kind_of_block(language: str, block: str) -> Kind:
    """What a block is; that of another language than Python and SQL begins with a program."""
    if language == "python":
        return Kind.PYTHON
    if language == "sql":
        return Kind.EXPRESSION if _EXPRESSION.match(block) else Kind.SQL
    lines = block.replace("\\\n", " ").splitlines()
    first = next((line for line in lines if not line.startswith("#")), "")
    if language in {"", "sh"} and _program_of(first.removeprefix("$ ")):
        return Kind.COMMAND
    return Kind.PYTHON if not language and _kind_of_python(block) else Kind.SHOWN


def kind_of_span(span: str) -> Kind | None:
    """What stands in backquotes in the text; None for words."""
    whole = "..." not in span
    if _TYPE.fullmatch(span):
        return None
    if _program_of(span) and " " in span:
        return Kind.COMMAND if whole and not span.startswith("pykafka is ") else None
    if _SQL.match(span):
        return _kind_of_sql(span) if whole else None
    by_form = {Kind.EXPRESSION: _EXPRESSION, Kind.FLAG: _FLAG}
    found = next((kind for kind, form in by_form.items() if whole and form.fullmatch(span)), None)
    is_setting = whole and _SETTING.fullmatch(span)
    return found or _kind_of_python(span) or (Kind.SETTING if is_setting else None)


def _kind_of_sql(span: str) -> Kind | None:
    if len(span.split()) < 3 or span.endswith((" SELECT", " TABLE")):
        return None
    return Kind.EXPRESSION if span.startswith("WHERE") else Kind.SQL


def _program_of(line: str) -> str | None:
    """The program of a command line, behind variables that are set for it."""
    words = re.sub(r"^(?:[A-Z_]+=[^$\s]\S* |PYTHONPATH=\$.*\) +)*", "", line).split(" ")
    first = words[0].rsplit("/", 1)[-1]
    return first if first in _PROGRAMS or line.startswith("benchmarks/") else None


def _kind_of_python(span: str) -> Kind | None:
    tree = _parsed(span.removeprefix(".")) or _parsed(f"{span}: pass")
    if tree is None or not any(isinstance(node, ast.Call) for node in ast.walk(tree)):
        return None
    value = tree.body[0].value if isinstance(tree.body[0], ast.Expr) else None
    if span.startswith("."):
        return Kind.CALL
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        if value.func.id in _FUNCTIONS:
            return Kind.PYTHON
        return Kind.CALL if value.args or value.keywords else None
    is_setting = isinstance(tree.body[0], ast.Assign)
    return Kind.SETTING if is_setting and "\n" not in span else Kind.PYTHON


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except SyntaxError:
        return None


def _split(kind: Kind, block: str) -> list[str]:
    """The statements of a block: SQL has them between `;`, command lines may go on in the next."""
    if kind is Kind.SQL:
        return [each.strip() for each in block.split(";")]
    if kind is Kind.COMMAND:
        return _command_lines(block)
    return [block]


def _command_lines(block: str) -> list[str]:
    lines = block.replace("\\\n", " ").splitlines()
    if any(line.startswith("$ ") for line in lines):  # the others are outputs
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    joined: list[str] = []
    for line in lines:
        if joined and joined[-1].count("'") % 2:
            joined[-1] += f"\n{line}"
        elif not line.startswith("#"):
            joined.append(line)
    return joined
