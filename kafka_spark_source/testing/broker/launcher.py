"""Starts the processes of one cluster from its layout, and reports why a start failed.

Knows which processes run and which should. It must not choose releases, ports or properties.
"""

from __future__ import annotations

import re
import signal
import ssl
from functools import partial
from typing import TYPE_CHECKING

from kafka_spark_source.testing.broker import probe
from kafka_spark_source.testing.broker.commands import (
    Runtime,
    broker_command,
    format_command,
    tool_command,
    zookeeper_command,
)
from kafka_spark_source.testing.broker.properties import (
    logging_properties,
    render,
    server_properties,
    zookeeper_properties,
)
from kafka_spark_source.testing.errors import BrokerStartError
from kafka_spark_source.testing.processes.log_tail import how_it_ended, relevant_lines
from kafka_spark_source.testing.processes.ports import HOST
from kafka_spark_source.testing.releases import Quorum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from kafka_spark_source.testing.broker.layout import ClusterLayout, NodeLayout
    from kafka_spark_source.testing.processes.processes import SupervisedProcesses
    from kafka_spark_source.testing.processes.waiting import Deadline

_ZOOKEEPER = "ZooKeeper"
_PORT_TAKEN = re.compile("address already in use", re.IGNORECASE)
# ZooKeeper keeps a killed broker's registration until its session ends.
_STILL_REGISTERED = re.compile("NodeExists|already registered", re.IGNORECASE)


