"""The command `pykafka registry`, with real registries."""

import signal
import ssl
import urllib.request
from pathlib import Path

import pytest

from kafka_spark_source.testing.folders import runtime_folder
from kafka_spark_source.testing.state import running
from kafka_spark_source.testing.waiting import Deadline
from tests.spark.cli.processes import Pykafka, free_port, in_the_foreground

pytestmark = pytest.mark.integration


def test_start_status_stop(pykafka: Pykafka) -> None:
    started = pykafka("registry", "start")
    assert started.returncode == 0, started.stderr
    (record,) = running()
    for fact in ("registry-1", "2.6.13.Final", record.address, record.folder):
        assert fact in started.stdout
    assert f'.option("schema.registry.url", "{record.address}")' in started.stdout
    assert "starting the schema registry ..." in started.stderr
    with urllib.request.urlopen(f"{record.address}/subjects") as response:
        assert response.read() == b"[]"

    status = pykafka("registry", "status")
    assert status.returncode == 0
    assert "registry-1  yes" in status.stdout
    assert record.address in status.stdout
    assert pykafka("broker", "status").returncode == 3

    stopped = pykafka("registry", "stop")
    assert (stopped.returncode, stopped.stdout) == (0, "stopped registry-1\n")
    assert not record.supervisor.is_alive
    assert record.processes_alive == 0
    assert not Path(record.folder).exists()
    assert pykafka("registry", "status").returncode == 3


@pytest.mark.slow
def test_a_given_port_and_name(pykafka: Pykafka) -> None:
    port = free_port()
    started = pykafka("registry", "start", "--quiet", "--port", str(port), "--name", "mine")
    assert started.returncode == 0, started.stderr
    assert started.stdout == f"http://127.0.0.1:{port}/apis/ccompat/v7\n"
    assert started.stderr == ""

    again = pykafka("registry", "start", "--port", str(port))
    assert again.returncode == 1
    assert f"pykafka: port {port} of 127.0.0.1 cannot be used" in again.stderr
    taken = pykafka("broker", "start", "--name", "mine")
    assert taken.returncode == 1
    assert taken.stderr == "pykafka: a registry called mine runs already: choose another --name\n"

    (record,) = running()
    record.processes[0].send(signal.SIGKILL)
    assert Deadline(20).wait_for(lambda: record.processes_alive == 0)
    assert "mine  no" in pykafka("registry", "status").stdout


@pytest.mark.slow
def test_the_authority_of_tls_is_printed(pykafka: Pykafka) -> None:
    started = pykafka("registry", "start", "--tls")
    assert started.returncode == 0, started.stderr
    (record,) = running()
    ca_file = Path(record.folder) / "keys" / "ca.pem"
    assert f'.option("schema.registry.ssl.truststore.location", "{ca_file}")' in started.stdout
    trusting = ssl.create_default_context(cafile=str(ca_file))
    with urllib.request.urlopen(f"{record.address}/subjects", context=trusting) as response:
        assert response.read() == b"[]"


@pytest.mark.slow
def test_foreground_registry_runs_until_a_signal() -> None:
    with in_the_foreground("registry", "start", address="http://127.0.0.1:") as command:
        (record,) = running()
        command.send_signal(signal.SIGTERM)
        assert command.wait(10) == 0
        assert Deadline(20).wait_for(lambda: not record.supervisor.is_alive)
        assert record.processes_alive == 0
        assert not Path(record.folder).exists()
        assert list(runtime_folder().iterdir()) == []


@pytest.mark.slow
def test_failed_start_prints_the_log_and_leaves_nothing(pykafka: Pykafka) -> None:
    failed = pykafka("registry", "start", "--heap", "1m")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert "pykafka: the schema registry (Apicurio Registry 2.6.13.Final) ended" in failed.stderr
    assert "Too small maximum heap" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert pykafka("registry", "status").returncode == 3
