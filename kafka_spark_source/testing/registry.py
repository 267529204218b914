"""`SchemaRegistry`: a real schema registry on this machine, for the duration of a `with` block.

It is Apicurio Registry, which has the REST API of Confluent's Schema Registry. This is the public
interface; each module beside it does one part of the work.
"""

from __future__ import annotations

import atexit
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_spark_source.testing.broker.commands import (
    DEFAULT_HEAP,
    FAST_START_FLAGS,
    Runtime,
    registry_command,
)
from kafka_spark_source.testing.broker.keys import make_keys
from kafka_spark_source.testing.broker.properties import render
from kafka_spark_source.testing.downloads.distribution import REGISTRY_VERSION, find_distribution
from kafka_spark_source.testing.errors import LocalBrokerError, RegistryStartError
from kafka_spark_source.testing.java import find_java
from kafka_spark_source.testing.processes.log_tail import how_it_ended, relevant_lines
from kafka_spark_source.testing.processes.ports import HeldPorts
from kafka_spark_source.testing.processes.processes import SupervisedProcesses
from kafka_spark_source.testing.processes.waiting import Deadline
from kafka_spark_source.testing.registry_api import RegistryApi

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from typing_extensions import Self

    from kafka_spark_source.testing.broker.layout import KeyFiles

_NAME = "registry"
_LISTENING = re.compile(r"Listening on: (https?://[\d.]+:\d+)\n")
_KEYSTORE_PASSWORD = "quarkus.http.ssl.certificate.key-store-password"  # noqa: S105 - a name


@dataclass(frozen=True)
class _Started:
    """A registry that is ready."""

    api: RegistryApi
    keys: KeyFiles | None
    pid: int