class Launcher:
    """The processes of one cluster."""

    def __init__(
        self, runtime: Runtime, layout: ClusterLayout, processes: SupervisedProcesses
    ) -> None:
        self._runtime = runtime
        self._layout = layout
        self._processes = processes
        self._logs = {node.name: node.log_file for node in layout.nodes}
        self._logs[_ZOOKEEPER] = layout.zookeeper_folder / "zookeeper.log"
        self._log_starts: dict[str, int] = {}
        self._expected: set[str] = set()
        self._pids: dict[str, int] = {}
        self._tls = _trust(layout.keys.ca_file) if layout.keys else None

    def start_all(self, deadline: Deadline, on_progress: Callable[[str], None]) -> None:
        """Starts all processes and waits until every broker knows all others.

        Raises:
            BrokerStartError: A process ended, or the deadline passed.
        """
        self._write_files()
        if self._layout.release.quorum is Quorum.KRAFT:
            on_progress("formatting the data folders")
            self._format_data(deadline)
        else:
            on_progress("starting ZooKeeper")
            self._start_zookeeper(deadline)
        on_progress(f"starting {len(self._layout.nodes)} Kafka node(s)")
        for node in self._layout.nodes:
            self._start_broker(node)
        self._wait_until_ready(self._layout.nodes, deadline)

    def restart(self, node: NodeLayout, deadline: Deadline) -> None:
        """Starts a stopped broker again and waits until it knows all running brokers.

        Raises:
            BrokerStartError: It ended, or the deadline passed.
        """
        while True:
            self._start_broker(node)
            try:
                self._wait_until_ready([node], deadline)
            except BrokerStartError:
                can_retry = _STILL_REGISTERED.search(self._log_since_start(node.name))
                if deadline.has_passed or not can_retry:
                    raise
            else:
                return

    def check(self) -> None:
        """Checks that all expected processes run.

        Raises:
            BrokerStartError: A process ended; raised once for each process.
        """
        codes = self._processes.exit_codes()
        for name in sorted(self._expected):
            if codes[name] is not None:
                self._expected.discard(name)
                raise self._failure(name)

    def kill_all(self) -> None:
        """Kills all processes, before another attempt."""
        for name in self._log_starts:
            self._processes.signal(name, signal.SIGKILL)

    def lost_a_port(self) -> bool:
        """Whether a process failed because another one listens on its port."""
        return any(_PORT_TAKEN.search(self._log_since_start(name)) for name in self._log_starts)

    def pid(self, name: str) -> int | None:
        """The process id, or None while the process does not run."""
        return self._pids[name] if self._exit_code(name) is None else None

    def send(self, node: NodeLayout, signal_number: signal.Signals) -> None:
        """Sends a signal to a broker."""
        self._processes.signal(node.name, signal_number)

    def expect(self, node: NodeLayout, *, ready: bool) -> None:
        """Sets whether other brokers must see this one: not while it is paused or stopped."""
        (self._expected.add if ready else self._expected.discard)(node.name)

    def run_tool(self, main_class: str, arguments: Sequence[str], deadline: Deadline) -> None:
        """Runs one of Kafka's own tools to its end.

        Raises:
            BrokerStartError: It failed, or took too long.
        """
        name = main_class.rpartition(".")[2]
        self._logs[name] = self._layout.folder / f"{name}.log"
        command = tool_command(self._runtime, self._layout, main_class, arguments)
        self._start_process(name, command, self._layout.folder)
        self._wait_for_success(name, deadline)

    def wait_for_end(self, node: NodeLayout, deadline: Deadline) -> bool:
        """Whether the broker's process ended before the deadline."""
        return deadline.wait_for(lambda: self._exit_code(node.name) is not None)

    def _write_files(self) -> None:
        layout = self._layout
        _write(layout.logging_file, logging_properties(layout.release.log_system))
        for node in layout.nodes:
            node.data.mkdir(parents=True)
            _write(node.properties_file, server_properties(layout, node))
        if layout.zookeeper_port:
            layout.zookeeper_folder.mkdir()
            file = layout.zookeeper_folder / "zookeeper.properties"
            _write(file, zookeeper_properties(layout))

    def _format_data(self, deadline: Deadline) -> None:
        names = []
        for node in self._layout.nodes:
            name = f"the formatting of {node.name}'s data"
            self._logs[name] = node.folder / "format.log"
            command = format_command(self._runtime, self._layout, node)
            self._start_process(name, command, node.folder)
            names.append(name)
        for name in names:
            self._wait_for_success(name, deadline)

    def _wait_for_success(self, name: str, deadline: Deadline) -> None:
        if not deadline.wait_for(lambda: self._exit_code(name) is not None):
            failure = self._failure(name, f"did not end within {deadline.seconds:g} s")
            self._processes.signal(name, signal.SIGKILL)
            raise failure
        if self._exit_code(name):
            raise self._failure(name)

    def _start_zookeeper(self, deadline: Deadline) -> None:
        folder = self._layout.zookeeper_folder
        command = zookeeper_command(self._runtime, self._layout)
        self._start_process(_ZOOKEEPER, command, folder)
        self._expected.add(_ZOOKEEPER)
        address = (HOST, self._layout.zookeeper_port or 0)
        self._wait(lambda: probe.zookeeper_serves(address), _ZOOKEEPER, deadline)

    def _start_broker(self, node: NodeLayout) -> None:
        command = broker_command(self._runtime, self._layout, node)
        self._start_process(node.name, command, node.folder)
        self._expected.add(node.name)

    def _start_process(self, name: str, command: list[str], folder: Path) -> None:
        log = self._logs[name]
        self._log_starts[name] = log.stat().st_size if log.exists() else 0
        self._pids[name] = self._processes.start(name, command, folder, log)

    def _wait_until_ready(self, nodes: Iterable[NodeLayout], deadline: Deadline) -> None:
        for node in nodes:
            self._wait(partial(self._is_ready, node), node.name, deadline)

    def _is_ready(self, node: NodeLayout) -> bool:
        running = {each.node_id for each in self._layout.nodes if each.name in self._expected}
        return self._responds(node) and running <= self._registered(node)

    def _registered(self, node: NodeLayout) -> frozenset[int]:
        if self._layout.release.lists_brokers_at_once:
            return probe.registered_brokers((HOST, node.internal_port))
        return probe.zookeeper_brokers((HOST, self._layout.zookeeper_port or 0))

    def _responds(self, node: NodeLayout) -> bool:
        address = (HOST, node.port)
        # The probe has no client certificate, and the oldest releases have no ApiVersions.
        if "ssl.client.auth" in self._layout.config or not self._layout.release.has_api_versions:
            return probe.accepts(address)
        return probe.answers_api_versions(address, self._tls)

    def _wait(self, condition: Callable[[], bool], name: str, deadline: Deadline) -> None:
        """Waits for `condition` while all expected processes run."""

        def holds() -> bool:
            self.check()
            return condition()

        if not deadline.wait_for(holds):
            raise self._failure(name, f"was not ready after {deadline.seconds:g} s")

    def _failure(self, name: str, timeout: str = "") -> BrokerStartError:
        port = next((node.port for node in self._layout.nodes if node.name == name), None)
        where = f" ({HOST}:{port})" if port else ""
        code = self._exit_code(name)
        reason = timeout if code is None else how_it_ended(code)
        return BrokerStartError(
            f"Kafka {self._layout.release.version}: {name}{where} {reason}",
            relevant_lines(self._log_since_start(name).splitlines()),
        )

    def _exit_code(self, name: str) -> int | None:
        return self._processes.exit_codes()[name]

    def _log_since_start(self, name: str) -> str:
        log = self._logs[name]
        if not log.exists():
            return ""
        with log.open("rb") as stream:
            stream.seek(self._log_starts[name])
            return stream.read().decode(errors="replace")


def _trust(ca_file: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(ca_file))


def _write(path: Path, properties: dict[str, str]) -> None:
    path.write_text(render(properties), encoding="ascii")
