"""A secret in any output fails a session. The secret here is not this session's."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

CONFTEST = """
from tests.secret_check import SecretCheck

def pytest_configure(config):
    config.pluginmanager.register(SecretCheck({"open sesame"}))
"""
TEST = """
import logging, os

def test_it():
    secret = " ".join(["open", "sesame"])
    %s
"""
SHOWN = {
    "print": "print(secret)",
    "file descriptor": "os.write(2, secret.encode())",
    "log": "logging.getLogger('x').warning('as %s', secret)",
    "error": "raise ValueError(secret)",
}


def run(pytester: pytest.Pytester, statement: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TEST.replace("%s", statement, 1))
    return pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider")


@pytest.mark.parametrize("statement", SHOWN.values(), ids=SHOWN)
def test_a_shown_secret_fails_the_session(pytester: pytest.Pytester, statement: str) -> None:
    result = run(pytester, statement)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["SECRET SHOWN in *test_it*"])


def test_a_secret_that_is_only_used_passes(pytester: pytest.Pytester) -> None:
    assert run(pytester, "assert secret").ret == pytest.ExitCode.OK
