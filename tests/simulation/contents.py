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

Kind: TypeAlias = Literal["bytes", "text", "events"]

EVENT_OPTIONS: Final = {
    "envelope": "debezium",
    "value.format": "json",
    "value.schema": "number bigint, text string",
    "key.format": "raw",
}
"""The options of a read of events."""

_BROKEN_EVERY: Final = 7
_OF_EVENTS: Final = ("c", "u", "d")
# No UTF-8, and no JSON, begins with it.
_BROKEN: Final = b"\xff"
_TYPES: Final[Mapping[str, T.DataType]] = {
    "string": T.StringType(),
    "map": T.MapType(T.StringType(), T.BinaryType()),
}


class Values(NamedTuple):
    """The values of a scenario.

    Attributes:
        kind: Any bytes; text, of which some is not UTF-8; or events of a database, of which some
            are not JSON.
        size: The bytes of a text.
    """

    kind: Kind
    size: int

    def of(self, topic: str, partition: int, number: int) -> bytes:
        """The value of a record."""
        text = f"{topic}-{partition}-{number:06d}".ljust(self.size, ".")
        value = text.encode()
        if self.kind == "events":
            value = event(_OF_EVENTS[number % len(_OF_EVENTS)], number, text)
        is_broken = self.kind != "bytes" and number % _BROKEN_EVERY == 3
        return _BROKEN + value if is_broken else value


def event(op: str, number: int, text: str) -> bytes:
    """An event of Debezium about one row."""
    row = {"number": number, "text": text}
    before, after = (row, None) if op == "d" else (None, row)
    return json.dumps({"before": before, "after": after, "op": op, "ts_ms": number}).encode()


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
        values: list[bytes | None] = batch.column("value").cast(pa.binary()).to_pylist()
        return values
    columns = (batch.column(name).to_pylist() for name in ("op", "number", "text"))
    return [event(*each) for each in zip(*columns, strict=True)]
