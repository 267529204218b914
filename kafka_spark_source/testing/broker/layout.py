"""The ports, folders and names of a cluster, fixed before it starts. Pure data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kafka_spark_source.testing.releases import Release

USERNAME = "alice"
"""The user of every SASL listener."""


@dataclass(frozen=True)
class NodeLayout:
    """The folder and ports of one broker; `port` is for clients.

    `internal_port` is the plaintext port for brokers and readiness probes: the same as `port` for
    releases with one listener only.
    """

    node_id: int
    folder: Path
    port: int
    internal_port: int
    controller_port: int

    @property
    def name(self) -> str:
        """The name of its process."""
        return f"node {self.node_id}"

    @property
    def data(self) -> Path:
        """Kafka's `log.dirs`."""
        return self.folder / "data"

    @property
    def log_file(self) -> Path:
        """The output of the process."""
        return self.folder / "server.log"

    @property
    def properties_file(self) -> Path:
        """Kafka's configuration."""
        return self.folder / "server.properties"


@dataclass(frozen=True)
class KeyFiles:
    """The authority's certificate (PEM), and the servers' keystore (PKCS12) with its password."""

    ca_file: Path
    keystore: Path
    password: str = field(repr=False)


@dataclass(frozen=True)
class ClusterLayout:
    """The input of all configuration files.

    Attributes:
        security: The security protocol of the listener for clients.
        zookeeper_port: None for KRaft.
        password: The password of `USERNAME`.
        keys: The TLS files, if `security` needs them.
        config: The user's server properties; they override the built-in ones.
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
        """Whether clients authenticate with SASL."""
        return self.security.startswith("SASL_")

    @property
    def uses_tls(self) -> bool:
        """Whether the clients' listener is encrypted."""
        return self.security.endswith("SSL")

    @property
    def zookeeper_folder(self) -> Path:
        """The folder of all files of ZooKeeper."""
        return self.folder / "zookeeper"

    @property
    def logging_file(self) -> Path:
        """The configuration of the logging library, for all processes."""
        return self.folder / "logging.properties"
