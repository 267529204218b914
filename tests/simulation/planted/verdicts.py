"""Runs tests until the first one that shows a wrong value or a wrong error.

python -m tests.simulation.planted.verdicts FILES    # in the copy of the product
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

FIRST: Final = "hunted: "
"""How the lines begin that a run prints for each test that fails."""
# Spark's name for the errors of `raise_error`, which the product's SQL has.
_RAISED: Final = "[USER_RAISED_EXCEPTION]"
_PRODUCT: Final = ("kafka_protocol.", "kafka_formats.", "kafka_spark_source.")


class Verdict(NamedTuple):
    """A test that fails.

    Attributes:
        test: Its name in pytest.
        crashed: Whether it only shows that the product crashes, or takes too long.
        text: The first line of its error.
    """

    test: str
    crashed: bool
    text: str


class Verdicts:
    """Prints a line for each test that fails."""

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]
    ) -> None:
        error = call.excinfo.value if call.excinfo else None
        if error is None:
            return
        crashed = not isinstance(node, pytest.Item) or not any(map(is_wrong, leaves_of(error)))
        text = next(iter(str(error).splitlines()), "")
        verdict = Verdict(node.nodeid, crashed, f"{type(error).__name__}: {text}")
        print(f"\n{FIRST}{json.dumps(verdict)}", flush=True)
        if not crashed:
            pytest.exit("found", returncode=1)


def leaves_of(error: BaseException) -> Iterator[BaseException]:
    """An error, or those of a group: Hypothesis has one for several faults."""
    inner = getattr(error, "exceptions", None)
    if inner is None:
        yield error
    for each in inner or ():
        yield from leaves_of(each)


def is_wrong(error: BaseException) -> bool:
    """Whether an error tells of a wrong value, or is one of the product for what it has to take.

    AttributeError, TypeError and the like are crashes, whoever notices them.
    """
    if isinstance(error, pytest.fail.Exception):
        return not str(error).startswith("Timeout")
    if isinstance(error, AssertionError) or _RAISED in str(error):
        return True
    return any(f"{each.__module__}.".startswith(_PRODUCT) for each in type(error).__mro__)


def verdict_of(line: str) -> Verdict | None:
    """The verdict in a line of a run; None for other lines."""
    return Verdict(*json.loads(line.removeprefix(FIRST))) if line.startswith(FIRST) else None


# In the order of the files, so that each hunt is found by the same test.
_OPTIONS: Final = ("-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-m", "not slow")

if __name__ == "__main__":
    sys.exit(pytest.main([*_OPTIONS, *sys.argv[1:]], plugins=[Verdicts()]))
