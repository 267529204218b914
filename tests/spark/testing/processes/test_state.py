"""The state of background servers, with `sleep` processes instead of brokers."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_spark_source.testing import LocalBrokerError
from kafka_spark_source.testing.folders import runtime_folder
from kafka_spark_source.testing.processes import state
from kafka_spark_source.testing.processes.state import Facts, Kind
from kafka_spark_source.testing.processes.waiting import Deadline

Start = Callable[..., Facts]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a server of one process: two `sleep` processes and a folder."""
    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    # `sleep` as a supervisor does not kill the broker at SIGTERM, so `stop` must do it.
    monkeypatch.setattr(state, "_STOP_SECONDS", 0.2)
    with ExitStack() as running:

        def start_one(kind: Kind = Kind.BROKER) -> Facts:
            processes = [subprocess.Popen(["sleep", "600"]) for _ in range(2)]
            for process in processes:
                running.enter_context(process)
                running.callback(process.kill)
            supervisor, broker = processes
            folder = tmp_path / f"pykafka-{supervisor.pid}"
            folder.mkdir()
            return Facts(
                kind=kind,
                version="4.3.1",
                security="PLAINTEXT",
                address="127.0.0.1:40123",
                folder=folder,
                supervisor_pid=supervisor.pid,
                pids=(broker.pid,),
            )

        yield start_one


def test_servers_get_the_first_free_name(start: Start) -> None:
    names = [state.remember(start(), None).name for _ in range(2)]
    assert names == ["kafka-1", "kafka-2"]
    state.stop(state.running()[0])
    assert state.remember(start(), None).name == "kafka-1"


def test_running_reads_the_record(start: Start) -> None:
    record = state.remember(start(), "mine")
    assert state.running() == [record]
    assert record.processes_alive == 1
    assert runtime_folder().stat().st_mode & 0o077 == 0, "other users have access"


def test_a_name_is_unique(start: Start) -> None:
    state.remember(start(), "mine")
    for call in (lambda: state.require_free_name("mine"), lambda: state.remember(start(), "mine")):
        with pytest.raises(LocalBrokerError, match="a broker called mine runs already"):
            call()
    state.require_free_name("another")


def test_registries_have_first_names_of_their_own(start: Start) -> None:
    names = [state.remember(start(kind), None).name for kind in (Kind.BROKER, Kind.REGISTRY)]
    assert names == ["kafka-1", "registry-1"]
    assert [record.kind for record in state.running()] == [Kind.BROKER, Kind.REGISTRY]


def test_a_broker_and_a_registry_cannot_have_the_same_name(start: Start) -> None:
    state.remember(start(Kind.REGISTRY), "mine")
    with pytest.raises(LocalBrokerError, match="a registry called mine runs already"):
        state.require_free_name("mine")


@pytest.mark.parametrize("name", ["", ".", "../up", "/root", "a/b", ".hidden"])
def test_a_name_cannot_leave_the_folder(name: str, start: Start) -> None:
    with pytest.raises(LocalBrokerError, match="is not a valid name"):
        state.require_free_name(name)


def test_stopping_ends_everything(start: Start) -> None:
    record = state.remember(start(), None)
    state.stop(record)
    assert not record.supervisor.is_alive
    assert record.processes_alive == 0
    assert not Path(record.folder).exists()
    assert state.running() == []
    assert list(runtime_folder().iterdir()) == []


def test_clean_up_after_a_dead_supervisor(start: Start) -> None:
    record = state.remember(start(), None)
    record.supervisor.send(signal.SIGKILL)
    assert Deadline(20).wait_for(lambda: not record.supervisor.is_alive)
    assert state.running() == []
    assert record.processes_alive == 0
    assert not Path(record.folder).exists()
    assert list(runtime_folder().iterdir()) == []


def test_a_later_process_with_the_same_id_is_not_killed(start: Start) -> None:
    record = state.remember(start(), None)
    file = runtime_folder() / "kafka-1.json"
    values = json.loads(file.read_text())
    values["supervisor"][1] = values["processes"][0][1] = "before the last boot"
    file.write_text(json.dumps(values))
    assert state.running() == []
    assert record.supervisor.is_alive
    assert record.processes_alive == 1


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": "x"}', '{"supervisor": 1}'])
def test_an_invalid_file_is_removed(text: str, start: Start) -> None:
    runtime_folder().mkdir()
    (runtime_folder() / "broken.json").write_text(text)
    assert state.running() == []
    assert list(runtime_folder().iterdir()) == []


def test_only_a_folder_with_our_prefix_is_removed(start: Start, tmp_path: Path) -> None:
    facts = replace(start(), folder=tmp_path / "precious")
    facts.folder.mkdir()
    record = state.remember(facts, None)
    record.supervisor.send(signal.SIGKILL)
    assert Deadline(20).wait_for(lambda: not record.supervisor.is_alive)
    assert state.running() == []
    assert facts.folder.exists()
