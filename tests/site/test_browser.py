"""Each page of the built site in a real browser: `make site-check`.

Links to other hosts are not followed.
"""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest

from tests.site.conftest import PHONE, SITE, Browser, Visit

pytestmark = pytest.mark.slow


def test_no_page_has_an_error(visits: dict[str, Visit]) -> None:
    assert len(visits) > 30
    assert {page: visit.problems for page, visit in visits.items() if visit.problems} == {}


def test_no_page_asks_another_host(browser: Browser, visits: dict[str, Visit]) -> None:
    strange = {
        page: [url for url in visit.requested if not url.startswith((browser.address, "data:"))]
        for page, visit in visits.items()
    }
    assert {page: urls for page, urls in strange.items() if urls} == {}


def test_no_link_is_dead(browser: Browser, visits: dict[str, Visit]) -> None:
    dead = [
        f"{page}: {link}"
        for page, visit in visits.items()
        for link in visit.links
        if link.startswith(f"{browser.address}/") and not _leads_somewhere(link, visits)
    ]
    assert dead == []


def _leads_somewhere(link: str, visits: dict[str, Visit]) -> bool:
    place = unquote(urlsplit(link).path).lstrip("/") or "index.html"
    anchor = unquote(urlsplit(link).fragment)
    if not anchor:
        return (SITE / place).exists()
    return place in visits and anchor in visits[place].ids


def test_no_page_is_wider_than_a_phone(visits: dict[str, Visit]) -> None:
    assert {page: visit.width for page, visit in visits.items() if visit.width > 390} == {}


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_light_and_dark(browser: Browser, scheme: str, is_dark: bool) -> None:
    browser.open("index.html", scheme=scheme)
    color = browser.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in color.strip("rgb()").split(",")[:3]) / 3
    assert (brightness < 128) is is_dark


def search(browser: Browser, word: str) -> list[str]:
    """The addresses that the site's search finds, best first."""
    support = pytest.importorskip("selenium.webdriver.support.ui")
    browser.open("index.html")
    box = browser.driver.find_element("css selector", "input.md-search__input")
    browser.driver.execute_script("arguments[0].focus()", box)
    box.send_keys(word)

    def found(driver: object) -> list[str]:
        results = browser.driver.find_elements("css selector", "a.md-search-result__link")
        return [result.get_attribute("href") for result in results]

    links: list[str] = support.WebDriverWait(browser.driver, 30).until(found)
    return links


def test_search_finds_a_page(browser: Browser) -> None:
    links = search(browser, "commitLogRetention")
    assert any("/options.html" in link for link in links)


@pytest.mark.parametrize("word", ["startingOffsets", "topic", "security.protocol"])
def test_search_finds_the_reference_first(browser: Browser, word: str) -> None:
    first, *_ = search(browser, word)
    assert "/options.html" in first or "/cli.html" in first


def test_a_phone_shows_the_name_of_a_column_before_each_value(browser: Browser) -> None:
    script = (
        "const cell = document.querySelector('td[data-label=default]');"
        "return getComputedStyle(cell, '::before').content"
    )
    browser.open("options.html", size=PHONE)
    assert browser.driver.execute_script(script) == '"default: "'
    browser.open("options.html")
    assert browser.driver.execute_script(script) == "none"
