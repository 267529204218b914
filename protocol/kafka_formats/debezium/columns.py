"""The columns of a read of changes: the table's, and more about each change. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from kafka_formats.arrow.types import as_nullable
from kafka_formats.debezium.events import BEFORE, OP, SOURCE, TS_MS, UNAVAILABLE
from kafka_formats.debezium.origin import Column, Origin
from kafka_formats.debezium.rows import KEY, VALUE
from kafka_formats.options.settings import ERROR_COLUMN, RAW_COLUMNS
from kafka_protocol.columnar.arrays.schema import RECORD_SCHEMA, TOPIC_ID
from kafka_protocol.errors import KafkaConfigError

PREFIX_OPTION: Final = "debezium.prefix"
_HEADERS: Final = "headers"
_TEXT: Final = pa.string()
_LONG: Final = pa.int64()

# The columns of records, except keys and values.
RECORD_COLUMNS: Final[Mapping[str, pa.DataType]] = {
    field.name: field.type for field in (*RECORD_SCHEMA, TOPIC_ID) if field.name not in {KEY, VALUE}
}
SOURCE_TYPE: Final = pa.struct(
    {
        # All connectors.
        "version": _TEXT,
        "connector": _TEXT,
        "name": _TEXT,
        "ts_ms": _LONG,
        "ts_us": _LONG,
        "ts_ns": _LONG,
        "snapshot": _TEXT,
        "db": _TEXT,
        "schema": _TEXT,
        "table": _TEXT,
        "sequence": _TEXT,
        # PostgreSQL. Oracle's txId is a text.
        "txId": _TEXT,
        "lsn": _LONG,
        "xmin": _LONG,
        # MySQL and MariaDB.
        "server_id": _LONG,
        "gtid": _TEXT,
        "file": _TEXT,
        "pos": _LONG,
        "row": pa.int32(),
        "thread": _LONG,
        # SQL Server, and Db2.
        "change_lsn": _TEXT,
        "commit_lsn": _TEXT,
        "event_serial_no": _LONG,
        # Oracle.
        "scn": _TEXT,
        "commit_scn": _TEXT,
    }
)
"""The type of `source` in documents without a schema: what connectors write for relational
databases. A user may name another one."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a read.

    Attributes:
        row: The columns of the table; None if only the query knows them.
        source: The type of the source of changes.
        key: The type of keys: a struct, or binary; None if only the query knows it.
        added: The columns that the mode adds.
        has_headers: Whether there are headers.
        has_topic_ids: Whether there are ids of topics.
        prefix: Before the names of columns that are not the table's.
        has_before: Whether the row before the change is one.
    """

    row: pa.StructType | None
    source: pa.DataType
    key: pa.DataType | None
    added: Mapping[str, pa.DataType]
    has_headers: bool
    has_topic_ids: bool
    prefix: str
    has_before: bool = False

    @property
    def before(self) -> str:
        """The name of the column with the row before the change."""
        return self.prefix + BEFORE

    def completed_by(self, types: Mapping[str, pa.DataType]) -> Columns:
        """The columns, and the columns that only the types of a query name.

        They are keys without a schema, and the row before the change, a struct: a column of its
        name with another type is one of the table, unless an option says otherwise.
        """
        key = types.get(self.prefix + KEY) if self.key is None else self.key
        is_named = pa.types.is_struct(types.get(self.before, pa.null()))
        return replace(self, key=key, has_before=self.has_before or is_named)

    @property
    def names(self) -> set[str]:
        """The names of all columns that are not the table's."""
        return {*self._own}

    @property
    def _own(self) -> dict[str, Column]:
        """All columns by their names, except the table's."""
        is_there = {_HEADERS: self.has_headers, TOPIC_ID.name: self.has_topic_ids}
        record = {
            name: Column(Origin.RECORD, name, each)
            for name, each in RECORD_COLUMNS.items()
            if is_there.get(name, True)
        }
        key = Column(Origin.KEY, "", self.key)
        if self.key == pa.binary():
            key = Column(Origin.RECORD, KEY, self.key)
        named = {
            OP: Column(Origin.EVENT, OP, _TEXT),
            TS_MS: Column(Origin.EVENT, TS_MS, _LONG),
            SOURCE: Column(Origin.EVENT, SOURCE, self.source),
            BEFORE: Column(Origin.EVENT, BEFORE, self.row),
            KEY: key,
            **record,
        }
        if not self.has_before:
            del named[BEFORE]
        own = {self.prefix + name: each for name, each in named.items()}
        own[UNAVAILABLE] = Column(Origin.EVENT, UNAVAILABLE, pa.list_(pa.field("element", _TEXT)))
        return own | {name: Column(Origin.RECORD, name, each) for name, each in self.added.items()}

    def types(self) -> dict[str, pa.DataType]:
        """The types of all columns that are known, the table's first.

        Raises:
            KafkaConfigError: The columns of the table are not known.
        """
        if self.row is None:
            raise KafkaConfigError(
                "The columns of the table are not known: set value.schema to them, for example "
                "'id bigint, name string', or name them in .schema(...), or without Spark in types."
            )
        own = {name: each.type for name, each in self._own.items() if each.type is not None}
        return {field.name: field.type for field in self.row} | own

    def schema(self) -> pa.Schema:
        """All columns.

        Raises:
            KafkaConfigError: The table's columns are not known, or one has another column's name.
        """
        types = self.types()
        row = {field.name: field.type for field in self.row or ()}
        self.completed_by(row)._refuse_collisions([*row])
        return pa.schema([*types.items()])

    def requested(self, wanted: pa.Schema) -> dict[str, Column]:
        """The wanted columns, with their wanted types.

        Raises:
            KafkaConfigError: There is no such column, or one is wanted twice, not null or of
                another type.
        """
        columns = self.completed_by({field.name: field.type for field in wanted})
        own = columns._own
        row = None if self.row is None else [field.name for field in self.row]
        if row is not None:
            columns._refuse_collisions([name for name in row if name in wanted.names])
        requested: dict[str, Column] = {}
        for field in wanted:
            if field.name in requested:
                raise KafkaConfigError(f"Column '{field.name}' is wanted twice: name it once.")
            if not field.nullable or as_nullable(field.type) != field.type:
                raise KafkaConfigError(
                    f"Column '{field.name}' and all of its parts must be nullable: leave NOT NULL "
                    "out of the schema."
                )
            if field.name in own:
                _check_type(field, own[field.name], row)
                requested[field.name] = own[field.name]._replace(type=field.type)
            else:
                self._check_of_table(field.name, row)
                requested[field.name] = Column(Origin.ROW, field.name, field.type)
        return requested

    def _check_of_table(self, name: str, row: list[str] | None) -> None:
        if row is not None and name in row:
            return
        if name == self.prefix + _HEADERS:
            raise KafkaConfigError(
                f"Column '{name}' needs the option includeHeaders: set it to true, or leave the "
                "column out."
            )
        if row is not None:
            listed = ", ".join([*row, *self._own])
            raise KafkaConfigError(f"There is no column '{name}'; there are {listed}.")

    def _refuse_collisions(self, row: list[str]) -> None:
        """Refuse a column of the table that each change also has. As for Spark, case is ignored."""
        own = {name.lower() for name in self._own}
        for name in row:
            if name.lower() in own:
                is_fixed = name.lower() in {UNAVAILABLE, ERROR_COLUMN, *RAW_COLUMNS}
                cure = (
                    "name the columns to read, without it, in .schema(...)"
                    if is_fixed
                    else f"set {PREFIX_OPTION}, for example to __, which is put before the names "
                    "of columns that are not the table's"
                )
                raise KafkaConfigError(
                    f"The table has a column '{name}', and so has each change: {cure}."
                )


def _check_type(field: pa.Field, column: Column, row: list[str] | None) -> None:
    known = column.type
    is_struct = known is not None and pa.types.is_struct(known)
    if known is not None and not is_struct and known != field.type:
        raise KafkaConfigError(f"Column '{field.name}' is {known}, not {field.type}.")
    if column.origin is Origin.KEY:
        _check_struct(field, "of the fields of keys")
    elif column[:2] == (Origin.EVENT, BEFORE):
        _check_struct(field, "of columns of the table")
        _check_before(field, row)


def _check_struct(field: pa.Field, content: str) -> None:
    if not pa.types.is_struct(field.type) or not field.type.num_fields:
        raise KafkaConfigError(f"Column '{field.name}' is a struct {content}, not {field.type}.")


def _check_before(field: pa.Field, row: list[str] | None) -> None:
    for each in field.type:
        if row is not None and each.name not in row:
            raise KafkaConfigError(
                f"There is no column '{each.name}' in '{field.name}'; there are {', '.join(row)}."
            )
