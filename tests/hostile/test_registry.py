"""A registry that tries to give orders: no process, file, address or module is its choice."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kafka_formats.options.settings import SchemaEvolution
from kafka_formats.registry.cache import cache_of
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.errors import KafkaError
from tests.fakes.tls import listening
from tests.formats.suite.places import id_of
from tests.formats.suite.reading import Query, Value, records
from tests.hostile.audit import Deed, watched
from tests.hostile.registry import responses

DRAWS: Final = 500 if os.environ.get("HYPOTHESIS_PROFILE") == "quick" else 10_000
# Not `explain`, which traces each line.
PHASES: Final = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
pytestmark = [pytest.mark.no_cover, pytest.mark.timeout(3_600)]

TIMEOUT_MS: Final = "100"
PROTOC = re.compile(
    r"--(?:proto_path|descriptor_set_out|descriptor_set_in)="
    + re.escape(tempfile.gettempdir())
    + r"/pykafka-proto-\w+/(?:files|out|known)|--include_imports|[0-9a-f]{16}_\d+\.proto"
)


class Registry:
    """A server on a socket whose responses follow from the path; some come byte by byte."""

    def __init__(self) -> None:
        self.address = Address("", 0)
        self.responses: list[bytes] = [b""]
        self.is_slow = False

    def serve(self, sock: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request and (data := sock.recv(65_536)):
            request += data
        target = request.split(b" ")[1] if request.count(b" ") > 1 else b""
        response = self.responses[zlib.crc32(target) % len(self.responses)]
        if not self.is_slow:
            sock.sendall(response)
            return
        sock.settimeout(0.01)
        for at in range(len(response)):
            sock.sendall(response[at : at + 1])
            with suppress(TimeoutError):
                if not sock.recv(1):
                    return


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    server = Registry()
    with listening(server.serve) as address:
        server.address = address
        yield server


def refuses(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
    """In place of protoc, which takes half a second; `test_with_the_real_protoc` has it."""
    assert_is_protoc(command)
    return subprocess.CompletedProcess(command, 1, "", "refused")


def assert_is_protoc(command: list[str]) -> None:
    assert command[:3] == [sys.executable, "-m", "grpc_tools.protoc"]
    assert all(PROTOC.fullmatch(each) for each in command[3:]), command


# Of our own classes and of libraries that they are made of.
MODULES: Final = frozenset(
    ("builtins", "_codecs", "collections", "copyreg", "decimal", "functools", "kafka_formats")
) | {"kafka_protocol", "pyarrow", "uuid"}
# protoc's files, and Python's own work when it first imports one of our modules.
FILES: Final = re.compile(
    rf"{re.escape(tempfile.gettempdir())}/pykafka-proto-\w+(?:/[\w.]+)*|.*\.pyc(?:\.\d+)?|/dev/null|\d+"
    # Names in a folder that is open.
    r"|files|out|known|[0-9a-f]{16}_\d+\.proto"
)


def judge(deeds: list[Deed], registry: Registry) -> None:
    """No deed that this code does not do for an honest registry, too."""
    ours = (registry.address.host, registry.address.port)
    for event, arguments in deeds:
        match event:
            case "subprocess.Popen":
                assert_is_protoc(arguments[1])
            case "socket.connect":
                assert arguments[1][1:] == ours[1:], arguments
                assert arguments[1][0] == "127.0.0.1", arguments
            case "socket.getaddrinfo":
                assert arguments[:2] == ours, arguments
            case "pickle.find_class":
                assert arguments[0].partition(".")[0] in MODULES, arguments
            case "open" | "os.mkdir" | "tempfile.mkdtemp" | "os.rmdir" | "os.remove" | "os.rename":
                assert FILES.fullmatch(str(arguments[0])), (event, arguments)
            case "shutil.rmtree":
                assert FILES.fullmatch(str(arguments[0])), (event, arguments)
            case _:
                raise AssertionError(event, arguments)


def read(
    registry: Registry, format_: str, evolution: SchemaEvolution, payloads: list[bytes]
) -> None:
    """A whole read: what the driver plans, and what a task does."""
    options = {
        "value.format": format_,
        "value.schema.evolution": evolution.value,
        "mode": "PERMISSIVE",
        "schema.registry.url": f"http://{registry.address.host}:{registry.address.port}",
        "schema.registry.max.retries": "0",
        "schema.registry.request.timeout.ms": TIMEOUT_MS,
    }
    query = Query(options, ["value"])
    cache_of.cache_clear()  # an executor has its own
    list(query.decode(records([*map(Value, payloads)])))


@settings(max_examples=DRAWS, phases=PHASES)
@given(st.data())
def test_a_hostile_registry_gives_no_orders(registry: Registry, data: st.DataObject) -> None:
    run(registry, data)


@settings(max_examples=DRAWS // 50, phases=PHASES)
@given(st.data())
def test_with_the_real_protoc(registry: Registry, data: st.DataObject) -> None:
    run(registry, data, format_="protobuf", protoc=subprocess.run)


def run(registry: Registry, data: st.DataObject, format_: str = "", protoc: Any = refuses) -> None:
    format_ = format_ or data.draw(st.sampled_from(["avro", "json", "protobuf"]))
    registry.responses = data.draw(st.lists(responses(format_), min_size=1, max_size=6))
    registry.is_slow = data.draw(st.integers(0, 99)) == 0
    evolution = data.draw(st.sampled_from(SchemaEvolution))
    ids = data.draw(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 4), max_size=4))
    rests = data.draw(st.lists(st.binary(max_size=20), min_size=len(ids), max_size=len(ids)))
    payloads = [id_of(each) + rest for each, rest in zip(ids, rests, strict=True)]
    cache_of.cache_clear()
    with pytest.MonkeyPatch.context() as patch, watched() as deeds:
        patch.setattr("subprocess.run", protoc)
        with suppress(KafkaError):
            read(registry, format_, evolution, payloads)
    judge(deeds, registry)
    assert not Path("canary").exists()
