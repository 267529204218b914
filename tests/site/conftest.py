"""The built site behind a server on this machine, and a real browser that opens its pages."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SITE = Path(__file__).parents[2] / "build" / "site"
PHONE, DESK = (390, 844), (1280, 900)
_PROGRAMS = ("chromium", "chromedriver")
# No name of another host is looked up: a request to one fails here.
_ARGUMENTS = (
    *("headless=new", "no-sandbox", "disable-gpu", "disable-background-networking"),
    "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        """Print nothing: the browser reports what fails."""


class Visit(NamedTuple):
    """What a browser saw of a page."""

    problems: list[str]  # errors in the console, and requests that failed
    requested: list[str]  # the URLs
    links: list[str]  # the URLs that the page leads to
    ids: list[str]  # the anchors of the page
    width: int  # of the whole page on a phone, in pixels


class Browser:
    """Chromium without a window, and the address of the site."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver = driver
        self.address = address

    def open(self, page: str, *, size: tuple[int, int] = DESK, scheme: str = "light") -> None:
        """Open a page of the site in a window of this size, by a system with this scheme."""
        width, height = size
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
        wish = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wish})
        self.driver.get(f"{self.address}/{page}")

    def visit(self, page: str) -> Visit:
        """Open a page on a phone and report what happens."""
        self._events()
        self.open(page, size=PHONE)
        facts = self.driver.execute_script(
            "return [[...document.links].map(a => a.href),"
            " [...document.querySelectorAll('[id]')].map(e => e.id),"
            " document.scrollingElement.scrollWidth]"
        )
        console = [entry["message"] for entry in self.driver.get_log("browser")]
        events = self._events()
        failed = [
            f"{event['params'].get('errorText')}: {event['params']}"
            for event in events
            if event["method"] == "Network.loadingFailed"
        ]
        requested = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return Visit([*console, *failed], requested, *facts)

    def _events(self) -> list[dict[str, Any]]:
        log = self.driver.get_log("performance")
        return [json.loads(entry["message"])["message"] for entry in log]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs `make site-check`")
    if missing := [name for name in _PROGRAMS if shutil.which(name) is None]:
        pytest.skip(f"needs Debian's packages chromium and chromium-driver: no {missing[0]}")
    if not SITE.exists():
        pytest.skip("needs the built site: `make site`")
    options = webdriver.ChromeOptions()
    for argument in _ARGUMENTS:
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    with _served(SITE) as address:
        driver = webdriver.Chrome(options=options, service=service)
        try:
            yield Browser(driver, address)
        finally:
            driver.quit()


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="session")
def visits(browser: Browser) -> dict[str, Visit]:
    """A visit to each page, by the page's place in the site."""
    pages = sorted(page.relative_to(SITE).as_posix() for page in SITE.rglob("*.html"))
    return {page: browser.visit(page) for page in pages}
