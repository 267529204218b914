"""The text of every configuration file of a cluster, from its layout. Pure: writes no file.

The defaults are for a small development cluster: fast start, little memory, no automatic topics,
and no deletion of old records. The user's properties override them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_spark_source.testing.broker.layout import USERNAME, ClusterLayout, NodeLayout
from kafka_spark_source.testing.processes.ports import HOST
from kafka_spark_source.testing.releases import ListenerStyle, LogSystem, Quorum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CONVENIENT = {"auto.create.topics.enable": "true", "num.partitions": "3"}
"""Topics are made when they are first used, as by Kafka's own default, with some partitions."""

INTERNAL = "INTERNAL"
CONTROLLER = "CONTROLLER"

_MAX_REPLICATION = 3
_ZOOKEEPER_TICK_MS = 1000
_ZOOKEEPER_SESSION_MS = 4000

_COMMON = {
    "auto.create.topics.enable": "false",
    "delete.topic.enable": "true",
    "group.initial.rebalance.delay.ms": "0",
    # The default is half of the small heap, allocated at the start.
    "log.cleaner.dedupe.buffer.size": str(16 << 20),
}
# The properties of Kafka's internal topics, to make them small.
_REPLICATION = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.replication.factor",
)
_ONE = ("transaction.state.log.min.isr", "share.coordinator.state.topic.min.isr")
_FEW_PARTITIONS = (
    "offsets.topic.num.partitions",
    "transaction.state.log.num.partitions",
    "share.coordinator.state.topic.num.partitions",
)
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_LOGGING = {
    LogSystem.LOG4J: {
        "log4j.rootLogger": "INFO, console",
        "log4j.appender.console": "org.apache.log4j.ConsoleAppender",
        "log4j.appender.console.layout": "org.apache.log4j.PatternLayout",
        "log4j.appender.console.layout.ConversionPattern": "[%d] %p %m (%c)%n",
    },
    LogSystem.LOG4J2: {
        "appender.console.type": "Console",
        "appender.console.name": "console",
        "appender.console.layout.type": "PatternLayout",
        "appender.console.layout.pattern": "[%d] %p %m (%c)%n",
        "rootLogger.level": "info",
        "rootLogger.appenderRef.console.ref": "console",
    },
}


def server_properties(layout: ClusterLayout, node: NodeLayout) -> dict[str, str]:
    """A broker's configuration.

    In the user's values, `{port}` and `{node_id}` are replaced by this broker's. The user's
    `advertised.listeners` does not need the internal listener.
    """
    properties = {
        "log.dirs": str(node.data),
        **_COMMON,
        **dict([layout.release.keep_forever]),
        **_internal_topics(len(layout.nodes)),
        **_QUORUMS[layout.release.quorum](layout, node),
        **_LISTENERS[layout.release.listeners](layout, node),
        **(_tls(layout) if layout.uses_tls else {}),
        **(_sasl(layout) if layout.uses_sasl else {}),
    }
    for name, value in layout.config.items():
        filled = value.replace("{port}", str(node.port)).replace("{node_id}", str(node.node_id))
        properties[name] = filled
    advertised = layout.config.get("advertised.listeners")
    if advertised and INTERNAL in properties["listeners"] and INTERNAL not in advertised:
        properties["advertised.listeners"] += f",{INTERNAL}://{HOST}:{node.internal_port}"
    return properties


def zookeeper_properties(layout: ClusterLayout) -> dict[str, str]:
    """ZooKeeper's configuration."""
    return {
        "dataDir": str(layout.zookeeper_folder / "data"),
        "clientPort": str(layout.zookeeper_port),
        "clientPortAddress": HOST,
        "tickTime": str(_ZOOKEEPER_TICK_MS),
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "dump",
    }


def logging_properties(system: LogSystem) -> dict[str, str]:
    """The logging library's configuration: everything from INFO to standard output."""
    return _LOGGING[system]


def render(properties: Mapping[str, str]) -> str:
    """The text of a Java properties file."""
    return "".join(f"{name}={_escape(value)}\n" for name, value in properties.items())


