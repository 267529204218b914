"""What a registry said is kept for a process: each test of formats begins without it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_formats.registry.cache import cache_of
from tests.formats.suite.topics import serving


@pytest.fixture(scope="session", autouse=True)
def _registry_of_topics() -> Iterator[None]:
    with serving():
        yield


@pytest.fixture(autouse=True)
def _no_cache() -> Iterator[None]:
    cache_of.cache_clear()
    yield
    cache_of.cache_clear()
