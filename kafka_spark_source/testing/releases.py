"""The releases of Apache Kafka that can be started, as one table.

What differs between releases stands here as data, so that no other module asks for a version.
A new release is one more row and a run of `python -m kafka_spark_source.testing.lock`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kafka_spark_source.testing.errors import LocalBrokerError

MINIMUM_JAVA = 17


class Quorum(Enum):
    """Who keeps a cluster's metadata."""

    KRAFT = "kraft"
    ZOOKEEPER = "zookeeper"


class ListenerStyle(Enum):
    """How a release is told where to listen."""

    NAMED = "named"  # any number of listeners with names of their own: KIP-103, 0.10.2
    BY_PROTOCOL = "by-protocol"  # one listener for each security protocol: 0.9
    HOST_AND_PORT = "host-and-port"  # one listener, plaintext


class LogSystem(Enum):
    """Which logging library a release writes its log with."""

    LOG4J = "log4j"
    LOG4J2 = "log4j2"


@dataclass(frozen=True)
class Release:
    """One release of Apache Kafka.

    Attributes:
        version: Kafka's version.
        scala: The Scala version in the artifact's name.
        quorum: Who keeps the metadata.
        listeners: How listeners are declared.
        log_system: The logging library.
        securities: The security protocols that a client's listener can have here.
        sasl_mechanisms: What a SASL listener offers.
        has_api_versions: Whether the broker answers ApiVersions (KIP-35, 0.10).
        lists_brokers_at_once: Whether Metadata names the brokers of a cluster without topics.
        keep_forever: The server property, with its value, that makes the broker delete nothing.
        extra_artifacts: Maven coordinates that the release wants beside its own dependencies.
        jvm_flags: What its processes want on Java's command line.
    """

    version: str
    scala: str
    quorum: Quorum
    listeners: ListenerStyle = ListenerStyle.NAMED
    log_system: LogSystem = LogSystem.LOG4J
    securities: tuple[str, ...] = ("PLAINTEXT",)
    sasl_mechanisms: tuple[str, ...] = ()
    has_api_versions: bool = True
    lists_brokers_at_once: bool = True
    keep_forever: tuple[str, str] = ("log.retention.ms", "-1")
    extra_artifacts: tuple[str, ...] = ()
    jvm_flags: tuple[str, ...] = ()

    @property
    def artifact(self) -> str:
        """The broker's Maven coordinates."""
        return f"org.apache.kafka:kafka_{self.scala}:{self.version}"


_ALL_SECURITIES = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
# From 3.9 down Kafka's artifacts bring no logging library, or one that is too old for Java 17.
_RELOAD4J = ("org.slf4j:slf4j-reload4j:1.7.36", "ch.qos.reload4j:reload4j:1.2.26")
# ZooKeeper looks for classes of log4j 1 that are not there, or not as it expects them.
_NO_LOG4J_JMX = ("-Dzookeeper.jmx.log4j.disable=true",)

_TABLE = (
    Release(
        version="4.3.1",
        scala="2.13",
        quorum=Quorum.KRAFT,
        log_system=LogSystem.LOG4J2,
        securities=_ALL_SECURITIES,
        sasl_mechanisms=("PLAIN", *_SCRAM),
        extra_artifacts=("org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",),
    ),
    Release(
        version="4.2.0",
        scala="2.13",
        quorum=Quorum.KRAFT,
        log_system=LogSystem.LOG4J2,
        securities=_ALL_SECURITIES,
        sasl_mechanisms=("PLAIN", *_SCRAM),
        extra_artifacts=("org.apache.logging.log4j:log4j-slf4j-impl:2.25.3",),
    ),
    Release(
        version="3.9.2",
        scala="2.13",
        quorum=Quorum.KRAFT,
        securities=_ALL_SECURITIES,
        sasl_mechanisms=("PLAIN", *_SCRAM),
        extra_artifacts=_RELOAD4J,
    ),
    # With ZooKeeper, SCRAM credentials would take one more process between ZooKeeper and broker.
    Release(
        version="2.8.2",
        scala="2.13",
        quorum=Quorum.ZOOKEEPER,
        securities=_ALL_SECURITIES,
        sasl_mechanisms=("PLAIN",),
        extra_artifacts=_RELOAD4J,
        jvm_flags=_NO_LOG4J_JMX,
    ),
    Release(
        version="1.1.1",
        scala="2.12",
        quorum=Quorum.ZOOKEEPER,
        securities=_ALL_SECURITIES,
        sasl_mechanisms=("PLAIN",),
        extra_artifacts=_RELOAD4J,
        jvm_flags=_NO_LOG4J_JMX,
    ),
    Release(
        version="0.10.2.2",
        scala="2.11",
        quorum=Quorum.ZOOKEEPER,
        extra_artifacts=("javax.xml.bind:jaxb-api:2.3.1",),
        jvm_flags=_NO_LOG4J_JMX,
    ),
    Release(
        version="0.10.0.1",
        scala="2.11",
        quorum=Quorum.ZOOKEEPER,
        listeners=ListenerStyle.BY_PROTOCOL,
        jvm_flags=_NO_LOG4J_JMX,
    ),
    Release(
        version="0.9.0.1",
        scala="2.11",
        quorum=Quorum.ZOOKEEPER,
        listeners=ListenerStyle.BY_PROTOCOL,
        has_api_versions=False,
        jvm_flags=_NO_LOG4J_JMX,
    ),
    Release(
        version="0.8.2.2",
        scala="2.11",
        quorum=Quorum.ZOOKEEPER,
        listeners=ListenerStyle.HOST_AND_PORT,
        has_api_versions=False,
        lists_brokers_at_once=False,
        keep_forever=("log.retention.hours", str(2**31 - 1)),
        jvm_flags=_NO_LOG4J_JMX,
    ),
)

RELEASES = {release.version: release for release in _TABLE}
"""Every release that can be started, by its version, newest first."""

NEWEST = _TABLE[0].version
"""The version that is started where none is asked for."""


def find_release(version: str) -> Release:
    """The release of that version.

    Raises:
        LocalBrokerError: There is no such row in the table.
    """
    try:
        return RELEASES[version]
    except KeyError:
        known = ", ".join(RELEASES)
        raise LocalBrokerError(
            f"Kafka {version} is none of the releases that can be started here: {known}"
        ) from None