def client_options(layout: ClusterLayout) -> dict[str, str]:
    """The options of a client with the names of Kafka's Java client, including the password."""
    options = {"bootstrap.servers": ",".join(f"{HOST}:{node.port}" for node in layout.nodes)}
    if layout.security != "PLAINTEXT":
        options["security.protocol"] = layout.security
    if layout.uses_sasl:
        mechanism = layout.release.sasl_mechanisms[-1]
        options["sasl.mechanism"] = mechanism
        options["sasl.jaas.config"] = (
            f'{_LOGIN_MODULES[mechanism]} required username="{USERNAME}" '
            f'password="{layout.password}";'
        )
    if layout.keys:
        options["ssl.truststore.type"] = "PEM"
        options["ssl.truststore.location"] = str(layout.keys.ca_file)
    return options


def _escape(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    padded = f"\\{escaped}" if escaped.startswith((" ", "\t")) else escaped
    # The format is Latin-1; Java reads \uXXXX, in UTF-16 units, for anything else.
    return "".join(char if char.isascii() else _utf16_escape(char) for char in padded)


def _utf16_escape(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _internal_topics(nodes: int) -> dict[str, str]:
    return {
        **dict.fromkeys(_REPLICATION, str(min(nodes, _MAX_REPLICATION))),
        **dict.fromkeys(_ONE, "1"),
        **dict.fromkeys(_FEW_PARTITIONS, "4"),
    }


def _kraft(layout: ClusterLayout, node: NodeLayout) -> dict[str, str]:
    voters = (f"{each.node_id}@{HOST}:{each.controller_port}" for each in layout.nodes)
    return {
        "process.roles": "broker,controller",
        "node.id": str(node.node_id),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": CONTROLLER,
        # Half of the defaults: leaders move sooner, and a killed broker can restart sooner.
        "broker.heartbeat.interval.ms": "1000",
        "broker.session.timeout.ms": "4500",
    }


def _zookeeper(layout: ClusterLayout, node: NodeLayout) -> dict[str, str]:
    return {
        "broker.id": str(node.node_id),
        "zookeeper.connect": f"{HOST}:{layout.zookeeper_port}",
        # Short, so that a killed broker's registration expires before its restart.
        "zookeeper.session.timeout.ms": str(_ZOOKEEPER_SESSION_MS),
    }


def _named_listeners(layout: ClusterLayout, node: NodeLayout) -> dict[str, str]:
    advertised = {layout.security: node.port, INTERNAL: node.internal_port}
    protocols = {layout.security: layout.security, INTERNAL: "PLAINTEXT"}
    listeners = dict(advertised)
    if layout.release.quorum is Quorum.KRAFT:
        listeners[CONTROLLER] = node.controller_port
        protocols[CONTROLLER] = "PLAINTEXT"
    return {
        "listeners": _addresses(listeners),
        "advertised.listeners": _addresses(advertised),
        "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
        "inter.broker.listener.name": INTERNAL,
    }


def _listener_by_protocol(layout: ClusterLayout, node: NodeLayout) -> dict[str, str]:
    return {"listeners": _addresses({layout.security: node.port})}


def _host_and_port(_layout: ClusterLayout, node: NodeLayout) -> dict[str, str]:
    return {"host.name": HOST, "port": str(node.port)}


_QUORUMS: dict[Quorum, Callable[[ClusterLayout, NodeLayout], dict[str, str]]] = {
    Quorum.KRAFT: _kraft,
    Quorum.ZOOKEEPER: _zookeeper,
}
_LISTENERS: dict[ListenerStyle, Callable[[ClusterLayout, NodeLayout], dict[str, str]]] = {
    ListenerStyle.NAMED: _named_listeners,
    ListenerStyle.BY_PROTOCOL: _listener_by_protocol,
    ListenerStyle.HOST_AND_PORT: _host_and_port,
}


def _addresses(listeners: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in listeners.items())


def _tls(layout: ClusterLayout) -> dict[str, str]:
    if layout.keys is None:
        raise ValueError(f"{layout.security} needs TLS files")
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(layout.keys.keystore),
        "ssl.keystore.password": layout.keys.password,
        "ssl.key.password": layout.keys.password,
    }


def _sasl(layout: ClusterLayout) -> dict[str, str]:
    mechanisms = layout.release.sasl_mechanisms
    # The users of PLAIN are in this file; the users of SCRAM are in the cluster's metadata.
    users = {"PLAIN": f' user_{USERNAME}="{layout.password}"'}
    listener = f"listener.name.{layout.security.lower()}"
    return {
        "sasl.enabled.mechanisms": ",".join(mechanisms),
        **{
            f"{listener}.{mechanism.lower()}.sasl.jaas.config": (
                f"{_LOGIN_MODULES[mechanism]} required{users.get(mechanism, '')};"
            )
            for mechanism in mechanisms
        },
    }
