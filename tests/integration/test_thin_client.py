"""Spark Connect from a machine without Java and without the connector: the server has both."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic
from tests.jobs import thin_client
from tests.own_process import run_command
from tests.standalone import daemon, wait_for_text
from tests.venvs import new_venv
from tests.witness import produce, values_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="ends the server's processes by /proc"),
    pytest.mark.timeout(600),
]

# The newest one there is; the server may be newer.
CLIENT = ("pyspark-client==4.2.0", "pandas>=2.2,<3")
RECORDS = 1_000


@pytest.fixture(scope="module")
def thin_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A venv with the client only."""
    return new_venv(tmp_path_factory.mktemp("venv") / "thin", *CLIENT)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Connect server with two cores; yields its URL."""
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.host": "127.0.0.1",
    }
    arguments = ["--master", "local[2]"]
    for name, value in settings.items():
        arguments += ["--conf", f"{name}={value}"]
    arguments += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    folder = tmp_path_factory.mktemp("connect")
    with daemon(folder, "spark-submit", *arguments, "spark-internal") as printed:
        port = wait_for_text(printed, r"Connect server started at: \S+:(\d+)")
        yield f"sc://127.0.0.1:{port}"


def test_a_client_without_java_reads_writes_and_streams(
    server: str,
    thin_python: Path,
    kafka_cluster: KafkaCluster,
    make_topic: MakeTopic,
    tmp_path: Path,
) -> None:
    source, target, copy = make_topic(), make_topic(), make_topic()
    servers = kafka_cluster.bootstrap_servers
    produce(servers, source, map(str, range(RECORDS)))
    arguments = [server, servers, source, target, copy, str(tmp_path / "checkpoint")]
    nothing = {"PATH": "", "JAVA_HOME": "", "PYTHONPATH": "", "SPARK_HOME": ""}
    command = [str(thin_python), str(thin_client.__file__), *arguments]
    printed = json.loads(run_command(tmp_path, command, **nothing).splitlines()[-1])
    assert printed == {"rows": RECORDS, "found": []}
    for topic in (target, copy):
        assert values_of(servers, topic, 0) == [*map(str, range(RECORDS))]
