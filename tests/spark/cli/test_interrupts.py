"""Ctrl-C ends a command at any moment: exit code 130, no traceback, and the terminal as before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source import cli
from kafka_spark_source.cli import command
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.fakes.broker import ScriptedBroker
from tests.fakes.cluster import FakeCluster
from tests.spark.cli.processes import COMMAND_SECONDS, Terminal
from tests.spark.tools.positions.test_checkpoints import write_batch

# A command at the moment of Ctrl-C, and what it says then.
Moment = Iterator[tuple[Terminal, str]]


@contextmanager
def orders() -> Iterator[tuple[FakeCluster, str]]:
    """A cluster with some records, and its address."""
    with FakeCluster() as cluster:
        cluster.add_topic("orders")
        cluster.append(TopicPartition("orders", 0), b"first", b"last")
        yield cluster, ",".join(map(str, cluster.bootstrap_servers))


def waited_for(is_true: Callable[[], bool]) -> None:
    assert Deadline(COMMAND_SECONDS).wait_for(is_true)


def connecting(_folder: Path) -> Moment:
    with ScriptedBroker({ApiVersionsRequest: lambda _request, _version: None}) as broker:
        with Terminal("topics", "list", "-b", str(broker.address)) as terminal:
            terminal.read_until(f"waiting for {broker.address} (ApiVersions)")
            yield terminal, "\r\npykafka: interrupted\r\n"


def following(_folder: Path) -> Moment:
    with orders() as (_, servers), Terminal("peek", "orders", "--follow", "-b", servers) as shown:
        shown.read_until("null last")
        yield shown, "pykafka: interrupted"


def watching(folder: Path) -> Moment:
    write_batch(folder, 0, '{"orders":{"0":1}}')
    with orders() as (_, servers):
        with Terminal("lag", str(folder), "--watch", "1", "-b", servers) as terminal:
            terminal.read_until("\x1b[H")  # that of a second look
            yield terminal, "pykafka: interrupted"


def _has_written(cluster: FakeCluster, lines: int) -> bool:
    return len(cluster.asked(ProduceRequest)) == lines


def asking(_folder: Path) -> Moment:
    with orders() as (_, servers), Terminal("topics", "delete", "orders", "-b", servers) as asks:
        asks.read_until("with all its records (orders): ")
        yield asks, "pykafka: interrupted"


def reading_lines(_folder: Path) -> Moment:
    with orders() as (cluster, servers), Terminal("write", "orders", "-b", servers) as terminal:
        terminal.read_until("Ctrl-D ends the input")
        for written in (1, 2):
            terminal.type(b"a line\n")
            waited_for(partial(_has_written, cluster, written))
        yield terminal, "pykafka: interrupted. Lines 1 to "


MOMENTS: Final = [
    connecting,
    following,
    # In the same call of the system as `following`.
    pytest.param(watching, marks=pytest.mark.slow),
    asking,
    reading_lines,
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_interrupted(
    moment: Callable[[Path], Moment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    with contextmanager(moment)(tmp_path) as (terminal, said):
        assert terminal.interrupt() == 130
        assert said in terminal.text
        assert "Traceback" not in terminal.text
        assert terminal.is_as_before


def test_interrupted_while_modules_are_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_arguments: object) -> int:
        raise KeyboardInterrupt

    # No test can hit this moment from outside.
    monkeypatch.setattr(command, "program", lambda: fail(()))
    assert cli.main(["lag"]) == 130
    assert capsys.readouterr().err == "pykafka: interrupted\n"
