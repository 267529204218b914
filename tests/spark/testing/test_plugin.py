"""The pytest plugin: few imports, and one cluster of each kind."""

import subprocess
import sys
from contextlib import ExitStack

import pytest

from kafka_spark_source import testing
from kafka_spark_source.testing.plugin import ClusterFactory

HEAVY = ("pyspark", "pyarrow", "numpy", "rich", "kafka_protocol", "kafka_spark_source.testing.")


class FakeCluster:
    """Counts how often it is started and stopped."""

    log: list[str]

    def __init__(self, version: str, nodes: int, security: str, *, config: object) -> None:
        self.name = f"{version}/{nodes}/{security}/{config}"

    def __enter__(self) -> "FakeCluster":
        self.log.append(f"start {self.name}")
        return self

    def __exit__(self, *_: object) -> None:
        self.log.append(f"stop {self.name}")


def test_plugin_imports_nothing_else_of_the_package() -> None:
    code = "import kafka_spark_source.testing.plugin, sys; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = [name for name in done.stdout.splitlines() if name.startswith(HEAVY)]
    assert ours == ["kafka_spark_source.testing.plugin"]


def test_each_kind_of_cluster_is_started_once(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeCluster.log = []
    # Real ones take seconds.
    monkeypatch.setattr(testing, "KafkaCluster", FakeCluster, raising=False)
    with ExitStack() as clusters:
        factory = ClusterFactory(clusters)
        plain = factory()
        assert factory("4.4.0") is plain
        assert factory(config={}) is plain
        assert factory(config={"a": "b"}) is not plain
        assert FakeCluster.log == [
            "start 4.4.0/1/PLAINTEXT/{}",
            "start 4.4.0/1/PLAINTEXT/{'a': 'b'}",
        ]
    assert len(FakeCluster.log) == 4


def test_defaults_of_a_factory_give_way_to_what_a_test_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    FakeCluster.log = []
    monkeypatch.setattr(testing, "KafkaCluster", FakeCluster, raising=False)
    with ExitStack() as clusters:
        factory = ClusterFactory(clusters, {"a": "1", "b": "2"})
        factory(config={"b": "3"})
    assert FakeCluster.log[0] == "start 4.4.0/1/PLAINTEXT/{'a': '1', 'b': '3'}"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = testing.nonsense
