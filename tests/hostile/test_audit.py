"""The instrument sees what it has to see."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.audit import watched


def connect() -> None:
    with socket.socket() as sock:
        sock.settimeout(1)
        sock.connect_ex(("127.0.0.1", 1))


@pytest.mark.parametrize(
    ("deed", "event"),
    [
        (lambda: subprocess.run([sys.executable, "-c", ""], check=True), "subprocess.Popen"),
        (lambda: os.system("true"), "os.system"),
        (lambda: Path("canary").write_text(""), "open"),
        (lambda: Path("folder").mkdir(), "os.mkdir"),
        (connect, "socket.connect"),
        (lambda: socket.getaddrinfo("127.0.0.1", 1), "socket.getaddrinfo"),
    ],
)
def test_deeds_are_seen(
    deed: Callable[[], object], event: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with watched() as deeds:
        deed()
    assert event in [each.event for each in deeds]
    deed_count = len(deeds)
    connect()
    assert len(deeds) == deed_count


def test_reading_a_file_is_none() -> None:
    with watched() as deeds:
        Path(__file__).read_bytes()
    assert deeds == []
