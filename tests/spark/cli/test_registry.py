"""The command `pykafka registry`, with real registries."""

import ssl
import urllib.request
from pathlib import Path

import pytest

from kafka_spark_source.testing.processes.state import running
from tests.spark.cli.processes import Pykafka

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
def test_the_authority_of_tls_is_printed(pykafka: Pykafka) -> None:
    started = pykafka("registry", "start", "--tls")
    assert started.returncode == 0, started.stderr
    (record,) = running()
    ca_file = Path(record.folder) / "keys" / "ca.pem"
    assert f'.option("schema.registry.ssl.truststore.location", "{ca_file}")' in started.stdout
    trusting = ssl.create_default_context(cafile=str(ca_file))
    with urllib.request.urlopen(f"{record.address}/subjects", context=trusting) as response:
        assert response.read() == b"[]"
