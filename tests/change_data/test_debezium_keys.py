"""Debezium on tables whose rows are not told by a primary key, into tables that must be equal."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg
import pytest
from pyspark.sql import SparkSession

from kafka_formats.topic import read_topic
from kafka_protocol.errors import BrokerError
from kafka_spark_source.changes import apply_changes
from kafka_spark_source.changes.arguments import ChangeError
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.change_data.conftest import ONLY_WITH_NEWEST_DELTA
from tests.change_data.connect import JSON
from tests.change_data.debezium import connector, debezium
from tests.change_data.postgres import postgres
from tests.change_data.workload import Connection

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    ONLY_WITH_NEWEST_DELTA,
]

PREFIX: Final = "keys"
FORMATS: Final = {
    "envelope": "debezium",
    "value.format": "json",
    "value.schema": "id bigint, email string, note string",
}
SEQUENCE: Final = ("source.lsn", "IF(op = 'd', 0, 1)")
"""As the page says: records without a key are in all partitions, and an update of a primary key is
a delete and an insert with one position in the log."""
CHANGES: Final = 120
SOON_SECONDS: Final = 180
LAST: Final = -1
"""The id of the last row that each table gets."""
# Longer than 2 kB, and not compressible: PostgreSQL keeps it apart (TOAST).
NOTE_BYTES: Final = 6_000


class Table(NamedTuple):
    """A table whose rows `id` tells.

    Attributes:
        more: Behind its columns.
        key: The columns of the records' keys.
    """

    more: str
    key: str


TABLES: Final = {
    "no_key": Table("", "id bigint"),
    "other_key": Table(", PRIMARY KEY (email)", "email string"),
    # `message.key.columns` gives its records another key.
    "message_key": Table(", PRIMARY KEY (email)", "id bigint"),
}
UNCHANGEABLE: Final = "unchangeable"


def create(connection: Connection) -> None:
    for name, table in TABLES.items():
        connection.execute(
            f"CREATE TABLE {name} (id bigint, email text, note text{table.more})".encode()
        )
        connection.execute(f"ALTER TABLE {name} ALTER note SET STORAGE EXTERNAL".encode())
        connection.execute(f"ALTER TABLE {name} REPLICA IDENTITY FULL".encode())
    connection.execute(f"CREATE TABLE {UNCHANGEABLE} (id bigint)".encode())


def change(connection: Connection, name: str, chance: random.Random, number: int) -> None:
    """Insert, update or delete a row; an update may give it the id of one that is gone."""
    ids = [row[0] for row in connection.execute(f"SELECT id FROM {name} ORDER BY id".encode())]
    kind = chance.choice(["insert", "update", "move", "move", "rename", "delete"])
    free = [each for each in range(12) if each not in ids]
    row = chance.choice(ids) if ids else None
    if (kind == "insert" or row is None) and free:
        values = (chance.choice(free), f"new {number}", chance.randbytes(NOTE_BYTES // 2).hex())
        connection.execute(f"INSERT INTO {name} VALUES (%s, %s, %s)".encode(), values)
    elif kind == "update":
        note = chance.choice([None, chance.randbytes(NOTE_BYTES // 2).hex()])
        connection.execute(f"UPDATE {name} SET note = %s WHERE id = %s".encode(), (note, row))
    elif kind == "move" and free:
        to = (chance.choice(free), row)
        connection.execute(f"UPDATE {name} SET id = %s WHERE id = %s".encode(), to)
    elif kind == "rename":
        to_email = (f"renamed {number}", row)
        connection.execute(f"UPDATE {name} SET email = %s WHERE id = %s".encode(), to_email)
    elif kind == "delete":
        connection.execute(f"DELETE FROM {name} WHERE id = %s".encode(), (row,))


def rows_of(connection: Connection, name: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"SELECT * FROM {name} ORDER BY id".encode()).fetchall()


class Lake:
    """The tables of Delta, and the changes for them."""

    def __init__(self, spark: SparkSession, servers: str, folder: Path) -> None:
        self._spark = spark
        self._servers = servers
        self._folder = folder
        for name in TABLES:
            spark.sql(f"CREATE TABLE delta.`{folder / name}` (id bigint) USING delta")

    def has(self, name: str, row: int) -> bool:
        """Whether Debezium has written a row."""
        servers = {"bootstrap.servers": self._servers}
        try:
            ids = read_topic(f"{PREFIX}.public.{name}", servers, FORMATS, columns=["id"])
        except BrokerError:  # no topic so far
            return False
        return row in ids.read_all()["id"].to_pylist()

    def apply(self, name: str, **more: str) -> None:
        """Apply the changes that there are."""
        options = {
            **{"kafka.bootstrap.servers": self._servers, "subscribe": f"{PREFIX}.public.{name}"},
            **{**FORMATS, "key.schema": TABLES[name].key, **more},
        }
        apply = apply_changes(
            str(self._folder / name), keys="id", evolve=True, sequence_by=SEQUENCE
        )
        apply(self._spark.read.format("pykafka").options(**options).load(), 0)

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        frame = self._spark.read.format("delta").load(str(self._folder / name))
        frame = frame.where("_tombstone IS NOT TRUE").select("id", "email", "note")
        return sorted(tuple(row) for row in frame.collect())


@pytest.fixture
def database() -> Iterator[tuple[Any, Connection]]:
    with postgres() as server, closing(server.connect()) as connection:
        create(connection)
        yield server, connection


def test_updates_of_keys_that_are_no_primary_key(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    tmp_path: Path,
    database: tuple[Any, Connection],
) -> None:
    server, connection = database
    settings = {**JSON, "message.key.columns": "public.message_key:id"}
    shop = connector(server, [*TABLES, UNCHANGEABLE], settings, PREFIX)
    lake = Lake(spark, kafka_cluster.bootstrap_servers, tmp_path)
    chance = random.Random(3)
    with debezium(kafka_cluster.bootstrap_servers, [shop]):
        for last in (LAST, LAST - 1):
            for number in range(CHANGES):
                for name in TABLES:
                    change(connection, name, chance, number)
            for name in TABLES:
                values = (last, f"last {last}", None)
                connection.execute(f"INSERT INTO {name} VALUES (%s, %s, %s)".encode(), values)
            for name in TABLES:
                assert Deadline(SOON_SECONDS).wait_for(partial(lake.has, name, last))
                lake.apply(name, **{"debezium.before": "true"})
                assert lake.rows(name) == rows_of(connection, name), name
        # What `docs/debezium.md` says of tables without a replica identity.
        connection.execute(f"INSERT INTO {UNCHANGEABLE} VALUES (1)".encode())
        with pytest.raises(psycopg.Error, match="does not have a replica identity"):
            connection.execute(f"UPDATE {UNCHANGEABLE} SET id = 2".encode())
    for name in ("no_key", "other_key"):
        with pytest.raises(ChangeError, match="the update may have changed the key"):
            lake.apply(name)
    lake.apply("message_key")
    assert lake.rows("message_key") == rows_of(connection, "message_key")