class SchemaRegistry:
    """A schema registry on loopback, with all data in memory; it ends with the `with` block.

    It also ends with this process, even if that is killed: a supervisor process owns its JVM and
    its folder. Registries do not share data. The compatibility is Confluent's default, BACKWARD.

    Args:
        tls: Whether it is https, with a new certificate authority, or plain http.
        port: The port; by default a free one.
        heap: Java's `-Xmx`.
        jvm_flags: Other Java flags; the default is for a fast start, not for fast code.
        start_timeout: The most seconds until it is ready.
        on_progress: Called with a short text before each slow step.

    Raises:
        LocalBrokerError: From `start`: no Java, no distribution, the port is in use, or a registry
            that did not start (`RegistryStartError`, with the end of its log).

    Example:
        >>> with SchemaRegistry() as registry:  # doctest: +SKIP
        ...     registry.url
        'http://127.0.0.1:40123/apis/ccompat/v7'
    """

    version = REGISTRY_VERSION

    def __init__(  # noqa: PLR0913 - each is an option of the user, with a default
        self,
        *,
        tls: bool = False,
        port: int | None = None,
        heap: str = DEFAULT_HEAP,
        jvm_flags: Sequence[str] = FAST_START_FLAGS,
        start_timeout: float = 60.0,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        self._tls = tls
        self._port = port
        self._heap = heap
        self._jvm_flags = tuple(jvm_flags)
        self._start_timeout = start_timeout
        self._on_progress = on_progress or _ignore_progress
        self._processes: SupervisedProcesses | None = None
        self._started: _Started | None = None

    def __repr__(self) -> str:
        return f"<SchemaRegistry {self.version} {self.url if self._started else 'stopped'}>"

    def __enter__(self) -> Self:
        if self._processes is None:
            self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the registry and waits until it is ready."""
        if self._processes is not None:
            raise LocalBrokerError(f"{self!r} has been started already")
        java = find_java()
        home = find_distribution(java, self._on_progress)
        if self._port:
            _require_free(self._port)
        self._processes = SupervisedProcesses()
        atexit.register(self.stop)
        try:
            self._launch(Runtime(java, home, self._heap, self._jvm_flags))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kills the process and removes its folder, if the registry was started."""
        atexit.unregister(self.stop)
        self._started = None
        if self._processes is not None:
            self._processes.close()
            self._processes = None

    def detach(self) -> None:
        """Keeps the registry running after this process; this object no longer controls it.

        Then SIGTERM to the process `supervisor_pid` ends everything.
        """
        self._require_processes().detach()
        self._processes = None
        self.stop()

    def check(self) -> None:
        """Checks that the registry runs.

        Raises:
            RegistryStartError: It ended unexpectedly; the message has the end of its log.
        """
        code = self._require_processes().exit_codes()[_NAME]
        if code is not None:
            raise self._failure(how_it_ended(code))

    @property
    def url(self) -> str:
        """The base URL of Confluent's REST API, the value of `schema.registry.url`."""
        return self._require_start().api.url

    @property
    def ca_file(self) -> Path | None:
        """The certificate authority that clients must trust, PEM; None without TLS."""
        keys = self._require_start().keys
        return keys.ca_file if keys else None

    @property
    def client_options(self) -> dict[str, str]:
        """The options of a client: `schema.registry.url`, and the options of TLS."""
        options = {"url": self.url}
        if self.ca_file:
            options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.ca_file)}
        return {f"schema.registry.{name}": value for name, value in options.items()}

    @property
    def pid(self) -> int:
        """The process id of the registry."""
        return self._require_start().pid

    @property
    def supervisor_pid(self) -> int:
        """The process id of the supervisor, which owns the registry."""
        return self._require_processes().supervisor_pid

    @property
    def folder(self) -> Path:
        """The temporary folder with the log and keys."""
        return self._require_processes().folder

    @property
    def log_file(self) -> Path:
        """The output of the registry."""
        return self.folder / "registry.log"

    def _launch(self, runtime: Runtime) -> None:
        deadline = Deadline(self._start_timeout)
        keys = make_keys(runtime.java, self.folder / "keys") if self._tls else None
        if keys:
            self._write_keystore_password(keys.password)
        self._on_progress("starting the schema registry")
        command = registry_command(
            runtime, self.folder, self._port or 0, keys.keystore if keys else None
        )
        pid = self._require_processes().start(_NAME, command, self.folder, self.log_file)
        self._wait(lambda: address_in(self._log()) is not None, deadline)
        api = RegistryApi(address_in(self._log()) or "", keys.ca_file if keys else None)
        self._wait(api.is_ready, deadline)
        self._wait(api.set_default_compatibility, deadline)
        self._started = _Started(api, keys, pid)

    def _write_keystore_password(self, password: str) -> None:
        """Writes the file of settings that the registry reads in its working directory."""
        settings = self.folder / "config" / "application.properties"
        settings.parent.mkdir()
        settings.write_text(render({_KEYSTORE_PASSWORD: password}), encoding="ascii")

    def _wait(self, condition: Callable[[], bool], deadline: Deadline) -> None:
        def holds() -> bool:
            self.check()
            return condition()

        if not deadline.wait_for(holds):
            raise self._failure(f"was not ready after {deadline.seconds:g} s")

    def _log(self) -> str:
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    def _failure(self, reason: str) -> RegistryStartError:
        return RegistryStartError(
            f"the schema registry (Apicurio Registry {self.version}) {reason}",
            relevant_lines(self._log().splitlines()),
        )

    def _require_processes(self) -> SupervisedProcesses:
        if self._processes is None:
            raise LocalBrokerError(f"{self!r} is not running")
        return self._processes

    def _require_start(self) -> _Started:
        if self._started is None:
            raise LocalBrokerError(f"{self!r} is not running")
        return self._started


def address_in(log: str) -> str | None:
    """The address in a line of the log; None before that line is complete."""
    match = _LISTENING.search(log)
    return match.group(1) if match else None


def _require_free(port: int) -> None:
    """Checks a given port. The registry chooses any other port itself, so none is held."""
    ports = HeldPorts()
    ports.take(port)
    ports.close()


def _ignore_progress(_text: str) -> None:
    """The default of `on_progress`."""
