"""The command `pykafka`: its help, and errors without a traceback."""

import subprocess
import sys

import pytest

from kafka_spark_source import cli
from kafka_spark_source.testing import KafkaCluster, LocalBrokerError, SchemaRegistry
from kafka_spark_source.version import __version__
from tests.spark.cli.processes import COMMAND, COMMAND_SECONDS


@pytest.mark.parametrize("kind", ["broker", "registry"])
@pytest.mark.parametrize("arguments", ["--help", "{kind} --help", "{kind} start -h"])
def test_help(arguments: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(arguments.format(kind=kind).split())
    assert exit_.value.code == 0
    assert kind in capsys.readouterr().out


@pytest.mark.parametrize("name", ["checkpoint", "lag", "offsets", "peek", "topics"])
def test_help_of_operators_has_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main([name, "--help"])
    assert exit_.value.code == 0
    assert f"examples:\n  pykafka {name} " in capsys.readouterr().out


def test_without_arguments_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("usage: pykafka ")
    assert printed.err == ""


def test_a_reader_of_the_output_that_ends_first() -> None:
    """Neither a traceback, nor an error when Python ends."""
    closed = "import os, sys; os.close(1); r, w = os.pipe(); os.close(r); os.dup2(w, 1); "
    done = subprocess.run(
        [sys.executable, "-c", f"{closed}{COMMAND[-1]}", "dashboard"],
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_SECONDS,
    )
    assert (done.returncode, done.stderr) == (141, "")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"pykafka {__version__}\n"


def test_missing_rich(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert cli.main(["broker", "status"]) == 1
    assert capsys.readouterr().err == (
        "pykafka: rich is missing: pip install 'pyspark-pykafka[cli]'\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (LocalBrokerError("it is [red] hot"), 1, "pykafka: it is [red] hot\n"),
        (OSError(28, "No space left on device", "/tmp/x"), 1, "No space left on device (/tmp/x)"),
        (KeyboardInterrupt(), 130, "pykafka: interrupted\n"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "server"), [("broker", KafkaCluster), ("registry", SchemaRegistry)]
)
def test_an_error_is_printed_without_a_traceback(
    kind: str,
    server: type,
    error: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_server: object) -> None:
        raise error

    # No machine has these errors at will.
    monkeypatch.setattr(server, "start", fail)
    assert cli.main([kind, "start"]) == code
    assert message in capsys.readouterr().err
