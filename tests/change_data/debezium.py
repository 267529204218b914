"""Debezium on Kafka Connect, in one process, for the duration of a `with` block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from kafka_spark_source.testing.commands import DEFAULT_HEAP, FAST_START_FLAGS
from kafka_spark_source.testing.java import find_java
from kafka_spark_source.testing.ports import HOST, HeldPorts
from kafka_spark_source.testing.properties import render
from tests.change_data.jars import DEBEZIUM, find
from tests.change_data.postgres import USER, Database
from tests.change_data.server import Server

PREFIX: Final = "shop"
"""The first part of the names of topics: `shop.public.orders`."""
_READY: Final = "Starting streaming"
_START_SECONDS: Final = 120


def topic_of(table: str) -> str:
    """The topic of a table of the schema `public`."""
    return f"{PREFIX}.public.{table}"


@contextmanager
def debezium(database: Database, bootstrap_servers: str, tables: Sequence[str]) -> Iterator[Server]:
    """Starts Connect with a connector that reads these tables, and waits until it follows the log.

    Raises:
        StartError: It does not start.
        JarError: Its jars cannot be downloaded.
    """
    jars = find(DEBEZIUM)
    ports = HeldPorts()
    try:
        with Server("Debezium") as server:
            worker, connector = (server.folder / f"{name}.properties" for name in ("worker", "c"))
            offsets = str(server.folder / "offsets")
            worker.write_text(render(_worker(bootstrap_servers, ports.take(), offsets)))
            connector.write_text(render(_connector(database, tables)))
            server.start(
                [
                    *(str(find_java()), f"-Xmx{DEFAULT_HEAP}", *FAST_START_FLAGS),
                    *("-XX:-UsePerfData", f"-Djava.io.tmpdir={server.folder}"),
                    *("-cp", f"{jars}/*", "org.apache.kafka.connect.cli.ConnectStandalone"),
                    *(str(worker), str(connector)),
                ]
            )
            server.wait(lambda: _READY in server.log, _START_SECONDS)
            yield server
    finally:
        ports.close()


def _worker(bootstrap_servers: str, port: int, offsets: str) -> dict[str, str]:
    converter = "org.apache.kafka.connect.json.JsonConverter"
    return {
        "bootstrap.servers": bootstrap_servers,
        "key.converter": converter,
        "key.converter.schemas.enable": "false",
        "value.converter": converter,
        "value.converter.schemas.enable": "false",
        "offset.storage.file.filename": offsets,
        "offset.flush.interval.ms": "1000",
        # No plugin.path: with the class path beside it, classes would be loaded twice.
        "listeners": f"http://{HOST}:{port}",
    }


def _connector(database: Database, tables: Sequence[str]) -> dict[str, str]:
    return {
        "name": PREFIX,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "slot.name": PREFIX,
        "publication.autocreate.mode": "filtered",
        "topic.prefix": PREFIX,
        "database.hostname": HOST,
        "database.port": str(database.port),
        "database.user": USER,
        "database.password": USER,
        "database.dbname": USER,
        "table.include.list": ",".join(f"public.{each}" for each in tables),
        "poll.interval.ms": "100",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.partitions": "3",
    }
