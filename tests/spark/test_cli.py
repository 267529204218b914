"""The command `pykafka`: its arguments, and then with real brokers."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_spark_source import cli
from kafka_spark_source.testing import NEWEST, cluster, console, probe
from kafka_spark_source.testing.errors import LocalBrokerError
from kafka_spark_source.testing.folders import runtime_folder
from kafka_spark_source.testing.identity import ProcessIdentity
from kafka_spark_source.testing.ports import HOST, HeldPorts
from kafka_spark_source.testing.state import running_clusters
from kafka_spark_source.testing.waiting import Deadline
from kafka_spark_source.version import __version__

COMMAND = [
    sys.executable,
    "-c",
    "from kafka_spark_source.cli import main; raise SystemExit(main())",
]
COMMAND_SECONDS = 120
# Starts in about a second.
FAST = "0.10.2.2"

Pykafka = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _own_runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))


@pytest.fixture
def pykafka() -> Iterator[Pykafka]:
    """Runs the command in a process, and stops all brokers at the end."""

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*COMMAND, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )

    yield run
    run("broker", "stop", "--all")


@pytest.mark.parametrize("arguments", [["--help"], ["broker", "--help"], ["broker", "start", "-h"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(arguments)
    assert exit_.value.code == 0
    assert "broker" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"pykafka {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["broker"], "required: COMMAND"),
        (["broker", "start", "--nodes", "0"], "'0' is not a number from 1 to 99"),
        (["broker", "start", "--nodes", "many"], "'many' is not a number"),
        (["broker", "start", "--port", "70000"], "'70000' is not a number from 1 to 65535"),
        (["broker", "start", "--version", "0.7"], "invalid choice: '0.7'"),
        (["broker", "start", "--security", "TLS"], "invalid choice: 'TLS'"),
        (["broker", "start", "--config", "novalue"], "'novalue' is not KEY=VALUE"),
        (["broker", "start", "--heap", "much"], "'much' is not a Java memory size"),
        (
            ["broker", "start", "--version", "0.9.0.1", "--security", "SSL"],
            "Kafka 0.9.0.1 is supported with PLAINTEXT here, not SSL",
        ),
        (["broker", "stop", "a", "--all"], "not allowed with argument"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(arguments)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


def test_status_and_stop_without_brokers(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["broker", "status"]) == 3
    assert cli.main(["broker", "stop"]) == 0
    assert capsys.readouterr().out == "no broker is running\n" * 2
    assert cli.main(["broker", "stop", "mine"]) == 1
    assert capsys.readouterr().err == "pykafka: no broker called mine is running\n"


def test_missing_rich(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert cli.main(["broker", "status"]) == 1
    assert capsys.readouterr().err == (
        "pykafka: rich is missing: pip install 'pyspark-pykafka[broker]'\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (LocalBrokerError("it is [red] hot"), 1, "pykafka: it is [red] hot\n"),
        (OSError(28, "No space left on device", "/tmp/x"), 1, "No space left on device (/tmp/x)"),
        (KeyboardInterrupt(), 130, "pykafka: interrupted\n"),
    ],
)
def test_an_error_is_printed_without_a_traceback(
    error: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_cluster: object) -> None:
        raise error

    monkeypatch.setattr(cluster.KafkaCluster, "start", fail)
    assert cli.main(["broker", "start"]) == code
    assert message in capsys.readouterr().err


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
    (record,) = running_clusters()
    for fact in (NEWEST, record.bootstrap_servers, "PLAINTEXT", "kafka-1", record.folder):
        assert fact in started.stdout
    assert f'.option("kafka.bootstrap.servers", "{record.bootstrap_servers}")' in started.stdout
    assert "starting 1 Kafka node(s) ..." in started.stderr

    host, _, port = record.bootstrap_servers.partition(":")
    assert probe.answers_api_versions((host, int(port)))
    properties = Path(record.folder) / "attempt-1" / "1" / "server.properties"
    assert "auto.create.topics.enable=true" in properties.read_text()

    status = pykafka("broker", "status")
    assert status.returncode == 0
    assert "kafka-1" in status.stdout
    assert record.bootstrap_servers in status.stdout

    stopped = pykafka("broker", "stop")
    assert (stopped.returncode, stopped.stdout) == (0, "stopped kafka-1\n")
    assert not record.supervisor.is_alive
    assert record.brokers_alive == 0
    assert not Path(record.folder).exists()
    assert pykafka("broker", "status").returncode == 3


@pytest.mark.integration
def test_several_brokers_need_a_name(pykafka: Pykafka) -> None:
    port = _free_port()
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
    assert [record.name for record in running_clusters()] == ["kafka-1"]
    assert pykafka("broker", "stop", "--all").stdout == "stopped kafka-1\n"


@pytest.mark.integration
def test_start_prints_the_sasl_password(pykafka: Pykafka) -> None:
    started = pykafka("broker", "start", "--security", "SASL_PLAINTEXT")
    assert started.returncode == 0, started.stderr
    assert "SASL_PLAINTEXT (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512), alice / " in started.stdout
    assert "'org.apache.kafka.common.security.scram.ScramLoginModule required " in started.stdout


@pytest.mark.integration
def test_status_shows_a_dead_broker(pykafka: Pykafka) -> None:
    assert pykafka("broker", "start", "--version", FAST).returncode == 0
    (record,) = running_clusters()
    record.brokers[0].send(signal.SIGKILL)
    assert Deadline(20).wait_for(lambda: record.brokers_alive == 0)
    assert "0 of 1" in pykafka("broker", "status").stdout
    record.supervisor.send(signal.SIGKILL)
    assert Deadline(20).wait_for(lambda: not record.supervisor.is_alive)
    assert pykafka("broker", "status").returncode == 3
    assert not Path(record.folder).exists()
    assert list(runtime_folder().iterdir()) == []


@pytest.mark.integration
def test_failed_start_prints_the_log_and_leaves_nothing(pykafka: Pykafka) -> None:
    failed = pykafka("broker", "start", "--config", "metric.reporters=no.such.Reporter")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert f"pykafka: Kafka {NEWEST}: node 1 (127.0.0.1:" in failed.stderr
    assert "no.such.Reporter" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert pykafka("broker", "status").returncode == 3


@pytest.mark.integration
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_foreground_broker_runs_until_a_signal(number: signal.Signals) -> None:
    with _in_the_foreground() as command:
        (record,) = running_clusters()
        command.send_signal(number)
        command.wait(10)
        assert command.returncode == (-9 if number == signal.SIGKILL else 0)
        assert Deadline(20).wait_for(lambda: not record.supervisor.is_alive)
        assert record.brokers_alive == 0
        assert not Path(record.folder).exists()
        assert running_clusters() == []


@pytest.mark.integration
def test_foreground_reports_a_dead_broker() -> None:
    with _in_the_foreground() as command:
        (record,) = running_clusters()
        record.brokers[0].send(signal.SIGKILL)
        assert command.wait(10) == 1
        assert command.stderr is not None
        assert "node 1 (127.0.0.1:" in command.stderr.read()
        assert running_clusters() == []


def _in_the_foreground() -> "subprocess.Popen[str]":
    arguments = ["broker", "start", "--version", FAST, "--foreground", "--quiet"]
    command = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert command.stdout is not None
    assert command.stdout.readline().startswith("127.0.0.1:")
    assert ProcessIdentity.of(command.pid).is_alive
    return command


def _free_port() -> int:
    ports = HeldPorts()
    port = ports.take()
    ports.close()
    assert not probe.accepts((HOST, port))
    return port
