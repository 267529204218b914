"""Rows that were written to another topic: each has the place that it came from with it.

The last header of a written record, or the struct in its value, tells it. So what librdkafka reads
becomes the rows of the query again, and a lost, altered or repeated row is one by name.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import fastavro

from tests.endurance.torture.expected import BLANK, Answer
from tests.endurance.torture.rows import Row
from tests.truth.headers import origin_of

AT: Final = "torture-at"
"""The header with topic, partition and offset."""

FORMATTED: Final = ("topic", "partition", "offset", "timestamp", "key", "value")
"""The columns that a struct has; the others are left out."""

DEAD_LETTER: Final = "dead letter"
"""The payload of dead letters: headers of Kafka Connect have the place."""

AVRO_SCHEMA: Final = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "topic", "type": "string"},
        {"name": "partition", "type": "int"},
        {"name": "offset", "type": "long"},
        {"name": "timestamp", "type": "long"},
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "value", "type": ["null", "bytes"]},
    ],
}
DDL: Final = "topic string, partition int, offset long, timestamp long, key binary, value binary"


class Written(NamedTuple):
    """A topic that a query wrote.

    Attributes:
        payload: How the place is written: a name of PAYLOADS.
        once: Whether no row may be there again.
        ordered: Whether the rows of a partition are in order.
    """

    topic: str
    partitions: int
    payload: str = "header"
    once: bool = False
    ordered: bool = False


class Gave(NamedTuple):
    """What a query read, and the topic that it wrote; None if it did not."""

    answer: Answer | None = None
    written: Written | None = None


def at_header(topic: str, partition: int, offset: int) -> tuple[str, bytes]:
    """The header that tells where a row came from."""
    return AT, f"{topic}/{partition}/{offset}".encode()


def answer_of(written: Written, partitions: Sequence[Sequence[Row]]) -> Answer:
    """The rows of the query, from the rows of each partition of the written topic."""
    decode = PAYLOADS[written.payload]
    groups = [[decode(row) for row in rows] for rows in partitions]
    return Answer(groups, written.ordered, may_repeat=not written.once)


def _from_header(row: Row) -> Row:
    assert row.headers, f"no header {AT}: {row}"
    (name, place), others = row.headers[-1], row.headers[:-1]
    assert name == AT, f"no header {AT}: {row}"
    topic, partition, offset = (place or b"").decode().split("/")
    return row._replace(topic=topic, partition=int(partition), offset=int(offset), headers=others)


def _from_avro(row: Row) -> Row:
    decoded = fastavro.schemaless_reader(io.BytesIO(row.value or b""), AVRO_SCHEMA, None)
    return BLANK._replace(**_dictionary(decoded))


def _from_json(row: Row) -> Row:
    decoded = json.loads(row.value or b"")
    for name in ("key", "value"):
        text = decoded.get(name)  # a null field is left out
        decoded[name] = None if text is None else base64.b64decode(text)
    return BLANK._replace(**decoded)


def _from_event(row: Row) -> Row:
    event = json.loads(row.value or b"")
    text = json.dumps(event["before"] if event["op"] == "d" else event["after"])
    return _from_json(row._replace(value=text.encode()))


def _from_dead_letter(row: Row) -> Row:
    origin = origin_of(row.headers)
    return row._replace(**origin._asdict())


def _dictionary(decoded: Any) -> dict[str, Any]:
    assert isinstance(decoded, dict)
    return decoded


PAYLOADS: Final[Mapping[str, Callable[[Row], Row]]] = {
    "header": _from_header,
    "avro": _from_avro,
    "json": _from_json,
    "event": _from_event,
    DEAD_LETTER: _from_dead_letter,
}
