"""How commands connect: what goes before what, and files of properties."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_protocol.errors import BrokerConnectionError, KafkaConfigError
from kafka_spark_source.cli.connection import (
    ClientOptions,
    connected,
    options_of,
    read_properties,
)
from kafka_spark_source.cli.parsers.connection import add_connection
from kafka_spark_source.testing.processes import state
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.spark.cli.processes import free_port


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder without contexts."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("PYKAFKA_CONTEXT", raising=False)
    monkeypatch.delenv("PYKAFKA_BOOTSTRAP_SERVERS", raising=False)
    folder = tmp_path / "pykafka"
    folder.mkdir()
    return folder


def given(*arguments: str) -> ClientOptions:
    parser = argparse.ArgumentParser()
    add_connection(parser)
    return options_of(parser.parse_args(arguments))


def options(*arguments: str) -> Mapping[str, str]:
    return given(*arguments).by_name


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


def test_a_running_broker_is_a_context(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the user's with its name goes before it."""
    runtime = home / "runtime"
    (runtime / "folder").mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    given = {"bootstrap.servers": "a:1", "sasl.jaas.config": 'M required password="\\\\x=y";'}
    facts = state.Facts(
        kind=state.Kind.BROKER,
        version="4.4.0",
        security="SASL_PLAINTEXT",
        address="a:1",
        folder=runtime / "folder",
        supervisor_pid=os.getpid(),
        pids=(),
        options=given,
    )
    record = state.remember(facts, "mine")
    assert options("--context", "mine") == given | {"client.id": "pykafka-cli"}
    assert record.properties.stat().st_mode & 0o077 == 0
    assert "required" not in repr(facts)
    (home / "mine.properties").write_text("bootstrap.servers=b:1\n")
    assert options("--context", "mine")["bootstrap.servers"] == "b:1"
    state.forget(record)


def refused(*arguments: str) -> str:
    """What is said when nothing listens."""
    parser = argparse.ArgumentParser()
    add_connection(parser)
    with (
        sleeps_take_no_time() as time,
        pytest.raises(BrokerConnectionError, match="connection refused") as error,
        connected(parser.parse_args(arguments)),
    ):
        raise AssertionError("nothing listens")
    assert time.pauses_ms == []
    return str(error.value)


def test_a_closed_port_is_told_at_once() -> None:
    """A job waits for a broker that may come back."""
    assert "bootstrap.servers is from" not in refused("-b", f"127.0.0.1:{free_port()}")


def test_the_environment_comes_last(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYKAFKA_BOOTSTRAP_SERVERS", "e:1")
    assert options()["bootstrap.servers"] == "e:1"
    (home / "default.properties").write_text("client.id=context\n")
    assert options() == {"bootstrap.servers": "e:1", "client.id": "context"}
    (home / "default.properties").write_text("bootstrap.servers=a:1\n")
    assert options()["bootstrap.servers"] == "a:1"
    assert options("-X", "bootstrap.servers=x:1")["bootstrap.servers"] == "x:1"
    assert options("-b", "c:1")["bootstrap.servers"] == "c:1"


def test_an_empty_variable_names_no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYKAFKA_BOOTSTRAP_SERVERS", "")
    with pytest.raises(KafkaConfigError, match="set PYKAFKA_BOOTSTRAP_SERVERS, or write"):
        options()


def test_an_error_says_where_the_address_is_from(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("PYKAFKA_BOOTSTRAP_SERVERS", closed)
    assert refused().endswith("\nbootstrap.servers is from $PYKAFKA_BOOTSTRAP_SERVERS.")
    (home / "prod.properties").write_text(f"bootstrap.servers={closed}\n")
    file = home / "prod.properties"
    assert refused("--context", "prod").endswith(f"is from the context prod ({file}).")
    assert refused("--properties", str(file)).endswith(f"is from --properties ({file}).")
    assert "bootstrap.servers is from" not in refused("--context", "prod", "-b", closed)


def test_each_place_of_an_address_has_a_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / "prod.properties"
    file.write_text("bootstrap.servers=a:1\n")
    monkeypatch.setenv("PYKAFKA_BOOTSTRAP_SERVERS", "e:1")
    assert given().source_of_servers == "$PYKAFKA_BOOTSTRAP_SERVERS"
    monkeypatch.setenv("PYKAFKA_CONTEXT", "prod")
    assert given("-X", "client.id=x").source_of_servers == f"the context prod ({file})"
    in_file = ["--properties", str(file)]
    assert given(*in_file).source_of_servers == f"--properties ({file})"
    assert given(*in_file, "-X", "kafka.bootstrap.servers=x:1").source_of_servers == "-X"
    assert given(*in_file, "-X", "bootstrap.servers=x:1", "-b", "b:1").source_of_servers == "-b"


def test_no_servers() -> None:
    with pytest.raises(KafkaConfigError, match="The brokers are missing: give -b"):
        options("-X", "client.id=x")


def test_properties_are_read_as_java_does(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "# a comment\n! another\n\n  a = 1 \nb:2\nc 3\nd=x=y\ne\\=f=4\ng=1,\\\n    2\nh=\n"
    )
    expected = {"a": "1 ", "b": "2", "c": "3", "d": "x=y", "e=f": "4", "g": "1,2", "h": ""}
    assert read_properties(file) == expected


def test_an_error_shows_no_value(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    for line, reason in {
        "=secret": "has a value without a name",
        "b=secret\\u12": "line 2 has no four hexadecimal digits",
        "b=secret\\ud800": "'b' in .* has one half of a character",
        "b=secret\xff": "is not UTF-8",
    }.items():
        file.write_text(f"a=1\n{line}\n", "latin-1")
        with pytest.raises(KafkaConfigError, match=reason) as error:
            options("--properties", str(file), "-b", "a:1")
        assert "secret" not in str(error.value)
