"""Command lines of a layout that is not started."""

from pathlib import Path

from kafka_spark_source.testing.broker.commands import (
    Runtime,
    broker_command,
    format_command,
    registry_command,
    tool_command,
    zookeeper_command,
)
from kafka_spark_source.testing.broker.layout import ClusterLayout, NodeLayout
from kafka_spark_source.testing.releases import RELEASES

RUNTIME = Runtime(Path("/jdk/bin/java"), Path("/jars"), heap="1g", flags=("-XX:+UseZGC",))
NODE = NodeLayout(1, Path("/cluster/1"), 1001, 2001, 3001)


def layout_of(version: str, security: str = "PLAINTEXT") -> ClusterLayout:
    return ClusterLayout(
        release=RELEASES[version],
        nodes=(NODE,),
        security=security,
        folder=Path("/cluster"),
        cluster_id="the-id",
        zookeeper_port=None,
        password="secret",
    )


def test_broker_has_the_given_heap_and_flags() -> None:
    command = broker_command(RUNTIME, layout_of("4.4.0"), NODE)
    assert command[:3] == ["/jdk/bin/java", "-Xmx1g", "-XX:+UseZGC"]
    assert command[-4:] == ["-cp", "/jars/*", "kafka.Kafka", "/cluster/1/server.properties"]


def test_no_files_in_the_systems_temporary_folder() -> None:
    command = broker_command(RUNTIME, layout_of("4.4.0"), NODE)
    assert "-Djava.io.tmpdir=/cluster" in command
    assert "-XX:-UsePerfData" in command


def test_flags_of_a_release() -> None:
    command = zookeeper_command(RUNTIME, layout_of("1.1.1"))
    assert "-Dzookeeper.jmx.log4j.disable=true" in command
    assert command[-1] == "/cluster/zookeeper/zookeeper.properties"


def test_format_adds_scram_credentials_for_sasl_only() -> None:
    plaintext = format_command(RUNTIME, layout_of("4.4.0"), NODE)
    sasl = format_command(RUNTIME, layout_of("4.4.0", "SASL_SSL"), NODE)
    assert "--add-scram" not in plaintext
    assert plaintext[plaintext.index("--cluster-id") + 1] == "the-id"
    assert "SCRAM-SHA-256=[name=alice,password=secret]" in sasl
    assert "SCRAM-SHA-512=[name=alice,password=secret]" in sasl
    assert sasl.count("--add-scram") == 2


def test_arguments_of_a_tool() -> None:
    command = tool_command(RUNTIME, layout_of("1.1.1"), "kafka.admin.Tool", ["--flag", "value"])
    assert command[-3:] == ["kafka.admin.Tool", "--flag", "value"]


def test_a_registry_listens_on_loopback_with_plain_http() -> None:
    command = registry_command(RUNTIME, Path("/folder"), 0, None)
    assert command[:3] == ["/jdk/bin/java", "-Xmx1g", "-XX:+UseZGC"]
    assert "-Djava.io.tmpdir=/folder" in command
    assert [each for each in command if each.startswith("-Dquarkus.")] == [
        "-Dquarkus.http.host=127.0.0.1",
        "-Dquarkus.http.port=0",
    ]
    assert command[-2] == "-jar"
    assert command[-1].startswith("/jars/apicurio-registry-app-")


def test_a_registry_with_tls_has_no_plain_port() -> None:
    command = registry_command(RUNTIME, Path("/folder"), 8443, Path("/keys/broker.p12"))
    assert [each for each in command if each.startswith("-Dquarkus.")] == [
        "-Dquarkus.http.host=127.0.0.1",
        "-Dquarkus.http.ssl-port=8443",
        "-Dquarkus.http.insecure-requests=disabled",
        "-Dquarkus.http.ssl.certificate.key-store-file=/keys/broker.p12",
    ]
