"""Records the matrix of PostgreSQL's values, for `tests/formats/debezium/test_matrix.py`.

    python -m tests.change_data.record matrix

It writes RECORDED: the events of each connector, and the database's own text of each value. What
a connector cannot write, it leaves out (`event.processing.failure.handling.mode=warn`), which is
then seen by the row's number.
"""

from __future__ import annotations

import base64
import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import psycopg
from confluent_kafka.schema_registry import SchemaRegistryClient

from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.change_data import matrix
from tests.change_data.connect import JSON, JSON_WITH_SCHEMAS, Properties
from tests.change_data.debezium import avro, connector, debezium
from tests.change_data.jars import DEBEZIUM_AVRO
from tests.change_data.matrix import CONVERTERS, LARGE, MODES, STREAMED, Row
from tests.change_data.postgres import postgres
from tests.witness import messages_of

RECORDED: Final = Path(__file__).parents[1] / "formats" / "debezium" / "recorded_matrix.json.xz"
TABLES: Final = ("cells", "required", "altered", *LARGE)
_WRITE_SECONDS: Final = 180
_FRAME_BYTES: Final = 5
# A cast to text takes blanks away, or adds a mask; that of money has a currency.
_OUTPUT: Final = "CASE WHEN {0} IS NOT NULL THEN format('%s', {0}) END"
_SHOWN: Final = {"money": "{}::numeric::text", "char": _OUTPUT, "inet": _OUTPUT}
# `unnest` makes columns of their fields.
_WITHOUT_ITEMS: Final = {"pair"}
_SETTINGS: Final[Properties] = {
    "event.processing.failure.handling.mode": "warn",
    "topic.creation.default.partitions": "1",
    "tombstones.on.delete": "false",
}


def record_matrix(report: Callable[[str], None]) -> dict[str, Any]:
    """Start all, write the values, and return what is to be kept.

    Raises:
        StartError: A server did not start.
        TimeoutError: Debezium did not write all events.
    """
    with ExitStack() as stack:
        report("starting PostgreSQL, Apache Kafka and the schema registry")
        database = stack.enter_context(postgres())
        connection = stack.enter_context(closing(database.connect()))
        connection.execute("SET TimeZone = 'UTC'")
        cells = [*matrix.cells(), *matrix.edges()]
        connection.execute(matrix.create().encode())
        _insert(connection, {"cells": cells, "required": matrix.required()}, 0)
        before, after = matrix.altered(0), matrix.altered(1)
        _insert(connection, {"altered": before[:1]}, 0)
        servers = stack.enter_context(KafkaCluster()).bootstrap_servers
        registry_url = stack.enter_context(SchemaRegistry()).url
        # By default, BACKWARD, a connector ends at the first schema of a changed type.
        with closing(SchemaRegistryClient({"url": registry_url})) as client:
            client.set_compatibility(level="NONE")
        converters = {
            "told": JSON_WITH_SCHEMAS,
            "plain": JSON,
            "avro": avro(registry_url),
        }
        names = {
            f"{converter}_{mode}": {**converters[converter], **MODES[mode]}
            for converter in CONVERTERS
            for mode in MODES
        }
        report(f"starting Debezium with {len(names)} connectors")
        connectors = [
            connector(database, TABLES, {**_SETTINGS, **settings}, name)
            for name, settings in names.items()
        ]
        stack.enter_context(debezium(servers, connectors, DEBEZIUM_AVRO))
        _insert(connection, {"cells": cells, "required": matrix.required()}, STREAMED)
        _insert(connection, {"altered": before[1:]}, 0)
        changed = _altered_texts(connection, 0)
        connection.execute(matrix.alter().encode())
        _insert(connection, {"altered": after}, 0)
        changed |= _altered_texts(connection, 1)
        for table in LARGE:
            _insert(connection, {table: [matrix.large(table)]}, 0)
            connection.execute(f"UPDATE {table} SET changed = 1".encode())
        connection.execute(f"INSERT INTO large (id) VALUES ({matrix.LAST})".encode())
        report("waiting for the last events")
        _wait_for_last(servers, [f"{name}.public.large" for name in names])
        topics = {
            f"{name}.public.{table}": [
                (each.key(), each.value())
                for each in messages_of(servers, f"{name}.public.{table}", [0])
            ]
            for name in names
            for table in TABLES
        }
        # The event with all large values says nothing.
        for name in names:
            for table in LARGE:
                del topics[f"{name}.public.{table}"][0]
        schemas = _schemas(registry_url, topics)
        texts = {table: _texts(connection, table) for table in ("cells", "required", "kept")}
        texts["altered"] = changed
    return {"texts": texts, "schemas": schemas, "topics": _shared(topics)}


