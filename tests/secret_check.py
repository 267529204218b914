"""No secret in any output: a session fails if one of its passwords was printed or logged.

Tests use PASSWORD, or register their own with `guard`. This module searches what pytest captures:
standard output and error (also of Spark's JVM), log records and tracebacks.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Final

import pytest

# Random: a constant in the code would appear in tracebacks.
PASSWORD: Final = f"secret-{secrets.token_hex(8)}"

_guarded: Final = {PASSWORD}


def guard(password: str | None) -> None:
    """Search for this password, too, from now on."""
    if password:
        _guarded.add(password)


class SecretCheck:
    """The pytest hooks that search reports for the guarded secrets."""

    def __init__(self, guarded: Collection[str] = _guarded) -> None:
        self._guarded = guarded
        self._leaks: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        parts = [("the traceback", report.longreprtext), *report.sections]
        for title, text in parts:
            if any(secret in text for secret in self._guarded):
                self._leaks.append(f"{title} of {report.nodeid} ({report.when})")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._leaks:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for leak in self._leaks:
            terminalreporter.write_line(f"SECRET SHOWN in {leak}", red=True)
