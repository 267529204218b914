"""What every test may use: a Spark session, Hypothesis profiles, versions in pytest's header.

No test may show a secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import metadata

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from tests.class_archives import use_class_archives
from tests.secret_check import SecretCheck
from tests.spark_session import run_session

# Examples have no time limit: machines are loaded, and the first one imports numpy and pyarrow.
settings.register_profile(
    "usual",
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("thorough", settings.get_profile("usual"), max_examples=500)
# The same examples in each run, as in Hypothesis's own profile for CI: what fails is what changed.
# The other profiles look for new ones.
settings.register_profile("quick", settings.get_profile("usual"), max_examples=20, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))

# From this many tests with brokers on, making the archives of classes saves time.
_MANY_TESTS = 200
_SHOWN = ("pyspark", "pyarrow", "numpy", "crc32c", "lz4", "zstandard", "confluent-kafka")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SecretCheck())
    if metadata.version("pyspark").startswith(("4.0.", "4.1.")):
        # These releases leave sockets open over which the JVM sends rows.
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


def pytest_report_header() -> str:
    return "versions: " + ", ".join(f"{name} {metadata.version(name)}" for name in _SHOWN)


def pytest_collection_finish(session: pytest.Session) -> None:
    starts_java = [
        item
        for item in session.items
        if {"integration", "spark"} & {*item.keywords, *_fixtures(item)}
    ]
    if starts_java and not session.config.option.collectonly:
        use_class_archives(create=len(starts_java) >= _MANY_TESTS)


def _fixtures(item: pytest.Item) -> list[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else []


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A Spark session, in which nothing is registered: Spark itself finds the format."""
    yield from run_session("pykafka tests")
