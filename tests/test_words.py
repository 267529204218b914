"""Texts, docstrings and comments are plain: no form of a sentence that needs a second reading."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    ROOT / "kafka_spark_source",
    ROOT / "protocol" / "kafka_formats",
    ROOT / "protocol" / "kafka_protocol",
)

OF = r"(?:^|[.;:] )Of "
IS_NO = r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b)"
WHAT = (
    r"\b(?:or|and|of|to|by|for|with|from|about|on|in|at|after|before|than|as|but|into|beside"
    r"|limit|cannot return) what\b"
)
TOLD = r"\b(?:told|tells?|telling)\b"
A_BEGIN = r"\b(?:the|an?|their|its|each) begin\b"
# A lag is so many records or seconds behind.
BEHIND = r'(?<!records )(?<!\} )\bbehind\b(?!")|\bbehind the\b'
AS_IT_CAME = r"\bas (?:it|they) c[ao]mes?\b"
# Form -> how to say it.
FORBIDDEN = {
    OF: "'Keep one of a and b.', not 'Of a and b, keep one.'",
    IS_NO: "is not a ...",
    r"\b(?:is|are|was|were) to [a-z]": "must, will, or do you want to",
    r"\b[Nn]obody\b": "name who, or use the passive",
    r"\bnone of\b|\bor none\b|\bif none\b|\bfor none\b": "'not one of', 'neither', 'no topic'",
    r"\b[Tt]hose (?:of|that|which|below|above|before|after|in|with)\b": "repeat the noun",
    r"\b(?:is|are|was|were) (?:that|those) of\b": "'has the x of', 'equals the x of'",
    r"\bbut for\b": "'except', 'only'",
    r"\bheld against\b": "'compared with'",
    WHAT: "name the thing",
    TOLD: "says, has, shows, names",
    A_BEGIN: "start, beginning",
    BEHIND: "after; a lag is so many records or so long",
    AS_IT_CAME: "unchanged",
}
FORBIDDEN_IN_PAGES = tuple(
    form for form in FORBIDDEN if form not in (WHAT, TOLD, A_BEGIN, BEHIND, AS_IT_CAME)
)
FORBIDDEN_NAMES = {"found": "a set of offsets is `offsets`, a match of a pattern is `match`"}

# The beginnings of texts that keep such a form.
EXCEPTIONS = ("Option '{}.framing' is {}, which is for reads",)  # one of its values is called none


def texts_of(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """The strings of a module but its docstrings, with the line; {} for a value."""
    # Docstrings, and the parts of f-strings.
    skipped = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            skipped.update(map(id, node.values))
            yield node.lineno, "".join(map(_shown, node.values))
        elif isinstance(node, ast.Constant) and id(node) not in skipped:
            yield node.lineno, _shown(node)


def names_of(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """The names of variables, arguments and attributes, with the line."""
    for node in nodes:
        match node:
            case ast.Name(id=name, lineno=line) | ast.arg(arg=name, lineno=line):
                yield line, name
            case ast.Attribute(attr=name, lineno=line):
                yield line, name


def prose_of(module: str, nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module, with the line; whole, in one line each."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, " ".join(str(node.value.value).split())
    comments = {
        token.start[0]: (token.string.lstrip("#: "), token.line.lstrip().startswith("#"))
        for token in tokenize.generate_tokens(io.StringIO(module).readline)
        if token.type == tokenize.COMMENT
    }
    for line, (text, is_alone) in comments.items():
        if is_alone and comments.get(line - 1, ("", False))[1]:
            continue
        lines = [text]
        while is_alone and comments.get(line + len(lines), ("", False))[1]:
            lines.append(comments[line + len(lines)][0])
        yield line, " ".join(lines)


def prose_of_page(text: str) -> Iterator[str]:
    """The paragraphs, items and cells of a page, in one line each; code is left out."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`]+`", "``", text)
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\|", text):
        yield re.sub(r"^(?:[-*#]+|\d+\.) ", "", " ".join(part.split()))


