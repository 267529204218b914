"""Kafka Connect in one process, for the duration of a `with` block, and its converters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from kafka_spark_source.testing.broker.commands import FAST_START_FLAGS
from kafka_spark_source.testing.broker.properties import render
from kafka_spark_source.testing.java import find_java
from kafka_spark_source.testing.processes.ports import HOST, HeldPorts
from tests.change_data.jars import find
from tests.change_data.server import Server

Properties: TypeAlias = Mapping[str, str]


def _converters(converter: str, settings: Properties) -> dict[str, str]:
    """The properties of a converter, of keys and of values."""
    named = {"": converter} | {f".{name}": value for name, value in settings.items()}
    return {
        f"{side}.converter{name}": value
        for side in ("key", "value")
        for name, value in named.items()
    }


_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
JSON: Final[Properties] = _converters(_JSON, {"schemas.enable": "false"})
JSON_WITH_SCHEMAS: Final[Properties] = _converters(_JSON, {"schemas.enable": "true"})


def avro(registry_url: str) -> Properties:
    """Avro in Confluent's framing, by Apicurio's converter.

    Args:
        registry_url: The URL of a `SchemaRegistry`.
    """
    root, _, _ = registry_url.partition("/apis/")
    settings = {
        "url": f"{root}/apis/registry/v2",
        "auto-register": "true",
        "find-latest": "true",
        "as-confluent": "true",
        "headers.enabled": "false",
        "use-id": "contentId",
    }
    return _converters(
        "io.apicurio.registry.utils.converter.AvroConverter",
        {f"apicurio.registry.{name}": value for name, value in settings.items()},
    )


@contextmanager
def standalone(
    name: str, jars: str, bootstrap_servers: str, connectors: Sequence[Properties], heap: str
) -> Iterator[Server]:
    """Starts a worker with connectors, and does not wait for them.

    Args:
        name: For errors.
        jars: The set of jars that has what the connectors need.
        bootstrap_servers: The brokers.
        connectors: The properties of each.
        heap: The most memory of Java, as `1g`.

    Raises:
        JarError: The jars cannot be downloaded.
    """
    folder = find(jars)
    ports = HeldPorts()
    try:
        with Server(name) as server:
            worker = server.folder / "worker.properties"
            offsets = str(server.folder / "offsets")
            worker.write_text(render(_worker(bootstrap_servers, ports.take(), offsets)))
            files = [server.folder / f"connector-{each['name']}.properties" for each in connectors]
            for file, properties in zip(files, connectors, strict=True):
                file.write_text(render(properties))
            server.start(
                [
                    *(str(find_java()), f"-Xmx{heap}", *FAST_START_FLAGS),
                    *("-XX:-UsePerfData", f"-Djava.io.tmpdir={server.folder}"),
                    *("-cp", f"{folder}/*", "org.apache.kafka.connect.cli.ConnectStandalone"),
                    *map(str, (worker, *files)),
                ]
            )
            yield server
    finally:
        ports.close()


def _worker(bootstrap_servers: str, port: int, offsets: str) -> Properties:
    return {
        "bootstrap.servers": bootstrap_servers,
        **JSON,
        "offset.storage.file.filename": offsets,
        "offset.flush.interval.ms": "1000",
        # No plugin.path: with the class path beside it, classes would be loaded twice.
        "listeners": f"http://{HOST}:{port}",
    }
