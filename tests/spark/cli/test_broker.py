"""The command `pykafka broker`, with real brokers."""

import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from kafka_spark_source.cli.terminal import console
from kafka_spark_source.testing import NEWEST
from kafka_spark_source.testing.broker import probe
from kafka_spark_source.testing.processes import state
from kafka_spark_source.testing.processes.state import running
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.spark.cli.processes import (
    COMMAND,
    COMMAND_SECONDS,
    Pykafka,
    free_port,
    in_the_foreground,
)

# Starts in about a second.
FAST = "0.10.2.2"


def test_options_can_be_pasted_into_a_program() -> None:
    options = {"bootstrap.servers": "h:1", "sasl.jaas.config": 'Module required username="a";'}
    pasted = console.spark_options(options)
    assert pasted == (
        '.option("kafka.bootstrap.servers", "h:1")\n'
        '.option("kafka.sasl.jaas.config", \'Module required username="a";\')'
    )


@pytest.mark.integration
def test_start_status_stop(pykafka: Pykafka) -> None:
    started = pykafka("broker", "start", "--config", "auto.create.topics.enable=true")
    assert started.returncode == 0, started.stderr
    (record,) = running()
    for fact in (NEWEST, record.address, "PLAINTEXT", "kafka-1", record.folder):
        assert fact in started.stdout
    assert f'.option("kafka.bootstrap.servers", "{record.address}")' in started.stdout
    assert "starting 1 Kafka node(s) ..." in started.stderr

    host, _, port = record.address.partition(":")
    assert probe.answers_api_versions((host, int(port)))
    properties = Path(record.folder) / "attempt-1" / "1" / "server.properties"
    assert "auto.create.topics.enable=true" in properties.read_text()

    listed = pykafka("topics", "list", "--names", "--context", "kafka-1")
    assert (listed.returncode, listed.stderr) == (0, "")

    status = pykafka("broker", "status")
    assert status.returncode == 0
    assert "kafka-1" in status.stdout
    assert record.address in status.stdout

    stopped = pykafka("broker", "stop")
    assert (stopped.returncode, stopped.stdout) == (0, "stopped kafka-1\n")
    assert not record.supervisor.is_alive
    assert record.processes_alive == 0
    assert not Path(record.folder).exists()
    assert pykafka("broker", "status").returncode == 3


@pytest.mark.slow
@pytest.mark.integration
def test_a_broker_runs_on_if_nobody_reads_its_facts() -> None:
    """As with `broker start | head -1`, which must also end."""
    start = shlex.join([*COMMAND, "broker", "start", "--version", FAST])
    done = subprocess.run(
        ["bash", "-c", f"{start} | head -0; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_SECONDS,
    )
    assert done.returncode == 141, done.stderr
    assert "Error" not in done.stderr
    (record,) = running()
    assert record.processes_alive
    state.stop(record)


@pytest.mark.integration
@pytest.mark.slow
def test_several_brokers_need_a_name(pykafka: Pykafka) -> None:
    port = free_port()
    first = pykafka("broker", "start", "--version", FAST, "--quiet", "--port", str(port))
    assert (first.returncode, first.stdout, first.stderr) == (0, f"127.0.0.1:{port}\n", "")
    assert pykafka("broker", "start", "--version", FAST, "--name", "mine").returncode == 0
    again = pykafka("broker", "start", "--name", "mine")
    assert again.returncode == 1
    assert again.stderr == "pykafka: a broker called mine runs already: choose another --name\n"
    taken = pykafka("broker", "start", "--version", FAST, "--port", str(port))
    assert taken.returncode == 1
    assert f"pykafka: port {port} of 127.0.0.1 cannot be used" in taken.stderr

    which = pykafka("broker", "stop")
    assert which.returncode == 1
    assert "name one (kafka-1, mine), or --all" in which.stderr
    assert pykafka("broker", "stop", "mine").stdout == "stopped mine\n"
    assert [record.name for record in running()] == ["kafka-1"]
    assert pykafka("broker", "stop", "--all").stdout == "stopped kafka-1\n"


@pytest.mark.integration
@pytest.mark.slow
def test_start_prints_the_sasl_password(pykafka: Pykafka) -> None:
    started = pykafka("broker", "start", "--security", "SASL_PLAINTEXT")
    assert started.returncode == 0, started.stderr
    assert "SASL_PLAINTEXT (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512), alice / " in started.stdout
    assert "'org.apache.kafka.common.security.scram.ScramLoginModule required " in started.stdout


@pytest.mark.integration
@pytest.mark.slow
def test_failed_start_prints_the_log_and_leaves_nothing(pykafka: Pykafka) -> None:
    failed = pykafka("broker", "start", "--config", "metric.reporters=no.such.Reporter")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert f"pykafka: Kafka {NEWEST}: node 1 (127.0.0.1:" in failed.stderr
    assert "no.such.Reporter" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert pykafka("broker", "status").returncode == 3


@pytest.mark.integration
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_foreground_broker_runs_until_a_signal(number: signal.Signals) -> None:
    with _in_the_foreground() as command:
        (record,) = running()
        command.send_signal(number)
        command.wait(10)
        assert command.returncode == (-9 if number == signal.SIGKILL else 0)
        assert Deadline(20).wait_for(lambda: not record.supervisor.is_alive)
        assert record.processes_alive == 0
        assert not Path(record.folder).exists()
        assert running() == []


@pytest.mark.integration
@pytest.mark.slow
def test_foreground_reports_a_dead_broker() -> None:
    with _in_the_foreground() as command:
        (record,) = running()
        record.processes[0].send(signal.SIGKILL)
        assert command.wait(10) == 1
        assert command.stderr is not None
        assert "node 1 (127.0.0.1:" in command.stderr.read()
        assert running() == []


def _in_the_foreground() -> "subprocess.Popen[str]":
    return in_the_foreground("broker", "start", "--version", FAST, address="127.0.0.1:")
