"""Reads and writes of the suite, which no other module of it plans.

A read is planned as a driver does it, pickled, and run as tasks do it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa

from kafka_formats import topic as alone
from kafka_formats.options.alone import parse_alone
from kafka_formats.options.formats import parse_write_formats
from kafka_formats.query.decoder import BrokenRecord, Decoder
from kafka_formats.query.query_formats import QueryFormats
from kafka_formats.query.stage import Stage, through
from kafka_formats.query.write import WrittenColumn, encoder_for
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE, RECORD_SCHEMA, TIMESTAMP_MS

TOPIC: Final = "orders"
PARTITION: Final = 3
FIRST_OFFSET: Final = 40
Row: TypeAlias = dict[str, Any]
Options: TypeAlias = Mapping[str, str]


class Value(NamedTuple):
    """The value of a record, and the headers beside it."""

    payload: bytes | None
    headers: list[Any] | None = None


NULL: Final = Value(None)


class Query:
    """A planned read.

    Args:
        options: As a user gives them.
        columns: The wanted columns.
        types: The types of decoded columns; others are those of the schema.
        topics: The topics; none for a pattern.
        puts_aside: Whether `aside` gets what DROPMALFORMED leaves out.
    """

    def __init__(
        self,
        options: Options,
        columns: Sequence[str] = ("value", "offset"),
        types: Mapping[str, pa.DataType] | None = None,
        topics: Sequence[str] = (TOPIC,),
        *,
        puts_aside: bool = False,
    ) -> None:
        # As `read_topic` plans it, which then connects to brokers.
        self.schema, stages = alone._stages(parse_alone(options), topics, columns, types or {})
        self.stages: tuple[Stage, ...] = pickle.loads(pickle.dumps(stages))
        self.aside: list[tuple[Row, BrokenRecord]] = []
        if puts_aside:
            (decoder,) = self.stages
            assert isinstance(decoder, Decoder)
            self.stages = (replace(decoder, put_aside=self._collect),)

    @property
    def type(self) -> pa.DataType:
        """The type of the values."""
        return self.schema.field("value").type

    def read(self, *values: Value, keys: Sequence[bytes | None] = ()) -> list[Row]:
        """The rows of a batch of records."""
        return self.read_batches(values, keys=keys)

    def read_batches(
        self, *batches: Sequence[Value], keys: Sequence[bytes | None] = ()
    ) -> list[Row]:
        """The rows of records in several batches, as a task reads them."""
        given = [records(each, keys) for each in batches]
        return [row for found in self.decode(*given) for row in found.to_pylist()]

    def decode(self, *batches: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The columns of batches of records."""
        given = (each.select([*self.stages[0].source_columns]) for each in batches)
        for found in through(self.stages, given):
            assert found.schema.equals(self.schema)
            found.validate(full=True)
            yield found

    def _collect(self, left_out: pa.RecordBatch, faults: Iterator[BrokenRecord]) -> None:
        self.aside += zip(left_out.to_pylist(), faults, strict=True)


def columns_of(options: Options, topics: Sequence[str] = (TOPIC,)) -> Mapping[str, pa.DataType]:
    """The types of the decoded columns."""
    return QueryFormats(parse_alone(options).formats, topics).columns()


def records(values: Sequence[Value], keys: Sequence[bytes | None] = ()) -> pa.RecordBatch:
    """A batch of records of one partition."""
    count = len(values)
    arrays = {
        "key": pa.array(keys or [None] * count, pa.binary()),
        "value": pa.array([each.payload for each in values], pa.binary()),
        "topic": pa.array([TOPIC] * count),
        "partition": pa.array([PARTITION] * count, pa.int32()),
        "offset": pa.array(range(FIRST_OFFSET, FIRST_OFFSET + count), pa.int64()),
        "timestamp": pa.array([0] * count, RECORD_SCHEMA.field("timestamp").type),
        "timestampType": pa.array([0] * count, pa.int32()),
        "headers": pa.array([each.headers for each in values], HEADERS_TYPE),
        TIMESTAMP_MS.name: pa.array([7] * count, pa.int64()),
    }
    return pa.RecordBatch.from_pydict(arrays)


def written(
    options: Options,
    rows: pa.RecordBatch,
    topic: str | None = TOPIC,
    *,
    types_are_known: bool = True,
) -> pa.RecordBatch:
    """Rows as a write encodes them.

    Args:
        options: As a user gives them.
        rows: The rows.
        topic: The topic of all; None if a column has it.
        types_are_known: Whether the driver knows the types of the columns.
    """
    formats = parse_write_formats({name.lower(): value for name, value in options.items()})
    assert formats is not None
    columns = {
        field.name: WrittenColumn(place, field.type if types_are_known else None)
        for place, field in enumerate(rows.schema)
    }
    columns = {name: columns[name] for name in formats.encoded_columns if name in columns}
    encoder = pickle.loads(pickle.dumps(encoder_for(formats, topic, columns)))
    found = encoder.encode(rows)
    found.validate(full=True)
    assert isinstance(found, pa.RecordBatch)
    return found
