"""Configuration files of a layout that is not started."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_spark_source.testing.broker.layout import ClusterLayout, KeyFiles, NodeLayout
from kafka_spark_source.testing.broker.properties import (
    client_options,
    logging_properties,
    render,
    server_properties,
    zookeeper_properties,
)
from kafka_spark_source.testing.releases import RELEASES, LogSystem, Quorum

FOLDER = Path("/cluster")


def make_layout(
    version: str = "4.4.0",
    nodes: int = 1,
    security: str = "PLAINTEXT",
    config: dict[str, str] | None = None,
) -> ClusterLayout:
    release = RELEASES[version]
    with_tls = security.endswith("SSL")
    return ClusterLayout(
        release=release,
        nodes=tuple(
            NodeLayout(each, FOLDER / str(each), 1000 + each, 2000 + each, 3000 + each)
            for each in range(1, nodes + 1)
        ),
        security=security,
        folder=FOLDER,
        cluster_id="id",
        zookeeper_port=4000 if release.quorum is Quorum.ZOOKEEPER else None,
        password="secret",
        keys=KeyFiles(FOLDER / "ca.pem", FOLDER / "broker.p12", "pw") if with_tls else None,
        config=config or {},
    )


def properties_of(layout: ClusterLayout, node_id: int = 1) -> dict[str, str]:
    return server_properties(layout, layout.nodes[node_id - 1])


def test_kraft_node_is_broker_and_controller_on_loopback() -> None:
    properties = properties_of(make_layout(nodes=3), 2)
    assert properties["process.roles"] == "broker,controller"
    assert properties["node.id"] == "2"
    assert properties["controller.quorum.voters"] == (
        "1@127.0.0.1:3001,2@127.0.0.1:3002,3@127.0.0.1:3003"
    )
    assert properties["listeners"] == (
        "PLAINTEXT://127.0.0.1:1002,INTERNAL://127.0.0.1:2002,CONTROLLER://127.0.0.1:3002"
    )
    assert properties["advertised.listeners"] == (
        "PLAINTEXT://127.0.0.1:1002,INTERNAL://127.0.0.1:2002"
    )
    assert "zookeeper.connect" not in properties


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.8.2", {"listeners": "PLAINTEXT://127.0.0.1:1001,INTERNAL://127.0.0.1:2001"}),
        ("0.10.0.1", {"listeners": "PLAINTEXT://127.0.0.1:1001"}),
        ("0.8.2.2", {"host.name": "127.0.0.1", "port": "1001"}),
    ],
)
def test_listeners_of_releases_with_zookeeper(version: str, expected: dict[str, str]) -> None:
    properties = properties_of(make_layout(version))
    assert properties["broker.id"] == "1"
    assert properties["zookeeper.connect"] == "127.0.0.1:4000"
    assert "process.roles" not in properties
    assert expected.items() <= properties.items()


@pytest.mark.parametrize(("nodes", "replicas"), [(1, "1"), (2, "2"), (3, "3"), (5, "3")])
def test_replicas_of_internal_topics(nodes: int, replicas: str) -> None:
    properties = properties_of(make_layout(nodes=nodes))
    assert properties["offsets.topic.replication.factor"] == replicas
    assert properties["transaction.state.log.replication.factor"] == replicas


def test_no_retention_and_no_automatic_topics() -> None:
    assert properties_of(make_layout())["log.retention.ms"] == "-1"
    assert properties_of(make_layout("0.8.2.2"))["log.retention.hours"] == "2147483647"
    assert properties_of(make_layout())["auto.create.topics.enable"] == "false"


def test_users_properties_override_and_are_filled() -> None:
    config = {"auto.create.topics.enable": "true", "broker.rack": "rack-{node_id}-{port}"}
    properties = properties_of(make_layout(nodes=2, config=config), 2)
    assert properties["auto.create.topics.enable"] == "true"
    assert properties["broker.rack"] == "rack-2-1002"


def test_users_advertised_listeners_keep_the_internal_one() -> None:
    layout = make_layout(config={"advertised.listeners": "PLAINTEXT://192.0.2.1:9092"})
    assert properties_of(layout)["advertised.listeners"] == (
        "PLAINTEXT://192.0.2.1:9092,INTERNAL://127.0.0.1:2001"
    )
    old = replace(layout, release=RELEASES["0.9.0.1"], zookeeper_port=4000)
    assert properties_of(old)["advertised.listeners"] == "PLAINTEXT://192.0.2.1:9092"


def test_tls_is_for_clients_only() -> None:
    properties = properties_of(make_layout(security="SSL"))
    assert properties["listener.security.protocol.map"] == (
        "SSL:SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
    )
    assert properties["ssl.keystore.location"] == "/cluster/broker.p12"
    assert "sasl.enabled.mechanisms" not in properties


def test_sasl_user_in_the_file_for_plain_only() -> None:
    properties = properties_of(make_layout(security="SASL_PLAINTEXT"))
    prefix = "listener.name.sasl_plaintext"
    assert properties["sasl.enabled.mechanisms"] == "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
    assert 'user_alice="secret"' in properties[f"{prefix}.plain.sasl.jaas.config"]
    assert "secret" not in properties[f"{prefix}.scram-sha-256.sasl.jaas.config"]
    assert "ssl.keystore.location" not in properties


def test_tls_without_its_files() -> None:
    with pytest.raises(ValueError, match="SSL needs TLS files"):
        properties_of(replace(make_layout(security="SSL"), keys=None))


def test_client_options() -> None:
    assert client_options(make_layout(nodes=2)) == {
        "bootstrap.servers": "127.0.0.1:1001,127.0.0.1:1002"
    }
    assert client_options(make_layout(security="SASL_SSL")) == {
        "bootstrap.servers": "127.0.0.1:1001",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            'username="alice" password="secret";'
        ),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/cluster/ca.pem",
    }


def test_repr_of_a_layout_has_no_passwords() -> None:
    shown = repr(make_layout(security="SASL_SSL"))
    assert "secret" not in shown
    assert "pw" not in shown


def test_zookeeper_listens_on_loopback_only() -> None:
    properties = zookeeper_properties(make_layout("1.1.1"))
    assert properties["clientPort"] == "4000"
    assert properties["clientPortAddress"] == "127.0.0.1"
    assert properties["admin.enableServer"] == "false"


@pytest.mark.parametrize("system", LogSystem)
def test_logging_properties_of_every_library(system: LogSystem) -> None:
    assert any("onsole" in value for value in logging_properties(system).values())


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain", "plain"),
        ("back\\slash", "back\\\\slash"),
        (" leading", "\\ leading"),
        ("two\nlines", "two\\nlines"),
        ("ä😀", "\\u00e4\\ud83d\\ude00"),
    ],
)
def test_escapes_of_values(value: str, written: str) -> None:
    assert render({"key": value}) == f"key={written}\n"
