"""The command lines of a cluster's processes and of a schema registry. Pure: starts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_spark_source.testing.broker.layout import USERNAME, ClusterLayout, NodeLayout
from kafka_spark_source.testing.downloads.distribution import REGISTRY_JAR
from kafka_spark_source.testing.processes.ports import HOST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DEFAULT_HEAP = "256m"
FAST_START_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Java flags for a fast start and little memory, at the cost of peak throughput."""

_BROKER = "kafka.Kafka"
_STORAGE_TOOL = "kafka.tools.StorageTool"
_ZOOKEEPER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


@dataclass(frozen=True)
class Runtime:
    """The `java` of the processes, the folder of the jars, `-Xmx` ("256m") and other Java flags."""

    java: Path
    jars: Path
    heap: str = DEFAULT_HEAP
    flags: tuple[str, ...] = FAST_START_FLAGS


def broker_command(runtime: Runtime, layout: ClusterLayout, node: NodeLayout) -> list[str]:
    """The command that runs a broker."""
    return [*_java(runtime, layout), _BROKER, str(node.properties_file)]


def zookeeper_command(runtime: Runtime, layout: ClusterLayout) -> list[str]:
    """The command that runs ZooKeeper."""
    file = layout.zookeeper_folder / "zookeeper.properties"
    return [*_java(runtime, layout), _ZOOKEEPER, str(file)]


def format_command(runtime: Runtime, layout: ClusterLayout, node: NodeLayout) -> list[str]:
    """The command that formats a KRaft node's data folder, with SCRAM credentials."""
    command = [*_java(runtime, layout), _STORAGE_TOOL, "format"]
    command += ["--cluster-id", layout.cluster_id, "--config", str(node.properties_file)]
    if layout.uses_sasl:
        for mechanism in layout.release.sasl_mechanisms:
            if mechanism.startswith("SCRAM-"):
                credentials = f"[name={USERNAME},password={layout.password}]"
                command += ["--add-scram", f"{mechanism}={credentials}"]
    return command


def tool_command(
    runtime: Runtime, layout: ClusterLayout, main_class: str, arguments: Sequence[str]
) -> list[str]:
    """The command that runs one of Kafka's own tools."""
    return [*_java(runtime, layout), main_class, *arguments]


def registry_command(runtime: Runtime, folder: Path, port: int, keystore: Path | None) -> list[str]:
    """The command that runs a schema registry, with its data in memory.

    Args:
        runtime: Its `jars` are the folder of the distribution.
        folder: For temporary files.
        port: The port on loopback; 0 for a free one, which the log then has.
        keystore: The key and certificate of TLS; without them, it is plain HTTP. The password of
            the file is not an argument, because everybody can see arguments.
    """
    settings = {"host": HOST, "port": str(port)}
    if keystore:
        settings = {
            "host": HOST,
            "ssl-port": str(port),
            "insecure-requests": "disabled",
            "ssl.certificate.key-store-file": str(keystore),
        }
    return [
        *_jvm(runtime, folder),
        *(f"-Dquarkus.http.{key}={value}" for key, value in settings.items()),
        # As Confluent's: schemas that differ only in white space are the same schema.
        "-Dregistry.ccompat.use-canonical-hash=true",
        *("-jar", str(runtime.jars / REGISTRY_JAR)),
    ]


def _java(runtime: Runtime, layout: ClusterLayout) -> list[str]:
    return [
        *_jvm(runtime, layout.folder),
        f"-Dlog4j.configuration=file:{layout.logging_file}",
        f"-Dlog4j2.configurationFile={layout.logging_file}",
        *layout.release.jvm_flags,
        *("-cp", f"{runtime.jars}/*"),
    ]


def _jvm(runtime: Runtime, folder: Path) -> list[str]:
    return [
        str(runtime.java),
        f"-Xmx{runtime.heap}",
        *runtime.flags,
        # Otherwise a killed JVM leaves its counters in the system's temporary folder.
        "-XX:-UsePerfData",
        "-Djava.awt.headless=true",
        # Compression libraries extract files to it; the folder is removed at the end.
        f"-Djava.io.tmpdir={folder}",
    ]
