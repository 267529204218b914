"""What modules keep between calls is that of simulated processes during a test, never after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulation.processes import memory


@pytest.fixture(autouse=True)
def _modules_have_what_they_had() -> Iterator[None]:
    before = memory()
    yield
    assert [*map(id, memory())] == [*map(id, before)], "a test did not close its processes"
