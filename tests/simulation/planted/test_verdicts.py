"""Which failures of tests find a planted fault: wrong values and wrong errors, never crashes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_formats.errors import SchemaError
from tests.own_process import ROOT
from tests.simulation.planted.hunt_tests import FoundByTest, found_in
from tests.simulation.planted.verdicts import FIRST, is_wrong, leaves_of, verdict_of

TESTS = """
import pytest
def test_crashes(): None.values
def test_is_wrong(): assert 1 == 2, "first\\nsecond"
def test_is_not_run(): pytest.fail("this")
"""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (AssertionError(), True),
        (SchemaError("it is one of another format"), True),
        (pytest.fail.Exception("DID NOT RAISE ValueError"), True),
        (pytest.fail.Exception("Timeout (>300.0s) from pytest-timeout."), False),
        (RuntimeError("[USER_RAISED_EXCEPTION] the change of t-0 at offset 4"), True),
        (AttributeError("no attribute"), False),
        (TypeError("two arguments"), False),
        (ImportError("no module"), False),
        (ValueError("of Python"), False),
    ],
)
def test_a_crash_finds_nothing(error: BaseException, expected: bool) -> None:
    assert is_wrong(error) is expected


def test_a_group_has_several_errors() -> None:
    class Group(Exception):
        exceptions = (TypeError("a"), AssertionError("b"))

    assert [str(each) for each in leaves_of(Group())] == ["a", "b"]
    assert [*map(is_wrong, leaves_of(Group()))] == [False, True]


def lines_of(folder: Path, text: str) -> list[str]:
    (folder / "test_it.py").write_text(text)
    module = "tests.simulation.planted.verdicts"
    command = [sys.executable, "-m", module, f"--rootdir={folder}", "-m", "", str(folder)]
    environment = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    return done.stdout.splitlines()


def test_a_run_ends_at_the_first_wrong_value(tmp_path: Path) -> None:
    found = found_in(lines_of(tmp_path, TESTS), "", 1.0)
    expected = FoundByTest("test_it.py::test_is_wrong", 1, 1.0, "AssertionError: first")
    assert found == expected


def test_a_file_that_cannot_be_collected_finds_nothing(tmp_path: Path) -> None:
    found = found_in(lines_of(tmp_path, "import nothing_of_this_name\n"), "", 1.0)
    assert found == FoundByTest(None, 1, 1.0, "not found, crashes: 1")


def test_other_lines_and_an_early_end() -> None:
    assert verdict_of("3 passed") is None
    crash = FIRST + json.dumps(["a::b", True, "TypeError: x"])
    found = found_in([crash], "the tests take more than 5 s", 5.0)
    assert found == FoundByTest(None, 1, 5.0, "the tests take more than 5 s")
