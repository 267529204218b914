"""Records of Debezium for tests, and what a read makes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from kafka_formats.debezium.query import DebeziumQuery
from kafka_formats.debezium.rows import EventRows
from kafka_formats.options.alone import parse_alone
from kafka_formats.query.stage import Stage, through
from kafka_protocol.columnar.arrays.schema import RECORD_SCHEMA

Record = tuple[bytes | None, bytes | None]
SOURCE: Final[Mapping[str, Any]] = {
    "version": "3.6.1.Final",
    "connector": "postgresql",
    "name": "shop",
    "ts_ms": 1_790_000_000_000,
    "snapshot": "false",
    "db": "shop",
    "schema": "public",
    "table": "items",
    "lsn": 30_112_345,
}
TS_MS: Final = 1_790_000_000_123


def event(
    op: str | None, before: Any = None, after: Any = None, source: Mapping[str, Any] = SOURCE
) -> dict[str, Any]:
    """An envelope."""
    return {
        "before": before,
        "after": after,
        "source": dict(source),
        "op": op,
        "ts_ms": TS_MS,
        "transaction": None,
    }


def dumped(document: Any) -> bytes:
    """A document as Connect's converter writes it: without blanks."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def wrapped(schema: Any, payload: Any) -> bytes:
    """A document with a schema."""
    return dumped({"schema": schema, "payload": payload})


def connect_struct(fields: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """A schema of Connect: a field's type by name, or a schema."""
    listed = []
    for field, kind in fields.items():
        own = dict(kind) if isinstance(kind, Mapping) else {"type": kind}
        listed.append({**own, "optional": True, "field": field})
    named = {} if name is None else {"name": name}
    return {"type": "struct", "fields": listed, "optional": False, **named}


def connect_envelope(row: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an envelope with the columns of a row."""
    value = connect_struct(row, "shop.public.items.Value")
    source = connect_struct(
        {key: "int64" if isinstance(each, int) else "string" for key, each in SOURCE.items()},
        "io.debezium.connector.postgresql.Source",
    )
    fields = {"before": value, "after": value, "source": source, "op": "string", "ts_ms": "int64"}
    return connect_struct(fields, "shop.public.items.Envelope")


def records(given: Sequence[Record], topic: str = "shop.public.items") -> pa.RecordBatch:
    """Records of one partition, with offsets from 0."""
    count = len(given)
    columns = [
        pa.array([key for key, _ in given], pa.binary()),
        pa.array([value for _, value in given], pa.binary()),
        pa.array([topic] * count, pa.string()),
        pa.array([3] * count, pa.int32()),
        pa.array(range(count), pa.int64()),
        pa.array([TS_MS * 1_000] * count, pa.timestamp("us", tz="UTC")),
        pa.array([0] * count, pa.int32()),
        pa.nulls(count, RECORD_SCHEMA.field("headers").type),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RECORD_SCHEMA)


def query_with(options: Mapping[str, str], *, has_headers: bool = False) -> DebeziumQuery:
    """The query of options."""
    read = parse_alone({"envelope": "debezium", **options})
    return DebeziumQuery(
        read.formats, read.envelope.debezium, ["shop.public.items"], has_headers=has_headers
    )


def stages_with(
    options: Mapping[str, str],
    types: Mapping[str, pa.DataType] | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[Stage, ...]:
    """The stages of a query."""
    query = query_with(options)
    return query.stages(query.wanted(columns, types or {}))


def table_of(stages: Sequence[Stage], given: Sequence[Record]) -> pa.Table:
    """The rows of records."""
    batch = records(given).select([*stages[0].source_columns])
    (rows,) = (each for each in stages if isinstance(each, EventRows))
    decoded = [*through(stages, [batch])]
    for each in decoded:
        each.validate(full=True)
    return pa.Table.from_batches(decoded, rows.schema)


def rows_of(stages: Sequence[Stage], given: Sequence[Record]) -> list[dict[str, Any]]:
    """The rows of records."""
    rows: list[dict[str, Any]] = table_of(stages, given).to_pylist()
    return rows


def read(
    options: Mapping[str, str],
    given: Sequence[Record],
    types: Mapping[str, pa.DataType] | None = None,
    columns: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """The rows that options make of records."""
    return rows_of(stages_with(options, types, columns), given)


JSON = {"value.format": "json"}
DDL = {**JSON, "value.schema": "id bigint, name string"}
KEY_1, KEY_2 = dumped({"id": 1}), dumped({"id": 2})
ANN = {"id": 1, "name": "ann"}
INSERT: Record = (KEY_1, dumped(event("c", after=ANN)))
UPDATE: Record = (KEY_1, dumped(event("u", ANN, {"id": 1, "name": "bob"})))
DELETE: Record = (KEY_1, dumped(event("d", {"id": 1, "name": "bob"})))
TOMBSTONE: Record = (KEY_1, None)
TRUNCATE: Record = (None, dumped(event("t")))
MESSAGE: Record = (None, dumped({"op": "m", "ts_ms": 1, "message": {"prefix": "p"}}))


def short(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


TIME, DATA = "io.debezium.time.", "io.debezium.data."
CONNECT = "org.apache.kafka.connect.data."


def named(kind: str, name: str, **parameters: str) -> dict[str, Any]:
    return {"type": kind, "name": name, **({"parameters": parameters} if parameters else {})}
