"""The table of the releases of Apache Kafka that can be started.

All differences between releases are data in this table; no other module compares versions. For a
new release, add a row and run `python -m kafka_spark_source.testing.downloads.lock`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial

from kafka_spark_source.testing.errors import LocalBrokerError

MINIMUM_JAVA = 17


class Quorum(Enum):
    """The store of a cluster's metadata."""

    KRAFT = "kraft"
    ZOOKEEPER = "zookeeper"


class ListenerStyle(Enum):
    """The properties that a release has for listeners."""

    NAMED = "named"  # any number of named listeners: KIP-103, 0.10.2
    BY_PROTOCOL = "by-protocol"  # one listener for each security protocol: 0.9
    HOST_AND_PORT = "host-and-port"  # one listener, plaintext


class LogSystem(Enum):
    """The logging library of a release."""

    LOG4J = "log4j"
    LOG4J2 = "log4j2"


@dataclass(frozen=True)
class Release:
    """One release of Apache Kafka.

    Attributes:
        version: Kafka's version.
        scala: The Scala version in the artifact's name.
        quorum: The store of the metadata.
        listeners: The style of its listener properties.
        log_system: The logging library.
        securities: The supported security protocols of the client listener.
        sasl_mechanisms: The mechanisms of a SASL listener.
        has_api_versions: Whether the broker has ApiVersions (KIP-35, 0.10).
        lists_brokers_at_once: Whether Metadata has the brokers of a cluster without topics.
        keep_forever: The server property, and its value, to never delete records.
        extra_artifacts: Maven coordinates of jars besides its own dependencies.
        jvm_flags: Java flags of its processes.
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
# Up to 3.9, Kafka's artifacts have no logging library, or one that is too old for Java 17.
_RELOAD4J = ("org.slf4j:slf4j-reload4j:1.7.36", "ch.qos.reload4j:reload4j:1.2.26")
_LOG4J2 = "org.apache.logging.log4j:log4j-slf4j-impl"
# ZooKeeper needs classes of log4j 1 that are missing or different here.
_NO_LOG4J_JMX = ("-Dzookeeper.jmx.log4j.disable=true",)

_kraft = partial(
    Release,
    scala="2.13",
    quorum=Quorum.KRAFT,
    securities=_ALL_SECURITIES,
    sasl_mechanisms=("PLAIN", *_SCRAM),
)
_zookeeper = partial(Release, quorum=Quorum.ZOOKEEPER, jvm_flags=_NO_LOG4J_JMX)
# With ZooKeeper, SCRAM credentials would need one more process before the broker's start.
_zookeeper_with_sasl = partial(
    _zookeeper, securities=_ALL_SECURITIES, sasl_mechanisms=("PLAIN",), extra_artifacts=_RELOAD4J
)

_TABLE = (
    _kraft("4.4.0", log_system=LogSystem.LOG4J2, extra_artifacts=(f"{_LOG4J2}:2.25.5",)),
    _kraft("4.3.1", log_system=LogSystem.LOG4J2, extra_artifacts=(f"{_LOG4J2}:2.25.4",)),
    _kraft("4.2.0", log_system=LogSystem.LOG4J2, extra_artifacts=(f"{_LOG4J2}:2.25.3",)),
    _kraft("3.9.2", extra_artifacts=_RELOAD4J),
    _zookeeper_with_sasl("2.8.2", scala="2.13"),
    _zookeeper_with_sasl("1.1.1", scala="2.12"),
    _zookeeper("0.10.2.2", scala="2.11", extra_artifacts=("javax.xml.bind:jaxb-api:2.3.1",)),
    _zookeeper("0.10.0.1", scala="2.11", listeners=ListenerStyle.BY_PROTOCOL),
    _zookeeper(
        "0.9.0.1", scala="2.11", listeners=ListenerStyle.BY_PROTOCOL, has_api_versions=False
    ),
    _zookeeper(
        "0.8.2.2",
        scala="2.11",
        listeners=ListenerStyle.HOST_AND_PORT,
        has_api_versions=False,
        lists_brokers_at_once=False,
        keep_forever=("log.retention.hours", str(2**31 - 1)),
    ),
)

RELEASES = {release.version: release for release in _TABLE}
"""Every release that can be started, by its version, newest first."""

NEWEST = _TABLE[0].version
"""The default version."""


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
            f"Kafka {version} is not one of the releases that can be started here: {known}"
        ) from None
