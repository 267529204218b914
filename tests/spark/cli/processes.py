"""The command `pykafka` in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable

from kafka_spark_source.testing import probe
from kafka_spark_source.testing.identity import ProcessIdentity
from kafka_spark_source.testing.ports import HOST, HeldPorts

COMMAND = [
    sys.executable,
    "-c",
    "from kafka_spark_source.cli import main; raise SystemExit(main())",
]
COMMAND_SECONDS = 120

Pykafka = Callable[..., "subprocess.CompletedProcess[str]"]


def in_the_foreground(*arguments: str, address: str) -> "subprocess.Popen[str]":
    """Starts a server with `--foreground --quiet`, whose address begins with `address`."""
    command = subprocess.Popen(
        [*COMMAND, *arguments, "--foreground", "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert command.stdout is not None
    assert command.stdout.readline().startswith(address)
    assert ProcessIdentity.of(command.pid).is_alive
    return command


def free_port() -> int:
    ports = HeldPorts()
    port = ports.take()
    ports.close()
    assert not probe.accepts((HOST, port))
    return port
