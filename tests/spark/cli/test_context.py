"""`pykafka context list | show`: contexts in files, and running brokers; secrets stay hidden."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_spark_source import cli
from kafka_spark_source.testing.processes import state

_PROD = """\
kafka.bootstrap.servers=a:1,b:2
sasl.jaas.config=M required password="hunter2";
sasl.mechanism=PLAIN
value.format=avro
schema.registry.url=http://r:8081
schema.registry.basic.auth.user.info=me:hunter2
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder with the context `prod`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("PYKAFKA_CONTEXT", raising=False)
    folder = tmp_path / "pykafka"
    folder.mkdir()
    (folder / "prod.properties").write_text(_PROD)
    (folder / "notes.txt").write_text("not a context")
    return folder


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[state.RunningServer]:
    """A broker that `pykafka broker start` is said to have started, and a registry."""
    records = []
    for kind, name in ((state.Kind.BROKER, "kafka-1"), (state.Kind.REGISTRY, "registry-1")):
        folder = tmp_path / name
        folder.mkdir()
        facts = state.Facts(
            kind=kind,
            version="4.4.0",
            security="PLAINTEXT",
            address="k:1",
            folder=folder,
            supervisor_pid=os.getpid(),
            pids=(),
            options={"bootstrap.servers": "k:1"},
        )
        records.append(state.remember(facts, name))
    yield records[0]
    for each in records:
        state.forget(each)


def test_contexts_are_listed(
    home: Path,
    broker: state.RunningServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PYKAFKA_CONTEXT", "prod")
    assert cli.main(["context", "list", "-o", "json"]) == 0
    printed = capsys.readouterr()
    assert [tuple(row.values()) for row in json.loads(printed.out)] == [
        ("kafka-1", False, "k:1", str(broker.properties), None),
        ("prod", True, "a:1,b:2", str(home / "prod.properties"), None),
    ]
    (home / "kafka-1.properties").write_text("client.id=x\n")
    assert cli.main(["context", "list"]) == 0
    heading, first, second = capsys.readouterr().out.splitlines()
    assert heading.split() == ["context", "in", "use", "bootstrap", "servers", "file"]
    assert first.split() == ["kafka-1", "no", "-", str(home / "kafka-1.properties")]
    assert second.split()[:3] == ["prod", "yes", "a:1,b:2"]
    assert cli.main(["context", "list", "--names"]) == 0
    assert capsys.readouterr().out == "kafka-1\nprod\n"


def test_a_broken_file_hides_no_other(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "bad.properties").write_text("=hunter2\n")
    (home / "latin.properties").write_bytes(b"client.id=\xe9\n")
    assert cli.main(["context", "list"]) == 5
    printed = capsys.readouterr()
    assert "a:1,b:2" in printed.out
    assert f"bad cannot be read: {home / 'bad.properties'} has a value without a" in printed.err
    assert f"the context latin cannot be read: {home / 'latin.properties'} is not UTF-8" in (
        printed.err
    )
    assert "hunter2" not in printed.out + printed.err


def test_no_context(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "prod.properties").unlink()
    assert cli.main(["context", "list", "-o", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == []
    assert "there is no context: write KEY=VALUE lines into ~/.config/pykafka" in printed.err
    assert cli.main(["context", "show"]) == 1
    assert "No context is in use: name one" in capsys.readouterr().err


def test_a_context_is_shown_without_its_secrets(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["context", "show", "prod", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "context": "prod",
        "file": str(home / "prod.properties"),
        "options": {
            "bootstrap.servers": "a:1,b:2",
            "sasl.jaas.config": "(set)",
            "sasl.mechanism": "PLAIN",
            "schema.registry.basic.auth.user.info": "(set)",
            "schema.registry.url": "http://r:8081",
            "value.format": "avro",
        },
    }
    monkeypatch.setenv("PYKAFKA_CONTEXT", "prod")
    assert cli.main(["context", "show"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"prod: {home / 'prod.properties'}\n")
    assert "hunter2" not in out


def test_an_address_may_have_a_password(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "prod.properties").write_text("schema.registry.url=http://me:hunter2@r:8081\n")
    assert cli.main(["context", "show", "prod"]) == 0
    assert "hunter2" not in capsys.readouterr().out


def test_a_context_that_there_is_not(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["context", "show", "prd"]) == 1
    assert "There is no context 'prd': did you mean 'prod'?" in capsys.readouterr().err
    assert cli.main(["context", "show", "x"]) == 1
    assert "There is no context 'x': there are prod." in capsys.readouterr().err
    monkeypatch.setenv("PYKAFKA_CONTEXT", "gone")
    assert cli.main(["context", "show"]) == 1
    assert "There is no context 'gone'" in capsys.readouterr().err
    (home / "default.properties").write_text("bootstrap.servers=d:1\n")
    monkeypatch.delenv("PYKAFKA_CONTEXT")
    assert cli.main(["context", "show"]) == 0
    assert capsys.readouterr().out.startswith("default: ")