def _shown(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else "{}"


class Written(NamedTuple):
    """Where something stands, and its words."""

    place: str
    text: str


class Words(NamedTuple):
    """The words of the packages."""

    texts: list[Written]  # for users
    prose: list[Written]  # for readers of the code
    names: list[Written]  # of variables, arguments and attributes


@cache
def words() -> Words:
    """All words of the packages."""
    texts, prose, names = [], [], []
    for path in (path for package in PACKAGES for path in sorted(package.rglob("*.py"))):
        module = path.read_text("utf-8")
        nodes = [*ast.walk(ast.parse(module))]
        place = path.relative_to(ROOT)
        texts += [Written(f"{place}:{line}", text) for line, text in texts_of(nodes) if " " in text]
        prose += [Written(f"{place}:{line}", text) for line, text in prose_of(module, nodes)]
        names += [Written(f"{place}:{line}", name) for line, name in names_of(nodes)]
    return Words(texts, prose, names)


PAGES = [
    page
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    for page in [path.relative_to(ROOT)]
    if page.as_posix() != "CHANGELOG.md"
]


def test_texts_are_found() -> None:
    texts, prose, names = words()
    assert len(texts) > 1_000
    assert len(prose) > 1_000
    assert len(names) > 10_000
    for each in EXCEPTIONS:
        assert any(text.startswith(each) for _, text in texts), f"no text begins with {each!r}"


@pytest.mark.parametrize("form", FORBIDDEN)
def test_no_text_has_a_form_that_is_hard_to_read(form: str) -> None:
    refused = [
        f"{place}: {text[:200]}"
        for place, text in words().texts
        if re.search(form, text) and not text.startswith(EXCEPTIONS)
    ]
    assert refused == [], FORBIDDEN[form]


@pytest.mark.parametrize("form", FORBIDDEN)
def test_no_docstring_and_no_comment_has_such_a_form(form: str) -> None:
    prose = words().prose
    refused = [f"{place}: {text[:200]}" for place, text in prose if re.search(form, text)]
    assert refused == [], FORBIDDEN[form]


@pytest.mark.parametrize("name", FORBIDDEN_NAMES)
def test_no_name_says_nothing(name: str) -> None:
    refused = [place for place, each in words().names if each == name]
    assert refused == [], FORBIDDEN_NAMES[name]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_no_page_has_such_a_form(page: Path) -> None:
    refused = [
        f"{form}: {text[:200]}"
        for text in prose_of_page((ROOT / page).read_text())
        for form in FORBIDDEN_IN_PAGES
        if re.search(form, text)
    ]
    assert refused == []


def test_pages_are_read_in_paragraphs_items_and_cells() -> None:
    page = "# Of\n\nAll `is no` a\nb.\n- of c\n1. of d\n\n| e | f |\n\n```\nOf g\n```\n<!-- Of -->"
    texts = [each for each in prose_of_page(page) if each]
    assert texts == ["Of", "All `` a b.", "of c", "of d", "e", "f"]


def test_docstrings_and_comments_are_read_whole() -> None:
    module = (
        '"""The limits.\n\nArgs:\n    size: Of all\n        rows.\n"""\n'
        "# A short one is\n# no reason.\nA = 1  # of a process\nB = '# no comment'\n"
    )
    assert [*prose_of(module, [*ast.walk(ast.parse(module))])] == [
        (1, "The limits. Args: size: Of all rows."),
        (7, "A short one is no reason."),
        (9, "of a process"),
    ]


def test_variables_arguments_and_attributes_have_names() -> None:
    module = "def f(a: int) -> None:\n    b = a.c\n"
    names = sorted(names_of([*ast.walk(ast.parse(module))]))
    assert names == [(1, "a"), (1, "int"), (2, "a"), (2, "b"), (2, "c")]


@pytest.mark.parametrize(
    "text",
    [
        "Set one. Of a and b, keep one.",
        "'x' is no position",
        "the topic is to keep decisions",
        "nothing was changed: nobody said yes",
        "a login module that is none of a, b",
        "those below 1.2 are never used",
        "a folder, or what PyArrow opens",
        "types are those of Spark",
        "the same but for nulls",
        "held against Java by tests",
        "more than what brokers have",
        "brokers do not tell it",
        "the begin of a record",
        "a broker is behind",
        "records behind the range",
        "shown as it came",
    ],
)
def test_each_form_is_noticed(text: str) -> None:
    assert [form for form in FORBIDDEN if re.search(form, text)] != []


@pytest.mark.parametrize(
    "text",
    [
        "there is no topic",
        "they are no longer there",
        "is not a b",
        "{} records behind",
        "the query is {} behind.",
        '"behind" is an age',
    ],
)
def test_plain_texts_pass(text: str) -> None:
    assert [form for form in FORBIDDEN if re.search(form, text)] == []
