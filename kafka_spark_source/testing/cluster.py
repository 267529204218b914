"""`KafkaCluster`: a real Kafka on this machine, for as long as a `with` block lasts.

This is the whole public interface; the modules beside it each do one part of the work. Nothing of
the protocol package is used here, so that its tests can stand on this one.
"""

from __future__ import annotations

import atexit
import base64
import secrets
import shutil
import signal
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_spark_source.testing.commands import DEFAULT_HEAP, FAST_START_FLAGS, Runtime
from kafka_spark_source.testing.errors import BrokerStartError, LocalBrokerError
from kafka_spark_source.testing.jars import find_jars
from kafka_spark_source.testing.java import find_java
from kafka_spark_source.testing.keys import make_keys
from kafka_spark_source.testing.launcher import Launcher
from kafka_spark_source.testing.layout import USERNAME, ClusterLayout, NodeLayout
from kafka_spark_source.testing.ports import HOST, HeldPorts
from kafka_spark_source.testing.processes import SupervisedProcesses
from kafka_spark_source.testing.properties import client_options
from kafka_spark_source.testing.releases import (
    NEWEST,
    ListenerStyle,
    Quorum,
    Release,
    find_release,
)
from kafka_spark_source.testing.waiting import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

_PORT_ATTEMPTS = 4
_STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Broker:
    """One broker of a running cluster, as it is at this moment.

    Attributes:
        node_id: Its id, from 1.
        host: Where clients reach it.
        port: Where clients reach it.
        pid: Its process, or None while it does not run.
        log_file: What it printed.
    """

    node_id: int
    host: str
    port: int
    pid: int | None
    log_file: Path


