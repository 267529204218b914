"""What the values of records are, and what a read makes of them.

Each value tells its place, so that no other record has it. Some cannot be decoded. A row has the
value that its record had, whatever the columns are: so the judge compares one with the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.sql import types as T

from kafka_spark_source.source import KafkaDataSource

Kind: TypeAlias = Literal["bytes", "text", "events", "growing"]

EVENT_OPTIONS: Final = {
    "envelope": "debezium",
    "value.format": "json",
    "value.schema": "number bigint, text string",
    "key.format": "raw",
}
"""The options of a read of events."""

SUBJECT: Final = "of-growing"
GROWING_OPTIONS: Final = {
    "value.format": "avro",
    "value.subject": SUBJECT,
    "value.schema.evolution": "restart",
    "schema.registry.url": "http://registry:8081",
}
"""The options of a read of values whose schema grows."""

_FIELDS: Final = [{"name": "number", "type": "long"}, {"name": "text", "type": "string"}]
_MORE: Final = {"name": "more", "type": ["null", "string"], "default": None}
AVRO_SCHEMAS: Final = tuple(
    json.dumps({"type": "record", "name": "Grown", "fields": fields})
    for fields in (_FIELDS, [*_FIELDS, _MORE])
)
"""The versions of the subject; the id of each is its number."""

GROWN_FROM: Final = 60
"""The number of the first records of a partition that have the second schema."""

_BLANK_EVERY: Final = 6
_BLANKS: Final[Mapping[int, bytes | None]] = {1: None, 4: b""}
_EMPTY_KEY: Final = 2
_BROKEN_EVERY: Final = 7
_OF_EVENTS: Final = ("c", "u", "d")
# No UTF-8, and no JSON, begins with it.
_BROKEN: Final = b"\xff"
_TYPES: Final[Mapping[str, T.DataType]] = {
    "string": T.StringType(),
    "map": T.MapType(T.StringType(), T.BinaryType()),
}


def key_of(number: int) -> bytes | None:
    """The key of a record that others have, too; some have none."""
    return None if number % 5 == 0 else b"key %d" % (number % 37)


class Values(NamedTuple):
    """The values of a scenario.

    Attributes:
        kind: Any bytes; text, of which some is not UTF-8; events of a database, of which some are
            not JSON; or records of Avro, with one field more from a number on.
        size: The bytes of a text.
        has_blanks: Whether some values are null or empty; then their keys tell their places. Some
            keys are empty, too.
    """

    kind: Kind
    size: int
    has_blanks: bool = False

    def key(self, topic: str, partition: int, number: int) -> bytes | None:
        """The key of a record; some have none."""
        if self.has_blanks and number % _BLANK_EVERY in _BLANKS:
            return f"{topic}-{partition}-{number:06d}".encode()
        if self.has_blanks and number % _BLANK_EVERY == _EMPTY_KEY:
            return b""
        return key_of(number)

    def of(self, topic: str, partition: int, number: int) -> bytes | None:
        """The value of a record."""
        if self.has_blanks and number % _BLANK_EVERY in _BLANKS:
            return _BLANKS[number % _BLANK_EVERY]
        text = f"{topic}-{partition}-{number:06d}".ljust(self.size, ".")
        value = text.encode()
        if self.kind == "events":
            value = event(_OF_EVENTS[number % len(_OF_EVENTS)], number, text)
        elif self.kind == "growing":
            return grown(number, text, f"more of {number}" if number >= GROWN_FROM else None)
        is_broken = self.kind != "bytes" and number % _BROKEN_EVERY == 3
        return _BROKEN + value if is_broken else value


def event(op: str, number: int, text: str) -> bytes:
    """An event of Debezium about one row."""
    row = {"number": number, "text": text}
    before, after = (row, None) if op == "d" else (None, row)
    return json.dumps({"before": before, "after": after, "op": op, "ts_ms": number}).encode()


def grown(number: int, text: str, more: str | None) -> bytes:
    """A record of Avro in Confluent's framing: of the first schema, or with more of the second."""
    fields = _long(number) + _bytes(text.encode())
    if more is not None:
        fields += _long(1) + _bytes(more.encode())
    return b"\0" + (1 if more is None else 2).to_bytes(4, "big") + fields


def _bytes(data: bytes) -> bytes:
    return _long(len(data)) + data


def _long(number: int) -> bytes:
    """A number as Avro has it, which is not negative here."""
    left, digits = number * 2, []
    while left > 0x7F:
        digits.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*digits, left])


def is_broken(value: bytes | None) -> bool:
    """Whether a value is neither UTF-8 nor JSON."""
    return value is not None and value.startswith(_BROKEN)


def schema_of(options: Mapping[str, str], columns: Mapping[str, str]) -> T.StructType:
    """The schema of a read, with columns of other types as a user names them in `.schema(...)`."""
    if not columns:
        return KafkaDataSource(dict(options)).schema()
    # Without a user's schema they would have no column to be about.
    needs_text = {"deadLetterTopic", "mode"}
    plain = {name: value for name, value in options.items() if name not in needs_text}
    return T.StructType(
        [
            T.StructField(
                each.name, _TYPES[columns[each.name]] if each.name in columns else each.dataType
            )
            for each in KafkaDataSource(plain).schema()
        ]
    )


def values_in(batch: pa.RecordBatch) -> list[bytes | None]:
    """The values of the records that rows are made of."""
    if "value" in batch.schema.names:
        if pa.types.is_struct(batch.schema.field("value").type):
            return [
                grown(each["number"], each["text"], each.get("more"))
                for each in batch.column("value").to_pylist()
            ]
        values: list[bytes | None] = batch.column("value").cast(pa.binary()).to_pylist()
        return values
    columns = (batch.column(name).to_pylist() for name in ("op", "number", "text"))
    return [event(*each) for each in zip(*columns, strict=True)]
