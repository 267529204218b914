"""How commands connect: what goes before what, and files of properties."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.cli.connection import options_of, read_properties
from kafka_spark_source.cli.parsers.connection import add_connection


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder without contexts."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("PYKAFKA_CONTEXT", raising=False)
    folder = tmp_path / "pykafka"
    folder.mkdir()
    return folder


def options(*arguments: str) -> dict[str, str]:
    parser = argparse.ArgumentParser()
    add_connection(parser)
    return options_of(parser.parse_args(arguments))


def test_the_command_line_goes_before_files_and_those_before_contexts(home: Path) -> None:
    (home / "default.properties").write_text("bootstrap.servers=a:1\nclient.id=context\n")
    (home / "other.properties").write_text("bootstrap.servers=b:1\n")
    file = home / "file"
    file.write_text("kafka.client.id=file\n")
    assert options()["client.id"] == "context"
    assert options("--context", "other") == {
        "bootstrap.servers": "b:1",
        "client.id": "pykafka-cli",
    }
    assert options("--properties", str(file))["client.id"] == "file"
    given = options("--properties", str(file), "-X", "kafka.client.id=x", "-b", "c:1")
    assert given == {"bootstrap.servers": "c:1", "client.id": "x"}


def test_a_context_of_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "test.properties").write_text("bootstrap.servers=a:1")
    monkeypatch.setenv("PYKAFKA_CONTEXT", "test")
    assert options()["bootstrap.servers"] == "a:1"
    with pytest.raises(FileNotFoundError):
        options("--context", "none")


def test_no_servers() -> None:
    with pytest.raises(KafkaConfigError, match="The brokers are missing: give -b"):
        options("-X", "client.id=x")


def test_properties_are_read_as_java_does(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "# a comment\n! another\n\n  a = 1 \nb:2\nc 3\nd=x=y\ne\\=f=4\ng=1,\\\n    2\nh=\n"
    )
    expected = {"a": "1", "b": "2", "c": "3", "d": "x=y", "e=f": "4", "g": "1,2", "h": ""}
    assert read_properties(file) == expected


def test_an_error_shows_no_value(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("a=1\n=secret\n")
    with pytest.raises(KafkaConfigError, match=r"Line 2 of .*is not KEY=VALUE") as error:
        read_properties(file)
    assert "secret" not in str(error.value)
