"""Numbers as Prometheus reads them: its text format, in a file or over HTTP.

Knows nothing of Spark or Kafka. Source: Prometheus' "Exposition formats", text format 0.0.4.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

_log = logging.getLogger(__name__)

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PATH: Final = "/metrics"

_IDLE_SECONDS: Final = 10
_LABEL_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Gauge(NamedTuple):
    """A number that goes up and down, with what it was last seen at.

    Attributes:
        name: Letters, digits and underscores.
        description: One line, without a backslash.
        samples: Labels, which no two samples share, and the value.
    """

    name: str
    description: str
    samples: Sequence[tuple[Mapping[str, str], int]]


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
    """Replace a file in one step, so that whoever reads it sees all of the text or none.

    For the textfile collector of node_exporter, which reads what is called `*.prom`.

    Raises:
        OSError: The file cannot be written.
    """
    # Not a temporary file of Python's: those can be read by their owner only.
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_bytes(_encode(text))
    unfinished.replace(path)


class PrometheusServer:
    """Serves a text at `/metrics` until it is closed, from a thread of its own.

    Args:
        text: Makes the text, anew for each request, in any thread.
        port: Where to listen; 0 for any that is free.
        host: The address to listen at; `0.0.0.0` for all of this machine's.

    Attributes:
        port: Where it listens.

    Raises:
        OSError: The port is taken, or the address is not this machine's.
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<PrometheusServer on port {self.port}>"


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{value.translate(_LABEL_ESCAPES)}"' for name, value in labels.items())


def _encode(text: str) -> bytes:
    # What came from JSON can hold half of a surrogate pair, which has no UTF-8.
    return text.encode(errors="replace")


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        # Python's own would print to standard error whenever somebody hangs up.
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
            """Say nothing: a request comes every few seconds."""

    return Handler
