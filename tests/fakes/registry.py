"""A schema registry in this process, for what a real one cannot be made to do."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote


class Received(NamedTuple):
    """A request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class Reply(NamedTuple):
    """A response; `values` become JSON unless there is a body."""

    status: int = 200
    values: Any = None
    body: bytes | None = None
    headers: Mapping[str, str] = {}


class FakeRegistry:
    """Responds to each request with what `respond` says, and keeps the requests."""

    def __init__(self, respond: Callable[[Received], Reply]) -> None:
        self.respond = respond
        self.received: list[Received] = []
        self.url = ""

    @property
    def paths(self) -> list[str]:
        """Of all requests."""
        return [each.path for each in self.received]


def subjects(
    tells_places: bool = True, /, **versions: list[dict[str, Any]]
) -> Callable[[Received], Reply]:
    """The responses of a registry with these schemas, by subject; `__` stands for a hyphen.

    Each version is the body of a response: schema, id, schemaType, references. An old registry
    does not tell the places of a schema.
    """
    known = {name.replace("__", "-"): found for name, found in versions.items()}
    by_id = {each["id"]: each for found in known.values() for each in found}

    def places_of(schema_id: int) -> Reply:
        if not tells_places:
            return Reply(404, {"error_code": 404, "message": "HTTP 404 Not Found"})
        places = [
            {"subject": subject, "version": number}
            for subject, listed in known.items()
            for number, each in enumerate(listed, 1)
            if each["id"] == schema_id
        ]
        return Reply(values=places)

    def respond(request: Received) -> Reply:
        parts = request.path.partition("?")[0].strip("/").split("/")
        parts = [*map(unquote, parts)]
        if parts[:2] == ["schemas", "ids"]:
            found = by_id.get(int(parts[2]))
            if parts[3:] and (found or not tells_places):
                return places_of(int(parts[2]))
            return Reply(values=found) if found else Reply(404, {"error_code": 40403})
        if parts == ["subjects"]:
            return Reply(values=[*known])
        return _version_of(known, parts)

    return respond


def _version_of(known: Mapping[str, list[dict[str, Any]]], parts: list[str]) -> Reply:
    found_versions = known.get(parts[1])
    if found_versions is None:
        return Reply(404, {"error_code": 40401, "message": "Subject not found"})
    if len(parts) == 3:
        return Reply(values=[*range(1, len(found_versions) + 1)])
    number = len(found_versions) if parts[3] == "latest" else int(parts[3])
    if number > len(found_versions):
        return Reply(404, {"error_code": 40402, "message": "Version not found"})
    numbered = {"subject": parts[1], "version": number}
    return Reply(values=found_versions[number - 1] | numbered)


@contextmanager
def registry(respond: Callable[[Received], Reply]) -> Iterator[FakeRegistry]:
    """A registry that runs in a thread."""
    fake = FakeRegistry(respond)

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            request = Received(self.command, self.path, dict(self.headers), body)
            fake.received.append(request)
            reply = fake.respond(request)
            content = json.dumps(reply.values).encode() if reply.body is None else reply.body
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _reply

        def log_message(self, *_arguments: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