def _insert(
    connection: psycopg.Connection[Any], rows: Mapping[str, Sequence[Row]], shift: int
) -> None:
    for table, each in rows.items():
        for row in each:
            connection.execute(matrix.insert(table, row, shift).encode())


def _wait_for_last(servers: str, topics: Sequence[str]) -> None:
    waiting = [*topics]

    def are_all_there() -> bool:
        # The large values, the change, and the last row.
        waiting[:] = [each for each in waiting if len(messages_of(servers, each, [0])) < 3]
        return not waiting

    if not Deadline(_WRITE_SECONDS).wait_for(are_all_there):
        raise TimeoutError(f"{', '.join(waiting)} lack events after {_WRITE_SECONDS} s")


def _texts(connection: psycopg.Connection[Any], table: str) -> dict[str, dict[str, Any]]:
    """What the database says: the text of each value that is not null, by the row's number.

    Arrays are the texts of their items.
    """
    found: dict[str, dict[str, Any]] = {}
    names = {"cells": [*matrix.columns()], "kept": [*matrix.large().values]}.get(
        table, [*matrix.KINDS]
    )
    for name in names:
        statement = _text_of(name, name.removesuffix(matrix.ARRAY), table)
        for number, value in connection.execute(statement.encode()).fetchall():
            found.setdefault(str(number), {})[name] = value
    return found


def _altered_texts(connection: psycopg.Connection[Any], place: int) -> dict[str, dict[str, Any]]:
    """What the database says of the rows of `altered` that have a type of each pair."""
    found: dict[str, dict[str, Any]] = {}
    for name, kinds in matrix.ALTERED.items():
        statement = _text_of(name, kinds[place], "altered")
        for number, value in connection.execute(statement.encode()).fetchall():
            found.setdefault(str(number), {})[name] = value
    return found


def _text_of(name: str, kind: str, table: str) -> str:
    shown = _SHOWN.get(kind, "{}::text")
    if not name.endswith(matrix.ARRAY):
        text = shown.format(name)
    elif kind in _WITHOUT_ITEMS:
        text = f"{name}::text"
    else:
        text = (
            f"(SELECT coalesce(array_agg({shown.format('x')} ORDER BY place), '{{}}') "
            f"FROM unnest({name}) WITH ORDINALITY AS items(x, place))"
        )
    return f"SELECT id, {text} FROM {table} WHERE NOT {name} IS NOT DISTINCT FROM NULL ORDER BY id"


def _schemas(registry_url: str, topics: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    ids = {
        int.from_bytes(payload[1:_FRAME_BYTES], "big")
        for topic, records in topics.items()
        for pair in records
        for payload in pair
        if topic.startswith("avro") and payload is not None
    }
    with closing(SchemaRegistryClient({"url": registry_url})) as client:
        return {str(each): str(client.get_schema(each).schema_str) for each in sorted(ids)}


def _shared(topics: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The records: documents with schemas without them, each schema once.

    Raises:
        ValueError: A document would not be put together again as it was.
    """
    shared: dict[str, Any] = {}
    for topic, records in topics.items():
        schemas: list[str] = []
        shared[topic] = {
            "schemas": schemas,
            "records": [[_split(each, topic, schemas) for each in pair] for pair in records],
        }
    return shared


def _split(payload: bytes | None, topic: str, schemas: list[str]) -> Any:
    if payload is None:
        return None
    if not topic.startswith("told"):
        return base64.b64encode(payload).decode()
    text = payload.decode()
    schema, _, rest = text.partition(',"payload":')
    if schema not in schemas:
        schemas.append(schema)
    if f'{schema},"payload":{rest}' != text or not rest:
        raise ValueError(f"{topic}: a document has another form than expected")
    return [schemas.index(schema), rest]


def write(recorded: Mapping[str, Any]) -> int:
    """Write the file; its size."""
    text = json.dumps(recorded, indent=0)
    return RECORDED.write_bytes(lzma.compress(text.encode(), preset=9))
