"""Debezium on Kafka Connect, in one process, for the duration of a `with` block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from kafka_spark_source.testing.processes.ports import HOST
from tests.change_data import connect
from tests.change_data.connect import JSON, Properties
from tests.change_data.jars import DEBEZIUM
from tests.change_data.postgres import USER, Database
from tests.change_data.server import Server

PREFIX: Final = "shop"
"""The first part of the names of topics: `shop.public.orders`."""
_READY: Final = "Starting streaming"
_START_SECONDS: Final = 240
# The most: several connectors share it.
_HEAP: Final = "1g"


def topic_of(table: str) -> str:
    """The topic of a table of the schema `public`."""
    return f"{PREFIX}.public.{table}"


def avro(registry_url: str) -> Properties:
    """Avro in Confluent's framing, which the jars of DEBEZIUM_AVRO write.

    Args:
        registry_url: The URL of a `SchemaRegistry`.
    """
    return {
        **connect.avro(registry_url),
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
    with connect.standalone("Debezium", jars, bootstrap_servers, connectors, _HEAP) as server:
        server.wait(lambda: server.log.count(_READY) >= len(connectors), _START_SECONDS)
        yield server
