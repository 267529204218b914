"""A registry that is not started; `tests/integration/test_registry_lifecycle.py` has the others."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_spark_source.testing import LocalBrokerError, SchemaRegistry, registry
from kafka_spark_source.testing.ports import HOST


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


def test_a_given_port_that_is_taken_is_refused_before_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "find_java", Path)
    monkeypatch.setattr(registry, "find_distribution", lambda *_: Path())
    monkeypatch.setattr(registry, "SupervisedProcesses", None)
    with socket.create_server((HOST, 0)) as somebody:
        port = somebody.getsockname()[1]
        with pytest.raises(LocalBrokerError, match=f"port {port} of 127.0.0.1 cannot be used"):
            SchemaRegistry(port=port).start()


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
    assert registry.address_in(log) == address
