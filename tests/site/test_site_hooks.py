"""What the builder does with each page: names of columns for phones, weights for the search."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from docs import make_site
from docs.site_hooks import boost_of, on_page_content, on_page_markdown


def test_each_cell_has_the_name_of_its_column() -> None:
    table = (
        "<table><thead><tr><th>option</th><th>for <em>what</em></th><th></th></tr></thead>"
        '<tbody><tr><td><code>a</code></td><td style="x">b &amp; c</td><td>d</td></tr></tbody>'
        "</table>"
    )
    assert on_page_content(f"<td>{table}") == "<td>" + table.replace(
        "<td><code>", '<td data-label="option"><code>'
    ).replace('<td style="x">', '<td data-label="for what" style="x">').replace(
        "<td>d", '<td data-label="">d'
    )


def test_names_with_quotes_are_escaped() -> None:
    table = '<table><tr><th>a &quot;b&quot; "c"</th></tr><tr><td>d</td></tr></table>'
    assert '<td data-label="a &quot;b&quot; &quot;c&quot;">d' in on_page_content(table)


def test_the_search_finds_the_reference_before_everything_else() -> None:
    page = SimpleNamespace(meta={}, file=SimpleNamespace(src_uri="options.md"))
    assert on_page_markdown("text", page=page) == "text"
    assert page.meta == {"search": {"boost": boost_of("options.md")}}
    assert boost_of("options.md") > boost_of("reading.md") > boost_of("design.md")
    assert boost_of("testing.md") < boost_of("reading.md")


@pytest.mark.parametrize("page", ["changelog.md", "files/tests/index.md"])
def test_what_nobody_looks_for_is_found_last(page: str) -> None:
    pages = [path.relative_to(make_site.DOCS).as_posix() for path in make_site.DOCS.rglob("*.md")]
    assert boost_of(page) < min(map(boost_of, pages))
