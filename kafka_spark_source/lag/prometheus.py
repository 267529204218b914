"""Gauges in Prometheus' text format, in a file or over HTTP.

Nothing of Spark or Kafka belongs here. Source: Prometheus' "Exposition formats", text format 0.0.4.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, NamedTuple

_log = logging.getLogger(__name__)

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PATH: Final = "/metrics"

_IDLE_SECONDS: Final = 10
_LABEL_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Gauge(NamedTuple):
    """A gauge with its current samples.

    Attributes:
        name: Letters, digits and underscores.
        description: One line, without a backslash.
        samples: Labels, different for each sample, and the value.
    """

    name: str
    description: str
    samples: Sequence[tuple[Mapping[str, str], float]]


def render(gauges: Iterable[Gauge]) -> str:
    """Write gauges in Prometheus' text format, in the order given."""
    lines = [
        line
        for gauge in gauges
        for line in (
            f"# HELP {gauge.name} {gauge.description}",
            f"# TYPE {gauge.name} gauge",
            *(f"{gauge.name}{{{_labels(labels)}}} {value}" for labels, value in gauge.samples),
        )
    ]
    return "".join(f"{line}\n" for line in lines)


def write_file(text: str, path: Path) -> None:
    """Replace a file atomically, so that a reader never sees a part of the text.

    For the textfile collector of node_exporter, which reads `*.prom` files.

    Raises:
        OSError: The file cannot be written.
    """
    # Not `tempfile`: only the owner could read such a file.
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_bytes(_encode(text))
    unfinished.replace(path)


class PrometheusServer:
    """Serves a text at `/metrics` from its own thread until it is closed.

    Args:
        text: Returns the text; called for each request, from any thread.
        port: The port to listen on; 0 for any free one.
        host: The address to listen on; `0.0.0.0` for all addresses of this host.

    Attributes:
        port: The port it listens on.

    Raises:
        OSError: The port is in use, or the address is not of this host.
    """

    def __init__(self, text: Callable[[], str], port: int, host: str = "127.0.0.1") -> None:
        self._server = _Server((host, port), _handler_of(text))
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, name=repr(self), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> PrometheusServer:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<PrometheusServer on port {self.port}>"


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{value.translate(_LABEL_ESCAPES)}"' for name, value in labels.items())


def _encode(text: str) -> bytes:
    # Names from JSON may hold a lone surrogate, which UTF-8 cannot encode.
    return text.encode(errors="replace")


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        # The default prints to standard error when a client disconnects.
        _log.debug("A request for the metrics failed", exc_info=True)


def _handler_of(text: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _IDLE_SECONDS

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != PATH:
                self.send_error(404, f"The metrics are at {PATH}")
                return
            body = _encode(text())
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing: there is a request every few seconds."""

    return Handler
