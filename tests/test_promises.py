"""Each promise of a page is in the table of docs/reliability.md, with a test that exists."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from docs.promises import OTHERS, PROMISES, WITHOUT_PROMISES, WORDS, Promise, sentences

ROOT = Path(__file__).parents[1]
PAGES = sorted(each for each in (ROOT / "docs").glob("*.md") if each.name not in WITHOUT_PROMISES)


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: each.words[:40])
def test_a_promise_has_the_words_of_its_page_and_tests(promise: Promise) -> None:
    page = (ROOT / "docs" / promise.page).read_text()
    plain = promise.words.replace("**", "")
    assert plain in one_line(page).replace("**", "")
    for test in promise.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        if name:
            tree = ast.parse((ROOT / path).read_text())
            names = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
            assert name in names, test


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_promise_of_a_page_is_without_a_row(page: Path) -> None:
    listed = [each.words for each in PROMISES if each.page == page.name]
    known = [one_line(each).replace("**", "") for each in (*listed, *OTHERS.get(page.name, ()))]
    texts = [each.replace("**", "") for each in sentences(page.read_text())]
    promising = [each for each in texts if WORDS.search(each)]
    # A promise may be two sentences, or a part of one.
    assert [each for each in promising if not any(k in each or each in k for k in known)] == []
    others = [one_line(each).replace("**", "") for each in OTHERS.get(page.name, ())]
    assert [each for each in others if not any(each in text for text in promising)] == []
