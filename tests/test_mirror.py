"""Every module has tests of its name, or a row that says which file tests it."""

from __future__ import annotations

import pytest

from tests.mirror import (
    ROOT,
    TESTED_AS_A_WHOLE,
    TESTED_BY,
    known_tests,
    mirrored_tests,
    modules,
)

MODULES = [*modules()]


def test_every_module_has_tests() -> None:
    assert [module for module in MODULES if not known_tests(module)] == []


def test_each_row_is_needed() -> None:
    needed = {module for module in MODULES if not mirrored_tests(module)}
    assert [module for module in TESTED_BY if module not in needed] == []
    packages = {module.rpartition("/")[0] for module in needed - TESTED_BY.keys()}
    assert packages == TESTED_AS_A_WHOLE.keys()


def test_the_files_in_the_table_exist() -> None:
    files = {*TESTED_BY.values(), *TESTED_AS_A_WHOLE.values()}
    assert [file for file in sorted(files) if not (ROOT / file).exists()] == []


@pytest.mark.parametrize(
    ("module", "tests"),
    [
        (
            "kafka_spark_source/planning/batch.py",
            ["tests/spark/planning/test_batch.py", "tests/spark/planning/test_batch_scale.py"],
        ),
        ("protocol/kafka_protocol/errors.py", ["tests/protocol/test_errors.py"]),
        ("kafka_spark_source/cli/topics.py", ["tests/spark/cli/test_operators.py"]),
    ],
)
def test_the_tests_of_a_module(module: str, tests: list[str]) -> None:
    assert known_tests(module) == tests
