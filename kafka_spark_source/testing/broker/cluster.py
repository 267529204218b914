"""`KafkaCluster`: a real Kafka on this machine, for the duration of a `with` block.

This is the public interface; each module beside it does one part of the work. This package must
not import the protocol package, because the tests of that package use this one.
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

from kafka_spark_source.testing.broker import topics
from kafka_spark_source.testing.broker.commands import DEFAULT_HEAP, FAST_START_FLAGS, Runtime
from kafka_spark_source.testing.broker.keys import make_keys
from kafka_spark_source.testing.broker.launcher import Launcher
from kafka_spark_source.testing.broker.layout import USERNAME, ClusterLayout, NodeLayout
from kafka_spark_source.testing.broker.properties import client_options
from kafka_spark_source.testing.downloads.jars import find_jars
from kafka_spark_source.testing.errors import BrokerStartError, LocalBrokerError
from kafka_spark_source.testing.java import find_java
from kafka_spark_source.testing.processes.ports import HOST, HeldPorts
from kafka_spark_source.testing.processes.processes import SupervisedProcesses
from kafka_spark_source.testing.processes.waiting import Deadline
from kafka_spark_source.testing.releases import NEWEST, ListenerStyle, Quorum, Release, find_release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

_PORT_ATTEMPTS = 4
_STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Broker:
    """The current state of one broker of a running cluster.

    Ids begin at 1. Host and port are for clients, `pid` is None while the broker does not
    run, and its output is in `log_file`. `internal_port` is the plaintext port at which the other
    brokers connect; it is always advertised with the same host.
    """

    node_id: int
    host: str
    port: int
    internal_port: int
    pid: int | None
    log_file: Path


class KafkaCluster:
    """A Kafka cluster of real brokers on loopback; it is removed when the `with` block ends.

    It also ends with this process, even if that is killed: a supervisor process owns its JVMs and
    its folder.

    Args:
        version: A release of `kafka_spark_source.testing.releases.RELEASES`.
        nodes: The number of brokers; from 3.9 on each is a KRaft controller as well.
        security: The client listener's protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
        config: Server properties for every broker; they override the built-in ones. In a value,
            `{port}` and `{node_id}` are replaced by the broker's. With `CONVENIENT`, which
            `pykafka broker start` and the fixtures have, a topic is made when it is first used.
        port: The first broker's port, the others have the next ones; by default free ones.
        heap: Java's `-Xmx` for each broker.
        jvm_flags: Other Java flags; the default is for a fast start, not for fast code.
        start_timeout: The most seconds until the cluster, or a restarted broker, is ready.
        on_progress: Called with a short text before each slow step.

    Raises:
        LocalBrokerError: The arguments do not match; from `start`, no Java, no jars, or a broker
            that did not start (`BrokerStartError`, with the end of its log).

    Example:
        >>> with KafkaCluster(nodes=3) as cluster:  # doctest: +SKIP
        ...     cluster.bootstrap_servers
        '127.0.0.1:40123,127.0.0.1:40127,127.0.0.1:40131'
    """

    def __init__(  # noqa: PLR0913 - each is an option of the user, with a default
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
        self._on_progress = on_progress or _ignore_progress
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

    def __exit__(self, *_error: object) -> None:
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
            self._start_brokers(Runtime(java, jars, self._heap, self._jvm_flags), self._processes)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kills all processes and removes the folder with all data, if the cluster was started."""
        atexit.unregister(self.stop)
        self._started = None
        if self._processes is not None:
            self._processes.close()
            self._processes = None
        self._ports.close()

    def detach(self) -> None:
        """Keeps the cluster running after this process; this object no longer controls it.

        Then SIGTERM to the process `supervisor_pid` ends everything.
        """
        if self._processes is None:
            raise LocalBrokerError(f"{self!r} is not running")
        self._processes.detach()
        self._processes = None
        self.stop()

    def check(self) -> None:
        """Checks that the processes run.

        Raises:
            BrokerStartError: A process ended unexpectedly; the message has the end of its log.
        """
        self._launcher.check()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers for clients: `127.0.0.1:40123,...`."""
        return ",".join(f"{HOST}:{node.port}" for node in self._layout.nodes)

    @property
    def brokers(self) -> list[Broker]:
        """The brokers, by node id."""
        return [
            Broker(
                node_id=node.node_id,
                host=HOST,
                port=node.port,
                internal_port=node.internal_port,
                pid=self._launcher.pid(node.name),
                log_file=node.log_file,
            )
            for node in self._layout.nodes
        ]

    @property
    def supervisor_pid(self) -> int:
        """The process id of the supervisor, which owns all other processes."""
        if self._processes is None:
            raise LocalBrokerError(f"{self!r} is not running")
        return self._processes.supervisor_pid

    @property
    def folder(self) -> Path:
        """The temporary folder with all data, logs, configuration and keys."""
        return self._layout.folder

    @property
    def username(self) -> str | None:
        """The user of the SASL listener; None without one."""
        return USERNAME if self._layout.uses_sasl else None

    @property
    def password(self) -> str | None:
        """The password of `username`."""
        return self._layout.password if self._layout.uses_sasl else None

    @property
    def sasl_mechanisms(self) -> tuple[str, ...]:
        """The mechanisms of the SASL listener."""
        return self._release.sasl_mechanisms if self._layout.uses_sasl else ()

    @property
    def ca_file(self) -> Path | None:
        """The certificate authority that clients of a TLS listener must trust, PEM."""
        return self._layout.keys.ca_file if self._layout.keys else None

    @property
    def client_options(self) -> dict[str, str]:
        """The client options with the Java client's names; Spark needs the prefix `kafka.`."""
        return client_options(self._layout)

    def log_dir(self, node_id: int) -> Path:
        """The broker's data folder, with one folder for each partition."""
        return self._node(node_id).data

    def create_topic(self, topic: str, partitions: int = 1, replication_factor: int = 1) -> None:
        """Creates a topic, and returns when all brokers that run know its leaders.

        Raises:
            LocalBrokerError: The cluster refused; from releases with ZooKeeper, whose tool takes
                seconds, `BrokerStartError` with its output.
        """
        deadline = Deadline(self._start_timeout)
        if self._layout.zookeeper_port is not None:
            self._create_with_tool(topic, partitions, replication_factor, deadline)
            return
        running = [(each.host, each.internal_port) for each in self.brokers if each.pid is not None]
        topics.create_topic(running[0], topic, partitions, replication_factor)
        if not deadline.wait_for(lambda: all(topics.is_ready(each, topic) for each in running)):
            raise LocalBrokerError(
                f"the topic {topic!r} has no leader after {deadline.seconds:g} s"
            )

    def _create_with_tool(
        self, topic: str, partitions: int, replication_factor: int, deadline: Deadline
    ) -> None:
        """Brokers before 0.10.1 have no request for it."""
        options = {
            "--zookeeper": f"{HOST}:{self._layout.zookeeper_port}",
            "--topic": topic,
            "--partitions": str(partitions),
            "--replication-factor": str(replication_factor),
        }
        arguments = ["--create", *(word for option in options.items() for word in option)]
        self._launcher.run_tool("kafka.admin.TopicCommand", arguments, deadline)

    def kill(self, node_id: int) -> None:
        """Ends a broker at once (SIGKILL)."""
        self._end(node_id, signal.SIGKILL)

    def stop_node(self, node_id: int) -> None:
        """Shuts a broker down (SIGTERM) and waits; kills it if it takes too long."""
        self._end(node_id, signal.SIGTERM)

    def start_node(self, node_id: int) -> None:
        """Starts a stopped broker with its port and its data, and waits until it is ready.

        Raises:
            BrokerStartError: It did not start.
        """
        node = self._node(node_id)
        if self._launcher.pid(node.name) is not None:
            raise LocalBrokerError(f"{node.name} runs already")
        self._launcher.restart(node, Deadline(self._start_timeout))

    def pause(self, node_id: int) -> None:
        """Pauses a broker (SIGSTOP): its connections stay open, but it does not respond."""
        self._launcher.expect(self._node(node_id), ready=False)
        self._launcher.send(self._node(node_id), signal.SIGSTOP)

    def resume(self, node_id: int) -> None:
        """Resumes a paused broker (SIGCONT)."""
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

    def _start_brokers(self, runtime: Runtime, processes: SupervisedProcesses) -> None:
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            folder = processes.folder / f"attempt-{attempt}"
            layout = self._make_layout(folder, runtime.java)
            launcher = Launcher(runtime, layout, processes)
            try:
                launcher.start_all(Deadline(self._start_timeout), self._on_progress)
            except BrokerStartError:
                if attempt == _PORT_ATTEMPTS or self._port or not launcher.lost_a_port():
                    raise
                self._on_progress("another process uses a port: trying other ones")
                launcher.kill_all()
                shutil.rmtree(folder)
                self._ports.close()
            else:
                self._started = layout, launcher
                return

    def _make_layout(self, folder: Path, java: Path) -> ClusterLayout:
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
            f"Kafka {release.version} is supported with {' or '.join(release.securities)} here, "
            f"not {security}"
        )


def _random_cluster_id() -> str:
    """A UUID as Kafka writes it, without characters that are special on a command line."""
    return base64.b64encode(uuid.uuid4().bytes, altchars=b"AB").decode().rstrip("=")


def _ignore_progress(_text: str) -> None:
    """The default of `on_progress`."""
