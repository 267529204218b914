"""What a cluster is made of, decided before anything starts: ports, folders, names. Pure data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kafka_spark_source.testing.releases import Release

USERNAME = "alice"
"""The user that every SASL listener knows."""


@dataclass(frozen=True)
class NodeLayout:
    """Where one broker lives.

    Attributes:
        node_id: Its id, from 1.
        folder: Everything that belongs to it.
        port: The listener for clients.
        internal_port: The plaintext listener for brokers and for readiness probes; the same as
            `port` for releases that have one listener only.
        controller_port: The KRaft controller's listener.
    """

    node_id: int
    folder: Path
    port: int
    internal_port: int
    controller_port: int

    @property
    def name(self) -> str:
        """What its process is called."""
        return f"node {self.node_id}"

    @property
    def data(self) -> Path:
        """Kafka's `log.dirs`."""
        return self.folder / "data"

    @property
    def log_file(self) -> Path:
        """What the process printed."""
        return self.folder / "server.log"

    @property
    def properties_file(self) -> Path:
        """Kafka's configuration."""
        return self.folder / "server.properties"


@dataclass(frozen=True)
class KeyFiles:
    """The TLS files of a cluster.

    Attributes:
        ca_file: The certificate authority's certificate, PEM.
        keystore: The brokers' key and certificate, PKCS12.
        password: The keystore's.
    """

    ca_file: Path
    keystore: Path
    password: str = field(repr=False)


@dataclass(frozen=True)
class ClusterLayout:
    """Everything that the configuration files are made from.

    Attributes:
        release: What to start.
        nodes: The brokers.
        security: The security protocol of the listener for clients.
        folder: The temporary folder of the whole cluster.
        cluster_id: KRaft's cluster id.
        zookeeper_port: ZooKeeper's port, for releases that have one.
        password: The password of `USERNAME`.
        keys: The TLS files, where `security` wants any.
        config: The user's own server properties; they win over ours.
    """

    release: Release
    nodes: tuple[NodeLayout, ...]
    security: str
    folder: Path
    cluster_id: str
    zookeeper_port: int | None
    password: str = field(repr=False)
    keys: KeyFiles | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def uses_sasl(self) -> bool:
        """Whether clients authenticate themselves."""
        return self.security.startswith("SASL_")

    @property
    def uses_tls(self) -> bool:
        """Whether the clients' listener is encrypted."""
        return self.security.endswith("SSL")

    @property
    def zookeeper_folder(self) -> Path:
        """Everything that belongs to ZooKeeper."""
        return self.folder / "zookeeper"

    @property
    def logging_file(self) -> Path:
        """The configuration of the logging library, for all processes."""
        return self.folder / "logging.properties"
