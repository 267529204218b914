"""The database of `make demo-tables`: PostgreSQL, and Debezium that writes its changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.change_data import workload
from tests.change_data.debezium import PREFIX, avro, connector, debezium
from tests.change_data.demo import wait_for_debezium
from tests.change_data.jars import DEBEZIUM_AVRO
from tests.change_data.postgres import postgres
from tests.change_data.shop_writers import DATABASE
from tests.change_data.workload import Connection, Workload


class Database:
    """A database whose rows change by chance."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._work = Workload(connection, seed=1)

    def write(self) -> None:
        """Make one change."""
        self._work.change()

    def add_column(self) -> None:
        """Add a column to a table; later changes fill it."""
        workload.add_column(self.connection)
        self._work.use_added_column()

    def flush(self) -> None:
        """Return when Debezium has written all changes."""
        wait_for_debezium(self.connection, PREFIX)


@contextmanager
def database(servers: str, registry_url: str) -> Iterator[Database]:
    """Starts PostgreSQL and Debezium, which writes Avro.

    Raises:
        StartError: One of them does not start.
        JarError: The jars of Debezium cannot be downloaded.
    """
    with postgres() as started, closing(started.connect()) as connection:
        workload.create(connection)
        reader = connector(started, DATABASE, avro(registry_url))
        with debezium(servers, [reader], DEBEZIUM_AVRO):
            yield Database(connection)
