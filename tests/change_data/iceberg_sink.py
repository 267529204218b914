"""Iceberg's own sink for Kafka Connect, which fills tables of a catalog in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka_protocol.arrow_io.topic import create_topic
from kafka_spark_source.testing.errors import StartError
from tests.change_data import connect
from tests.change_data.connect import Properties
from tests.change_data.jars import ICEBERG_SINK
from tests.change_data.server import Server

_WRITE_SECONDS: Final = 480
_FAILED: Final = "Task is being killed"
_SHOWN: Final = 60
_COMMIT_MS: Final = 500
_HEAP: Final = "1g"


class Column(NamedTuple):
    """The type of a column as Iceberg writes it, with the types of its parts.

    Attributes:
        has_nulls: Whether it can be null.
    """

    type: str
    has_nulls: bool


def connector(topic: str, table: str, warehouse: Path, converter: Properties) -> Properties:
    """The properties of a sink that fills one table from one topic.

    Args:
        topic: The topic, which must exist.
        table: The table, which the sink makes.
        warehouse: The folder of the catalog.
        converter: The properties of the converters.
    """
    name = table.replace(".", "-")
    return {
        "name": name,
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "1",
        "topics": topic,
        **converter,
        "iceberg.catalog.type": "hadoop",
        "iceberg.catalog.warehouse": str(warehouse),
        "iceberg.tables": table,
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.control.topic": f"control-{name}",
        "iceberg.control.commit.interval-ms": str(_COMMIT_MS),
    }


@contextmanager
def iceberg_sink(servers: str, connectors: Sequence[Properties]) -> Iterator[Server]:
    """Starts Connect with sinks, and does not wait for their tables.

    Raises:
        JarError: Its jars cannot be downloaded.
    """
    for each in connectors:
        create_topic(each["iceberg.control.topic"], {"bootstrap.servers": servers})
    with connect.standalone("Iceberg's sink", ICEBERG_SINK, servers, connectors, _HEAP) as server:
        yield server


def wait_for_rows(server: Server, tables: Mapping[Path, int]) -> None:
    """Wait until tables have so many rows.

    Raises:
        StartError: The sink ended, one of its tasks failed, or the time is over.
    """

    def are_written() -> bool:
        # The worker goes on without a task that failed.
        if _FAILED in server.log:
            lines = server.log[server.log.index(_FAILED) :].splitlines()
            raise StartError("a task of Iceberg's sink failed", lines[:_SHOWN])
        return all(rows_in(table) >= rows for table, rows in tables.items())

    server.wait(are_written, _WRITE_SECONDS)


def rows_in(table: Path) -> int:
    """How many rows the newest snapshot of a table has."""
    metadata = _newest(table)
    newest = metadata.get("current-snapshot-id")
    return next(
        (
            int(each["summary"]["total-records"])
            for each in metadata.get("snapshots", ())
            if each["snapshot-id"] == newest
        ),
        0,
    )


def columns_of(table: Path) -> dict[str, Column]:
    """The columns of a table, as its newest file of metadata has them."""
    metadata = _newest(table)
    schema = next(
        each for each in metadata["schemas"] if each["schema-id"] == metadata["current-schema-id"]
    )
    return {
        each["name"]: Column(_text(each["type"]), not each["required"]) for each in schema["fields"]
    }


def _newest(table: Path) -> dict[str, Any]:
    files = [*table.glob("metadata/v*.metadata.json")]
    if not files:
        return {}
    newest = max(files, key=lambda file: int(file.name.removeprefix("v").split(".")[0]))
    metadata: dict[str, Any] = json.loads(newest.read_text())
    return metadata


def _text(kind: Any) -> str:
    """A type without the numbers of its fields, and without what can be null."""
    if isinstance(kind, str):
        return kind
    match kind["type"]:
        case "struct":
            fields = (f"{each['name']}: {_text(each['type'])}" for each in kind["fields"])
            return f"struct<{', '.join(fields)}>"
        case "list":
            return f"list<{_text(kind['element'])}>"
        case _:
            return f"map<{_text(kind['key'])}, {_text(kind['value'])}>"