class KafkaCluster:
    """A Kafka cluster of real brokers on loopback, gone when the `with` block ends.

    It ends too when this process does, whichever way: its JVMs and its folder belong to a
    supervisor process that notices.

    Args:
        version: A release of `kafka_spark_source.testing.releases.RELEASES`.
        nodes: How many brokers; from 3.9 on each is a KRaft controller as well.
        security: The client listener's protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
        config: More server properties, for every broker; they win over the built-in ones. In a
            value `{port}` and `{node_id}` stand for the broker's own.
        port: The first broker's port, the others taking those after it; else the kernel chooses.
        heap: Java's `-Xmx` for each broker.
        jvm_flags: Java's other flags; the default makes it start fast, not run fast.
        start_timeout: Seconds that the cluster, or a restarted broker, may take to be ready.
        on_progress: Told in a few words what is being waited for.

    Raises:
        LocalBrokerError: The arguments do not fit together; from `start`, no Java, no jars, or a
            broker that did not come up (`BrokerStartError`, with the end of its log).

    Example:
        >>> with KafkaCluster(nodes=3) as cluster:  # doctest: +SKIP
        ...     cluster.bootstrap_servers
        '127.0.0.1:40123,127.0.0.1:40127,127.0.0.1:40131'
    """

    def __init__(  # noqa: PLR0913 - each is a choice of the user's, with a default
        self,
        version: str = NEWEST,
        nodes: int = 1,
        security: str = "PLAINTEXT",
        *,
        config: Mapping[str, str] | None = None,
        port: int | None = None,
        heap: str = DEFAULT_HEAP,
        jvm_flags: Sequence[str] = FAST_START_FLAGS,
        start_timeout: float = 60.0,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        self._release = find_release(version)
        _check(self._release, nodes, security)
        self.version = version
        self.security = security
        self._node_count = nodes
        self._config = dict(config or {})
        self._port = port
        self._heap = heap
        self._jvm_flags = tuple(jvm_flags)
        self._start_timeout = start_timeout
        self._on_progress = on_progress or _say_nothing
        self._ports = HeldPorts()
        self._processes: SupervisedProcesses | None = None
        self._started: tuple[ClusterLayout, Launcher] | None = None

    def __repr__(self) -> str:
        state = self.bootstrap_servers if self._started else "stopped"
        return f"<KafkaCluster {self.version} {self.security} {state}>"

    def __enter__(self) -> Self:
        if self._processes is None:
            self.start()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the cluster and waits until it is ready."""
        if self._processes is not None:
            raise LocalBrokerError(f"{self!r} has been started already")
        java = find_java()
        jars = find_jars(self.version, java, self._on_progress)
        self._processes = SupervisedProcesses()
        atexit.register(self.stop)
        try:
            self._bring_up(Runtime(java, jars, self._heap, self._jvm_flags), self._processes)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kills all processes and removes the folder; does nothing where there are none.

        The data goes with them, so no broker is given time to write it.
        """
        atexit.unregister(self.stop)
        self._started = None
        if self._processes is not None:
            self._processes.close()
            self._processes = None
        self._ports.close()

    def detach(self) -> None:
        """Lets the cluster live on when this process ends; this object can do no more with it.

        From then on SIGTERM to the process `supervisor_pid` ends everything.
        """
        if self._processes is None:
            raise LocalBrokerError(f"{self!r} is not running")
        self._processes.detach()
        self._processes = None
        self.stop()

    def check(self) -> None:
        """Looks after the processes.

        Raises:
            BrokerStartError: One ended that nobody asked to; the message has the end of its log.
        """
        self._launcher.check()

    @property
    def bootstrap_servers(self) -> str:
        """Every broker's address, as clients want it: `127.0.0.1:40123,...`."""
        return ",".join(f"{HOST}:{node.port}" for node in self._layout.nodes)

    @property
    def brokers(self) -> list[Broker]:
        """The brokers, by node id."""
        return [
            Broker(node.node_id, HOST, node.port, self._launcher.pid(node.name), node.log_file)
            for node in self._layout.nodes
        ]

    @property
    def supervisor_pid(self) -> int:
        """The process that owns all others."""
        if self._processes is None:
            raise LocalBrokerError(f"{self!r} is not running")
        return self._processes.supervisor_pid

    @property
    def folder(self) -> Path:
        """The temporary folder with all data, logs, configuration and keys."""
        return self._layout.folder

    @property
    def username(self) -> str | None:
        """The user that a SASL listener knows."""
        return USERNAME if self._layout.uses_sasl else None

    @property
    def password(self) -> str | None:
        """The password of `username`."""
        return self._layout.password if self._layout.uses_sasl else None

    @property
    def sasl_mechanisms(self) -> tuple[str, ...]:
        """What a SASL listener offers."""
        return self._release.sasl_mechanisms if self._layout.uses_sasl else ()

    @property
    def ca_file(self) -> Path | None:
        """The certificate authority that clients of a TLS listener must trust, PEM."""
        return self._layout.keys.ca_file if self._layout.keys else None

    @property
    def client_options(self) -> dict[str, str]:
        """What clients must be told, in the Java client's names; Spark wants `kafka.` before."""
        return client_options(self._layout)

    def log_dir(self, node_id: int) -> Path:
        """The broker's data folder, with one folder for each partition."""
        return self._node(node_id).data

    def create_topic(self, topic: str, partitions: int = 1, replication_factor: int = 1) -> None:
        """Creates a topic with the tool of a release with ZooKeeper.

        Before 0.10.1 there is no request for it. Elsewhere any Kafka client will do, in a moment.

        Raises:
            BrokerStartError: The tool failed; the message has what it said.
        """
        if self._layout.zookeeper_port is None:
            raise LocalBrokerError(f"Kafka {self.version}: create topics with a Kafka client")
        options = {
            "--zookeeper": f"{HOST}:{self._layout.zookeeper_port}",
            "--topic": topic,
            "--partitions": str(partitions),
            "--replication-factor": str(replication_factor),
        }
        arguments = ["--create", *(word for option in options.items() for word in option)]
        deadline = Deadline(self._start_timeout)
        self._launcher.run_tool("kafka.admin.TopicCommand", arguments, deadline)

    def kill(self, node_id: int) -> None:
        """Ends a broker at once (SIGKILL)."""
        self._end(node_id, signal.SIGKILL)

    def stop_node(self, node_id: int) -> None:
        """Asks a broker to shut down (SIGTERM) and waits; kills it where it takes too long."""
        self._end(node_id, signal.SIGTERM)

    def start_node(self, node_id: int) -> None:
        """Starts a broker that was ended, with its port and its data, and waits until it is ready.

        Raises:
            BrokerStartError: It did not come up again.
        """
        node = self._node(node_id)
        if self._launcher.pid(node.name) is not None:
            raise LocalBrokerError(f"{node.name} runs already")
        self._launcher.restart(node, Deadline(self._start_timeout))

    def pause(self, node_id: int) -> None:
        """Stops a broker's clock (SIGSTOP): its connections stay open, and it answers nothing."""
        self._launcher.expect(self._node(node_id), ready=False)
        self._launcher.send(self._node(node_id), signal.SIGSTOP)

    def resume(self, node_id: int) -> None:
        """Lets a paused broker go on (SIGCONT)."""
        self._launcher.send(self._node(node_id), signal.SIGCONT)
        self._launcher.expect(self._node(node_id), ready=True)

    @property
    def _layout(self) -> ClusterLayout:
        return self._require_start()[0]

    @property
    def _launcher(self) -> Launcher:
        return self._require_start()[1]

    def _require_start(self) -> tuple[ClusterLayout, Launcher]:
        if self._started is None:
            raise LocalBrokerError(f"{self!r} is not running")
        return self._started

    def _node(self, node_id: int) -> NodeLayout:
        for node in self._layout.nodes:
            if node.node_id == node_id:
                return node
        raise LocalBrokerError(f"{self!r} has no node {node_id}")

    def _end(self, node_id: int, signal_number: signal.Signals) -> None:
        node = self._node(node_id)
        self._launcher.expect(node, ready=False)
        self._launcher.send(node, signal_number)
        if not self._launcher.wait_for_end(node, Deadline(_STOP_SECONDS)):
            self._launcher.send(node, signal.SIGKILL)
            self._launcher.wait_for_end(node, Deadline(_STOP_SECONDS))

    def _bring_up(self, runtime: Runtime, processes: SupervisedProcesses) -> None:
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            folder = processes.folder / f"attempt-{attempt}"
            layout = self._lay_out(folder, runtime.java)
            launcher = Launcher(runtime, layout, processes)
            try:
                launcher.bring_up(Deadline(self._start_timeout), self._on_progress)
            except BrokerStartError:
                if attempt == _PORT_ATTEMPTS or self._port or not launcher.lost_a_port():
                    raise
                self._on_progress("a port was taken by another process: trying other ones")
                launcher.abandon()
                shutil.rmtree(folder)
                self._ports.close()
            else:
                self._started = layout, launcher
                return

    def _lay_out(self, folder: Path, java: Path) -> ClusterLayout:
        folder.mkdir()
        take = self._ports.take
        two_listeners = self._release.listeners is ListenerStyle.NAMED
        nodes = []
        for node_id in range(1, self._node_count + 1):
            port = take(self._port + node_id - 1 if self._port else 0)
            internal_port = take() if two_listeners else port
            nodes.append(NodeLayout(node_id, folder / f"{node_id}", port, internal_port, take()))
        return ClusterLayout(
            release=self._release,
            nodes=tuple(nodes),
            security=self.security,
            folder=folder,
            cluster_id=_random_cluster_id(),
            zookeeper_port=take() if self._release.quorum is Quorum.ZOOKEEPER else None,
            password=secrets.token_hex(8),
            keys=make_keys(java, folder / "keys") if self.security.endswith("SSL") else None,
            config=self._config,
        )


def _check(release: Release, nodes: int, security: str) -> None:
    if nodes < 1:
        raise LocalBrokerError(f"a cluster has at least one node, not {nodes}")
    if security not in release.securities:
        raise LocalBrokerError(
            f"Kafka {release.version} is started with {' or '.join(release.securities)} here, "
            f"not {security}"
        )


def _random_cluster_id() -> str:
    """A UUID as Kafka writes it, without the characters that a command line could stumble on."""
    return base64.b64encode(uuid.uuid4().bytes, altchars=b"AB").decode().rstrip("=")


def _say_nothing(_what: str) -> None:
    """For callers who do not want to know."""
