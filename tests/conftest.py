"""What every test may use: a Spark session, Hypothesis profiles, versions in pytest's header.

No test may show a secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from kafka_formats.registry.cache import cache_of
from kafka_spark_source.testing.plugin import ClusterFactory
from tests import poison
from tests.class_archives import use_class_archives
from tests.own_process import let_children_heed_signals
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
settings.register_profile("thorough", settings.get_profile("usual"), max_examples=100)
# The same examples in each run, as in Hypothesis's own profile for CI: what fails is what changed.
# The other profiles look for new ones.
settings.register_profile("quick", settings.get_profile("usual"), max_examples=20, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))

# For the processes that tests start; pytest itself has it from `make`.
os.environ |= poison.ENVIRONMENT

# From this many tests with brokers on, making the archives of classes saves time.
_MANY_TESTS = 200
# They run long through code that its own tests cover, and tracing doubles their time.
_NOT_COVERED = tuple(f"tests/{each}/" for each in ("endurance", "fakes", "fuzz", "simulation"))
_SHOWN = ("pyspark", "pyarrow", "numpy", "crc32c", "lz4", "zstandard", "confluent-kafka")


def pytest_configure(config: pytest.Config) -> None:
    let_children_heed_signals()
    config.pluginmanager.register(SecretCheck())
    if metadata.version("pyspark").startswith(("4.0.", "4.1.")):
        # These releases leave sockets open over which the JVM sends rows.
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


def pytest_report_header() -> str:
    return "versions: " + ", ".join(f"{name} {metadata.version(name)}" for name in _SHOWN)


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.nodeid.startswith(_NOT_COVERED):
        item.add_marker(pytest.mark.no_cover)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run what is traced first: a cached function runs once, and would not be seen later."""
    if config.pluginmanager.hasplugin("_cov"):
        items.sort(key=lambda item: "no_cover" in item.keywords)


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


@pytest.fixture(scope="session")
def kafka_cluster_factory() -> Iterator[ClusterFactory]:
    """As the plugin's, but brokers make no topics by themselves."""
    with ExitStack() as clusters:
        yield ClusterFactory(clusters)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Credentials of AWS that are good for nothing, and no others of this machine."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-no-use")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield
    cache_of.cache_clear()
