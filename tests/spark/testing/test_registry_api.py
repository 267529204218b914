"""The requests of a registry's start, against a small HTTP server."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kafka_spark_source.testing.processes.ports import HOST, HeldPorts
from kafka_spark_source.testing.registry_api import RegistryApi


class FakeRegistry(BaseHTTPRequestHandler):
    """Responds with one status, and keeps the last request."""

    status = 200
    last: tuple[str, str, Any] = ("", "", None)

    def do_GET(self) -> None:
        self._respond()

    def do_PUT(self) -> None:
        self._respond()

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        type(self).last = (self.command, self.path, json.loads(body or b"null"))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """The default writes to standard error."""


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[RegistryApi]:
    # A proxy of the user must not get these requests.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    FakeRegistry.status = 200
    with ThreadingHTTPServer((HOST, 0), FakeRegistry) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield RegistryApi(f"http://{HOST}:{server.server_port}")
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "is_ready"), [(200, True), (503, False), (404, False)])
def test_ready_is_status_200(status: int, is_ready: bool, api: RegistryApi) -> None:
    FakeRegistry.status = status
    assert api.is_ready() is is_ready
    assert FakeRegistry.last == ("GET", "/health/ready", None)


@pytest.mark.parametrize(("status", "is_done"), [(200, True), (500, False)])
def test_the_compatibility_is_confluents_default(
    status: int, is_done: bool, api: RegistryApi
) -> None:
    FakeRegistry.status = status
    assert api.set_default_compatibility() is is_done
    body = {"compatibility": "BACKWARD"}
    assert FakeRegistry.last == ("PUT", "/apis/ccompat/v7/config", body)
    assert api.url == f"{api.address}/apis/ccompat/v7"


def test_nobody_listens() -> None:
    ports = HeldPorts()
    api = RegistryApi(f"http://{HOST}:{ports.take()}")
    assert not api.is_ready()
    assert not api.set_default_compatibility()
    ports.close()


def test_a_response_that_is_not_http() -> None:
    with socket.create_server((HOST, 0)) as server:
        api = RegistryApi(f"http://{HOST}:{server.getsockname()[1]}")
        with ThreadPoolExecutor() as threads:
            ready = threads.submit(api.is_ready)
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"nonsense\r\n\r\n")
            assert ready.result() is False
