"""A session on a Sail server in this process, for `make test-sail`; no other venv has Sail.

The fixtures of `tests/integration` use it, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from pyspark.sql import SparkSession

from tests.sail_session import run_sail_session

if find_spec("pysail") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session of the thin client, in which nothing is registered: Sail finds the format."""
    yield from run_sail_session()
