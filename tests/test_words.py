"""Texts that users see are plain: no form of a sentence that needs a second reading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    ROOT / "kafka_spark_source",
    ROOT / "protocol" / "kafka_formats",
    ROOT / "protocol" / "kafka_protocol",
)

# Form -> how to say it.
FORBIDDEN = {
    r"(?:^|[.;:] )Of ": "'Keep one of a and b.', not 'Of a and b, keep one.'",
    r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b)": "is not a ...",
    r"\b(?:is|are|was|were) to [a-z]": "must, will, or do you want to",
    r"\b[Nn]obody\b": "name who, or use the passive",
    r"\bnone of\b|\bor none\b|\bif none\b|\bfor none\b": "'not one of', 'neither', 'no topic'",
    r"\b[Tt]hose (?:of|that|which|below|above|before|after|in|with)\b": "repeat the noun",
    r"\b(?:or|and|of|to|by|for|with|from|limit|cannot return) what\b": "name the thing",
}
# The beginnings of texts that keep such a form.
EXCEPTIONS = ("Option '{}.framing' is glue",)  # one of its values is called none


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module but its docstrings, with the line; {} for a value."""
    tree = ast.parse(path.read_text())
    # Docstrings, and the parts of f-strings.
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(map(id, node.values))
            yield node.lineno, "".join(map(_shown, node.values))
        elif isinstance(node, ast.Constant) and id(node) not in skipped:
            yield node.lineno, _shown(node)


def _shown(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else "{}"


TEXTS = [
    (f"{path.relative_to(ROOT)}:{line}", text)
    for package in PACKAGES
    for path in sorted(package.rglob("*.py"))
    for line, text in texts_of(path)
    if " " in text
]


def test_texts_are_found() -> None:
    assert len(TEXTS) > 1_000
    for each in EXCEPTIONS:
        assert any(text.startswith(each) for _, text in TEXTS), f"no text begins with {each!r}"


@pytest.mark.parametrize("form", FORBIDDEN)
def test_no_text_has_a_form_that_is_hard_to_read(form: str) -> None:
    found = [
        f"{place}: {text[:200]}"
        for place, text in TEXTS
        if re.search(form, text) and not text.startswith(EXCEPTIONS)
    ]
    assert found == [], FORBIDDEN[form]


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
    ],
)
def test_each_form_is_noticed(text: str) -> None:
    assert [form for form in FORBIDDEN if re.search(form, text)] != []


@pytest.mark.parametrize("text", ["there is no topic", "they are no longer there", "is not a b"])
def test_plain_texts_pass(text: str) -> None:
    assert [form for form in FORBIDDEN if re.search(form, text)] == []
