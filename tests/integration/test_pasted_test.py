"""The test on the page docs/testing.md, pasted into a file and run as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typing_extensions import Self

from kafka_protocol.arrow_io.topic import topics
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.integration.example_processes import ROOT
from tests.own_process import run_command
from tests.pages.tour import Tour
from tests.venvs import new_venv

pytestmark = [pytest.mark.integration, pytest.mark.spark]


class _Counted(KafkaCluster):
    """Keeps how many brokers it had: the block on the page ends, and so do they."""

    counted = 0

    def __enter__(self) -> Self:
        super().__enter__()
        self.counted = len(self.brokers)
        return self


@pytest.mark.slow
@pytest.mark.newest
@pytest.mark.timeout(900)
def test_in_an_empty_environment(
    kafka_cluster: KafkaCluster,
    kafka_cluster_factory: ClusterFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    python = new_venv(tmp_path / "venv", f"{ROOT}[spark,cli]", "pytest")
    command = [str(python), "-m", "pytest", "-q", "test_orders.py"]
    names = {"KafkaCluster": _Counted, "kafka_cluster_factory": kafka_cluster_factory}
    names["kafka_cluster"] = kafka_cluster
    with Tour("docs/testing.md", names) as tour:
        (tmp_path / "test_orders.py").write_text(tour.take("def test_"))
        assert "1 passed" in run_command(tmp_path, command)
        tour.run_all()
    assert topics({"bootstrap.servers": kafka_cluster.bootstrap_servers})["orders"] == 6
    assert len(tour.results["kafka_cluster_factory(nodes=3)"].brokers) == 3
    assert tour.names["cluster"].counted == 3
