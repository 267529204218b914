"""Debezium on Kafka Connect, in one process, for the duration of a `with` block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from kafka_spark_source.testing.broker.commands import FAST_START_FLAGS
from kafka_spark_source.testing.broker.properties import render
from kafka_spark_source.testing.java import find_java
from kafka_spark_source.testing.processes.ports import HOST, HeldPorts
from tests.change_data.jars import DEBEZIUM, find
from tests.change_data.postgres import USER, Database
from tests.change_data.server import Server

PREFIX: Final = "shop"
"""The first part of the names of topics: `shop.public.orders`."""
_READY: Final = "Starting streaming"
_START_SECONDS: Final = 240
# The most: several connectors share it.
_HEAP: Final = "1g"

Properties: TypeAlias = Mapping[str, str]


def topic_of(table: str) -> str:
    """The topic of a table of the schema `public`."""
    return f"{PREFIX}.public.{table}"


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
    """Avro in Confluent's framing, by Apicurio's converter, which the jars of DEBEZIUM_AVRO have.

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
    return {
        **_converters(
            "io.apicurio.registry.utils.converter.AvroConverter",
            {f"apicurio.registry.{name}": value for name, value in settings.items()},
        ),
        # Names that Avro may have.
        "schema.name.adjustment.mode": "avro",
        "field.name.adjustment.mode": "avro",
    }


def connector(
    database: Database, tables: Sequence[str], settings: Properties = JSON, prefix: str = PREFIX
) -> Properties:
    """The properties of a connector that reads tables.

    Args:
        database: The database.
        tables: Tables of the schema `public`.
        settings: The converters, and what is other than by default.
        prefix: The first part of the names of its topics, and its own name.
    """
    return {
        "name": prefix,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "slot.name": prefix,
        "publication.name": prefix,
        "publication.autocreate.mode": "filtered",
        "topic.prefix": prefix,
        "database.hostname": HOST,
        "database.port": str(database.port),
        "database.user": USER,
        "database.password": USER,
        "database.dbname": USER,
        "table.include.list": ",".join(f"public.{each}" for each in tables),
        "poll.interval.ms": "100",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.partitions": "3",
        **settings,
    }


@contextmanager
def debezium(
    bootstrap_servers: str, connectors: Sequence[Properties], jars: str = DEBEZIUM
) -> Iterator[Server]:
    """Starts Connect with connectors, and waits until each follows the log of its database.

    Args:
        bootstrap_servers: The brokers.
        connectors: The properties of each.
        jars: The set of jars that has what they need.

    Raises:
        StartError: It does not start.
        JarError: Its jars cannot be downloaded.
    """
    folder = find(jars)
    ports = HeldPorts()
    try:
        with Server("Debezium") as server:
            worker = server.folder / "worker.properties"
            offsets = str(server.folder / "offsets")
            worker.write_text(render(_worker(bootstrap_servers, ports.take(), offsets)))
            files = [server.folder / f"connector-{each['name']}.properties" for each in connectors]
            for file, properties in zip(files, connectors, strict=True):
                file.write_text(render(properties))
            server.start(
                [
                    *(str(find_java()), f"-Xmx{_HEAP}", *FAST_START_FLAGS),
                    *("-XX:-UsePerfData", f"-Djava.io.tmpdir={server.folder}"),
                    *("-cp", f"{folder}/*", "org.apache.kafka.connect.cli.ConnectStandalone"),
                    *map(str, (worker, *files)),
                ]
            )
            server.wait(lambda: server.log.count(_READY) >= len(connectors), _START_SECONDS)
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
