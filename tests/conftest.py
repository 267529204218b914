"""What every test may use: a Spark session, Hypothesis profiles, versions in pytest's header.

And what holds for each: none shows a secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import metadata

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from tests.secret_check import SecretCheck
from tests.spark_session import run_session

# On a loaded machine time says nothing, and the first example imports numpy and pyarrow.
settings.register_profile(
    "ci", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("all", settings.get_profile("ci"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_SHOWN = ("pyspark", "pyarrow", "numpy", "crc32c", "lz4", "zstandard", "confluent-kafka")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SecretCheck())
    if metadata.version("pyspark").startswith(("4.0.", "4.1.")):
        # They leave the sockets open through which rows come from the JVM.
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


def pytest_report_header() -> str:
    return "versions: " + ", ".join(f"{name} {metadata.version(name)}" for name in _SHOWN)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session that knows of the format only what Spark finds by itself."""
    yield from run_session("pykafka tests")
