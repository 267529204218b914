"""The start of a registry, with a small HTTP server instead of it.

`tests/integration/test_registry_lifecycle.py` starts real ones.
"""

import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_spark_source.testing import LocalBrokerError, RegistryStartError, SchemaRegistry
from kafka_spark_source.testing.downloads.distribution import REGISTRY, REGISTRY_JAR
from kafka_spark_source.testing.folders import cache_folder
from kafka_spark_source.testing.processes.identity import ProcessIdentity
from kafka_spark_source.testing.processes.ports import HOST
from kafka_spark_source.testing.processes.waiting import Deadline
from kafka_spark_source.testing.registry import address_in
from tests.spark.testing.scripts import fake_java

# Logs its address as a registry does, and responds with these statuses to GET and to PUT.
FAKE = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Registry(BaseHTTPRequestHandler):
    def respond(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def do_GET(self):
        self.respond(int(sys.argv[1]))
    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.respond(int(sys.argv[2]))

server = HTTPServer(("127.0.0.1", 0), Registry)
print(f"Listening on: http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
"""

UseFake = Callable[..., None]


@pytest.fixture
def use_fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UseFake:
    """`use_fake(code, *arguments)`: Java runs this Python code; the distribution is there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    jar = cache_folder() / REGISTRY / REGISTRY_JAR
    jar.parent.mkdir(parents=True)
    jar.touch()

    def use(code: str, *arguments: str) -> None:
        command = shlex.join([sys.executable, "-c", code, *arguments])
        fake_java(tmp_path, 'openjdk version "17.0.1"', f"exec {command}")

    return use


@pytest.mark.parametrize(
    "use",
    [
        lambda stopped: stopped.url,
        lambda stopped: stopped.ca_file,
        lambda stopped: stopped.client_options,
        lambda stopped: stopped.pid,
        lambda stopped: stopped.supervisor_pid,
        lambda stopped: stopped.folder,
        lambda stopped: stopped.check(),
        lambda stopped: stopped.detach(),
    ],
)
def test_a_stopped_registry_has_nothing(use: Callable[[SchemaRegistry], object]) -> None:
    stopped = SchemaRegistry()
    assert repr(stopped) == "<SchemaRegistry 2.6.13.Final stopped>"
    with pytest.raises(LocalBrokerError, match=r"<SchemaRegistry .* stopped> is not running"):
        use(stopped)
    stopped.stop()


def test_a_given_port_that_is_taken_is_refused_before_the_start(use_fake: UseFake) -> None:
    use_fake("raise SystemExit('started')")
    with socket.create_server((HOST, 0)) as somebody:
        port = somebody.getsockname()[1]
        with pytest.raises(LocalBrokerError, match=f"port {port} of 127.0.0.1 cannot be used"):
            SchemaRegistry(port=port).start()


def test_a_registry_that_is_ready_and_ends(use_fake: UseFake) -> None:
    use_fake(FAKE, "200", "200")
    steps: list[str] = []
    with SchemaRegistry(on_progress=steps.append) as started:
        assert started.url.endswith("/apis/ccompat/v7")
        processes = [ProcessIdentity.of(pid) for pid in (started.pid, started.supervisor_pid)]
        folder = started.folder
        started.check()
        with pytest.raises(LocalBrokerError, match="has been started already"):
            started.start()
    assert steps == ["starting the schema registry"]
    assert not any(each.is_alive for each in processes)
    assert not folder.exists()


def test_a_detached_registry_keeps_running(use_fake: UseFake) -> None:
    use_fake(FAKE, "200", "200")
    with SchemaRegistry() as started:
        process = ProcessIdentity.of(started.pid)
        supervisor = ProcessIdentity.of(started.supervisor_pid)
        started.detach()
    assert "stopped" in repr(started)
    assert process.is_alive
    supervisor.send(signal.SIGTERM)
    assert Deadline(20).wait_for(lambda: not process.is_alive and not supervisor.is_alive)


def test_a_registry_that_dies_later_is_reported_by_check(use_fake: UseFake) -> None:
    use_fake(FAKE, "200", "200")
    with SchemaRegistry() as started:
        process = ProcessIdentity.of(started.pid)
        os.kill(started.pid, signal.SIGKILL)
        assert Deadline(20).wait_for(lambda: not process.is_alive)
        with pytest.raises(RegistryStartError, match=r"was ended by SIGKILL.*(?s:.*)Listening on"):
            started.check()


def test_a_registry_that_ends_at_its_start_is_reported_with_its_log(use_fake: UseFake) -> None:
    use_fake("raise SystemExit('no memory')")
    failing = SchemaRegistry()
    with pytest.raises(RegistryStartError, match="ended with exit code 1") as info:
        failing.start()
    assert info.value.log_tail == ("no memory",)
    assert "stopped" in repr(failing)


@pytest.mark.parametrize(
    ("get", "put"), [("503", "200"), ("200", "500")], ids=["not ready", "no compatibility"]
)
def test_a_registry_that_is_not_ready_in_time(get: str, put: str, use_fake: UseFake) -> None:
    use_fake(FAKE, get, put)
    with pytest.raises(RegistryStartError, match=r"was not ready after 1\.5 s"):
        SchemaRegistry(start_timeout=1.5).start()


def test_a_registry_that_tells_no_address_in_time(use_fake: UseFake) -> None:
    use_fake("import signal; signal.pause()")
    with pytest.raises(RegistryStartError, match=r"0\.3 s\. .*\n    \(the log is empty\)"):
        SchemaRegistry(start_timeout=0.3).start()


@pytest.mark.parametrize(
    ("log", "address"),
    [
        ("INFO started in 2.9s. Listening on: http://127.0.0.1:40123\n", "http://127.0.0.1:40123"),
        ("INFO Listening on: https://127.0.0.1:8443\nmore", "https://127.0.0.1:8443"),
        ("INFO Listening on: http://127.0.0.1:40", None),
        ("INFO starting\n", None),
    ],
    ids=["http", "https", "a line that is not complete", "not yet"],
)
def test_the_address_in_the_log(log: str, address: str | None) -> None:
    assert address_in(log) == address
