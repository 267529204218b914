"""Status and stop, when nothing runs."""

import json
import os
from pathlib import Path

import pytest

from kafka_spark_source import cli
from kafka_spark_source.testing.processes import state


@pytest.mark.parametrize("kind", ["broker", "registry"])
def test_status_and_stop_without_servers(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([kind, "status"]) == 3
    assert cli.main([kind, "stop"]) == 0
    assert capsys.readouterr().out == f"no {kind} is running\n" * 2
    assert cli.main([kind, "stop", "mine"]) == 1
    assert capsys.readouterr().err == f"pykafka: no {kind} called mine is running\n"


@pytest.mark.parametrize("kind", ["broker", "registry"])
def test_json_of_no_servers_is_an_empty_list(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([kind, "status", "-o", "json"]) == 3
    assert json.loads(capsys.readouterr().out) == []


def test_a_broker_and_a_registry_that_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for kind, address in ((state.Kind.BROKER, "h:1"), (state.Kind.REGISTRY, "http://h:2")):
        facts = state.Facts(
            kind, "4.4.0", "PLAINTEXT", address, tmp_path, os.getpid(), (os.getpid(),)
        )
        state.remember(facts, kind.value)
    assert cli.main(["broker", "status"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split()[:4] == ["name", "kafka", "nodes", "alive"]
    assert row.split()[:6] == ["broker", "4.4.0", "1", "1", "PLAINTEXT", "h:1"]
    assert cli.main(["registry", "status", "-o", "json"]) == 0
    (registry,) = json.loads(capsys.readouterr().out)
    assert (registry["name"], registry["runs"], registry["url"]) == ("registry", True, "http://h:2")
    assert (registry["pid"], list(registry)[-1]) == (os.getpid(), "since")
