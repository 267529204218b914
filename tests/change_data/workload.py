"""The tables of the demo's database, and random changes of their rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg
from psycopg import sql

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]


class Table(NamedTuple):
    """A table of the database.

    Attributes:
        keys: The columns of its primary key.
        columns: All columns, with their types in PostgreSQL.
        types: Column -> its type in Spark.
    """

    keys: tuple[str, ...]
    columns: str
    types: dict[str, str]


TABLES: Final = {
    "customers": Table(
        ("id",),
        "id bigint PRIMARY KEY, name text NOT NULL, is_regular boolean",
        {"id": "bigint", "name": "string", "is_regular": "boolean"},
    ),
    "products": Table(
        ("sku",),
        "sku text PRIMARY KEY, title text, description text, weight double precision",
        {"sku": "string", "title": "string", "description": "string", "weight": "double"},
    ),
    "orders": Table(
        ("customer", "number"),
        "customer bigint, number int, amount numeric(10,2), placed timestamptz, due date, "
        "PRIMARY KEY (customer, number)",
        {
            **{"customer": "bigint", "number": "int", "amount": "decimal(10,2)"},
            **{"placed": "timestamp", "due": "date"},
        },
    ),
}
ADDED: Final = ("customers", "phone", "text", "string")
"""The column that is added while the stream is down: table, name, and both types."""

_ROWS_AT_FIRST: Final = 200
# Longer than 2 kB, and not compressible: PostgreSQL keeps it apart (TOAST), and Debezium gets no
# value where an update leaves it as it is.
_TOAST_BYTES: Final = 6_000


def create(connection: Connection) -> None:
    """Create the tables, with some rows that Debezium finds in its snapshot."""
    for name, table in TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({table.columns})".encode())
    connection.execute("ALTER TABLE products ALTER COLUMN description SET STORAGE EXTERNAL")
    work = Workload(connection, seed=0)
    for _ in range(_ROWS_AT_FIRST):
        for insert in (work.insert_customer, work.insert_product, work.insert_order):
            insert()


def add_column(connection: Connection) -> None:
    """Add the column."""
    table, name, type_, _ = ADDED
    connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {type_}".encode())


def rows_of(connection: Connection, table: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns, and all rows by key."""
    cursor = connection.execute(
        sql.SQL("SELECT * FROM {} ORDER BY 1, 2").format(sql.Identifier(table))
    )
    return [each.name for each in cursor.description or ()], cursor.fetchall()


class Workload:
    """Changes of rows, drawn by chance. `done` counts them."""

    def __init__(self, connection: Connection, seed: int) -> None:
        self._connection = connection
        self._random = random.Random(seed)
        self._next = seed * 1_000_000
        self._has_added_column = False
        self.done: Counter[str] = Counter()
        self._weights: dict[Callable[[], None], int] = {
            self.insert_customer: 6,
            self.insert_product: 3,
            self.insert_order: 8,
            self.update_customer: 6,
            self.update_product: 6,
            self.update_order: 6,
            self.change_key_of_customer: 3,
            self.change_key_of_order: 3,
            self.delete_some: 4,
            self.delete_and_insert_again: 2,
            self.in_one_transaction: 3,
        }

    def change(self) -> None:
        """Make one change."""
        (change,) = self._random.choices([*self._weights], [*self._weights.values()])
        change()

    def use_added_column(self) -> None:
        """From now on changes fill the added column, too."""
        self._has_added_column = True

    def insert_customer(self) -> None:
        self._run(
            "inserts",
            "INSERT INTO customers (id, name, is_regular) VALUES (%s, %s, %s)",
            (self._new(), self._word(), self._random.choice([True, False, None])),
        )

    def insert_product(self) -> None:
        self._run(
            "inserts",
            "INSERT INTO products VALUES (%s, %s, %s, %s)",
            (f"sku-{self._new()}", self._word(), self._long_text(), self._random.random()),
        )

    def insert_order(self) -> None:
        number = self._new()
        self._run(
            "inserts",
            "INSERT INTO orders VALUES (%s, %s, %s, now(), current_date)",
            (number % 50, number, self._amount()),
        )

    def update_customer(self) -> None:
        if self._has_added_column and self._random.random() < 0.7:
            self._update("customers", "phone = %s", self._word())
        else:
            self._update("customers", "name = %s", self._word())

    def update_product(self) -> None:
        """Mostly not the long text, which Debezium then does not have."""
        if self._random.random() < 0.2:
            self._update("products", "description = %s", self._long_text())
        elif self._random.random() < 0.1:
            self._update("products", "description = %s", None)
        else:
            self._update("products", "title = %s", self._word())
            self.done["updates without the TOAST column"] += 1

    def update_order(self) -> None:
        self._update("orders", "amount = amount + %s, due = due + 1", self._amount())

    def change_key_of_customer(self) -> None:
        self._update("customers", "id = %s", self._new(), kind="updates of keys")

    def change_key_of_order(self) -> None:
        self._update("orders", "number = %s", self._new(), kind="updates of keys")

    def delete_some(self) -> None:
        table = self._random.choice([*TABLES])
        self._run("deletes", f"DELETE FROM {table} WHERE {self._one_of(table)}", ())

    def delete_and_insert_again(self) -> None:
        """The key stays, and nothing of the row before it."""
        sku = f"sku-{self._new()}"
        insert = "INSERT INTO products (sku, title, description) VALUES (%s, %s, %s)"
        self._run("inserts", insert, (sku, self._word(), self._long_text()))
        self._run("deletes", "DELETE FROM products WHERE sku = %s", (sku,))
        self._run("inserts", insert, (sku, self._word(), None))

    def in_one_transaction(self) -> None:
        with self._connection.transaction():
            for _ in range(self._random.randrange(2, 8)):
                self._random.choice([self.update_order, self.update_product, self.insert_order])()

    def _update(self, table: str, change: str, value: object, kind: str = "updates") -> None:
        self._run(kind, f"UPDATE {table} SET {change} WHERE {self._one_of(table)}", (value,))

    def _one_of(self, table: str) -> str:
        """A condition that one row fulfils."""
        offset = self._random.random()
        keys = ", ".join(TABLES[table].keys)
        skipped = f"(SELECT floor({offset} * count(*))::int FROM {table})"
        return f"({keys}) = (SELECT {keys} FROM {table} ORDER BY {keys} OFFSET {skipped} LIMIT 1)"

    def _run(self, kind: str, statement: str, values: tuple[object, ...]) -> None:
        changed = self._connection.execute(statement.encode(), values).rowcount
        self.done[kind] += changed

    def _new(self) -> int:
        self._next += 1
        return self._next

    def _amount(self) -> Decimal:
        return Decimal(self._random.randrange(-10_000, 10_000)) / 100

    def _word(self) -> str:
        return f"{self._random.choice(['Äpfel', 'pears', '林檎', ''])} {self._random.random()}"

    def _long_text(self) -> str:
        return self._random.randbytes(_TOAST_BYTES // 2).hex()
