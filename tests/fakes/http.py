"""A server over HTTP whose responses a test scripts: endpoints of identities."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit


class Received(NamedTuple):
    """A request: its path, the fields of query and form, and its headers in lower case."""

    path: str
    fields: Mapping[str, str]
    headers: Mapping[str, str]


class Server:
    """Responds to each request with a status and JSON, and keeps the requests."""

    def __init__(self, respond: Callable[[Received], tuple[int, Any]]) -> None:
        self.respond = respond
        self.received: list[Received] = []
        self.url = ""


@contextmanager
def serving(respond: Callable[[Received], tuple[int, Any]]) -> Iterator[Server]:
    """A server that runs in a thread."""
    server = Server(respond)

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            listed = {**parse_qs(parts.query), **parse_qs(body)}
            fields = {name: values[0] for name, values in listed.items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Received(parts.path, fields, headers)
            server.received.append(request)
            status, values = server.respond(request)
            content = values.encode() if isinstance(values, str) else json.dumps(values).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Metadata-Flavor", "Google")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _reply

        def log_message(self, *_arguments: object) -> None:
            """Write nothing."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{listener.server_port}"
    try:
        yield server
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()
