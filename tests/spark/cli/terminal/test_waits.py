"""The line of a terminal that names the server that a command waits for."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from kafka_protocol.client import wait_observer
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_spark_source.cli.terminal.status_line import StatusLine
from kafka_spark_source.cli.terminal.waits import Waits, shown_waits
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster
from tests.spark.cli.processes import COMMAND_SECONDS, Terminal


def test_a_series_of_waits_is_shown_after_two_seconds() -> None:
    waits = Waits()
    waits("a:1 (Metadata)")
    assert [waits.look(now) for now in (0, 1_999)] == [None, None]
    assert waits.look(2_000) == "2 s: waiting for a:1 (Metadata)"
    waits(None)
    waits("b:1 (ListOffsets)")
    assert waits.look(3_100) == "3 s: waiting for b:1 (ListOffsets)"
    waits(None)
    assert waits.look(3_200) is None
    waits("b:1 (Fetch)")
    assert [waits.look(now) for now in (9_000, 10_900)] == [None, None]
    assert waits.look(11_000) == "2 s: waiting for b:1 (Fetch)"


def test_a_wait_between_two_looks_continues_a_series() -> None:
    waits = Waits()
    for now in (0, 1_000):
        waits("a:1 (Fetch)")
        waits(None)
        assert waits.look(now) is None
    waits("a:1 (Fetch)")
    waits(None)
    assert waits.look(2_000) == "2 s: waiting for a:1 (Fetch)"
    assert waits.look(2_200) is None


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    line = StatusLine()
    assert not line.is_possible
    with shown_waits(line):
        assert wait_observer._observer is None
    line.show(None)
    assert capsys.readouterr().err == ""


def test_a_slow_broker_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the line is gone when there is something else to see."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    is_named = threading.Event()

    def slow(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            is_named.wait(COMMAND_SECONDS)
            return handler(request, version)

        return handle

    with FakeCluster() as cluster:
        cluster.add_topic("orders")
        cluster.add_fault(MetadataRequest, slow)
        (address,) = cluster.bootstrap_servers
        with Terminal("topics", "list", "--names", "-b", str(address)) as terminal:
            terminal.read_until(f" s: waiting for {address} (Metadata)")
            is_named.set()
            assert terminal.read_to_end() == 0
    assert terminal.text.rpartition("\r\x1b[K")[2] == "orders\r\n"
