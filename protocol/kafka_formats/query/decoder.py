"""Records with keys and values as bytes -> decoded records; broken payloads by `mode`.

The columns are as in `kafka_protocol.columnar.arrays.schema`, and where the mode is PERMISSIVE
`_error`, `_raw` and `_raw_key`. Knows no format and no registry: decoders come from the caller.

Source: the modes are as in Spark's `from_avro`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import null_where, with_type
from kafka_formats.errors import MalformedRecordError, SchemaError, SchemaEvolvedError
from kafka_formats.options.settings import ERROR_COLUMN, RAW_COLUMNS, Mode
from kafka_formats.payload.columns import (
    ColumnFormat,
    ColumnValues,
    Fault,
    RefusalOf,
    decode_column,
)
from kafka_formats.payload.format import Bools, DecoderFactory, PayloadDecoder
from kafka_formats.payload.raw_columns import raw_as
from kafka_formats.schema_ids.frames import Frames, SchemaId
from kafka_formats.schema_ids.framings import HEADERS, frames_of, splits_of
from kafka_protocol.columnar.arrays.arrow_memory import array_of_bools, indices_of
from kafka_protocol.columnar.arrays.schema import TIMESTAMP_MS

_log = logging.getLogger(__name__)

ValuesOfColumns: TypeAlias = Mapping[str, ColumnValues]

_MOST_DECODERS: Final = 100
_PLACE: Final = ("topic", "partition", "offset")
_AS_IT_CAME: Final = ("key", "value", "headers", TIMESTAMP_MS.name)


class BrokenRecord(NamedTuple):
    """A record with a key or a value that cannot be decoded.

    Attributes:
        topic: Where it is, with partition and offset.
        faults: The columns, `key` or `value`, and their faults; at least one.
    """

    topic: str
    partition: int
    offset: int
    faults: Sequence[tuple[str, Fault]]

    @property
    def reason(self) -> str:
        """The key or the value, the schema, the field and the reason."""
        return "; ".join(f"the {name}{fault}" for name, fault in self.faults)

    def __str__(self) -> str:
        """Where it is, and the reason."""
        return f"{self.topic}-{self.partition} at offset {self.offset}: {self.reason}"


# Takes records that are left out, not decoded, and their faults.
PutAside: TypeAlias = Callable[[pa.RecordBatch, Iterator[BrokenRecord]], None]


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decodes the keys and values of records; a stage of a read.

    Attributes:
        schema: The columns that are wanted, decoded.
        formats: Column, `key` or `value`, -> its format. Others stay as they are.
        mode: How to treat broken payloads.
        put_aside: Takes the records that DROPMALFORMED leaves out, before the rows beside them are
            given out; None to count and log them.
        completed: Completes decoded columns by each other, and marks what is broken then; None if
            each stands for itself.
    """

    schema: pa.Schema
    formats: Mapping[str, ColumnFormat]
    mode: Mode
    put_aside: PutAside | None = None
    completed: Callable[[ValuesOfColumns], ValuesOfColumns] | None = None

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns of the records to decode, with the columns that errors name."""
        wanted = [RAW_COLUMNS.get(name, name) for name in self.schema.names]
        decoded = self.decoded_columns
        framed = any(self.formats[name].framing in HEADERS for name in decoded)
        place = _PLACE if decoded else ()
        listed = [*wanted, *decoded, *place, *(["headers"] if framed else [])]
        if self.put_aside is not None:
            listed += _AS_IT_CAME
        return tuple(name for name in dict.fromkeys(listed) if name != ERROR_COLUMN)

    @property
    def decoded_columns(self) -> Sequence[str]:
        """The columns of payloads to decode: the wanted ones, or all to report their faults."""
        wanted = {*self.schema.names}
        tells_faults = not wanted.isdisjoint({ERROR_COLUMN, *RAW_COLUMNS})
        return [name for name in self.formats if tells_faults or name in wanted]

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Decode record batches with `source_columns` to batches with `schema`, without empty ones.

        Raises:
            MalformedRecordError: A payload is broken, and the mode is FAILFAST. Names topic,
                partition, offset, schema and field.
            SchemaEvolvedError: A payload has a newer schema that a format refuses.
        """
        return _Run(self).rows(batches)


class _Run:
    """The decoding of the records of one task."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._put_aside = decoder.put_aside or self._log_dropped
        self._decoders = {
            name: _Remembering(decoder.formats[name].decoders) for name in decoder.decoded_columns
        }
        self._accepted: set[tuple[str, SchemaId]] = set()
        self._dropped = 0

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in (piece for whole in batches for piece in self._split(whole)):
            if not self._decoders:
                yield self._assembled(batch, {})
                continue
            columns: ValuesOfColumns = {name: self._column(batch, name) for name in self._decoders}
            if self._decoder.completed is not None:
                columns = self._decoder.completed(columns)
            is_broken = _any([column.is_broken for column in columns.values()], batch.num_rows)
            decoded = _BY_MODE[self._decoder.mode](self, batch, columns, is_broken)
            if decoded.num_rows:
                yield decoded
        if self._dropped:
            _log.warning("Dropped records that could not be decoded: %d.", self._dropped)

    def _split(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The batch, in pieces if compressed payloads may become too large together."""
        places = {0, batch.num_rows}
        for name in self._decoders:
            framing = self._decoder.formats[name].framing
            places.update(splits_of(framing, batch.column(name)))
        for start, end in pairwise(sorted(places)):
            yield batch.slice(start, end - start)

    def _column(self, batch: pa.RecordBatch, name: str) -> ColumnValues:
        format_ = self._decoder.formats[name]
        payloads = batch.column(name)
        headers = batch.column("headers") if format_.framing in HEADERS else None
        frames = frames_of(format_.framing, payloads, headers, name)
        if format_.refusal is not None:
            self._check_schemas(batch, name, frames, format_.refusal)
        return decode_column(payloads, frames, self._decoders[name], format_.type)

    def _check_schemas(
        self, batch: pa.RecordBatch, name: str, frames: Frames, refusal: RefusalOf
    ) -> None:
        """Stop at the first payload of a schema that is refused; each is asked about once."""
        for group in sorted(frames.groups, key=lambda each: int(each.rows[0])):
            if (name, group.schema_id) in self._accepted:
                continue
            refused = refusal(group.schema_id, self._decoders[name])
            if refused is not None:
                topic, partition, offset = _place(batch, int(group.rows[0]))
                raise SchemaEvolvedError(
                    f"{refused.condition} The {name} of {topic}-{partition} at offset {offset} "
                    f"{refused.reason}"
                )
            self._accepted.add((name, group.schema_id))

    def fail_fast(
        self, batch: pa.RecordBatch, columns: Mapping[str, ColumnValues], is_broken: Bools
    ) -> pa.RecordBatch:
        if is_broken.any():
            first = _broken(batch, columns, int(np.argmax(is_broken)))
            raise MalformedRecordError(
                f"[MALFORMED_MESSAGE] {first}. To get nulls instead, set the option "
                "mode to PERMISSIVE; to leave them out, to DROPMALFORMED; to keep such records "
                "elsewhere, set deadLetterTopic in Spark."
            )
        return self._assembled(batch, {name: each.values for name, each in columns.items()})

    def drop(
        self, batch: pa.RecordBatch, columns: Mapping[str, ColumnValues], is_broken: Bools
    ) -> pa.RecordBatch:
        values: dict[str, pa.Array] = {name: each.values for name, each in columns.items()}
        if is_broken.any():
            rows = np.flatnonzero(is_broken)
            # Each explanation costs: a log needs one only.
            broken = (_broken(batch, columns, row) for row in rows.tolist())
            self._put_aside(batch.take(indices_of(rows)), broken)
            kept = array_of_bools(~is_broken)
            batch = batch.filter(kept)
            values = {name: each.filter(kept) for name, each in values.items()}
        return self._assembled(batch, values)

    def _log_dropped(self, records: pa.RecordBatch, broken: Iterator[BrokenRecord]) -> None:
        if not self._dropped:
            _log.warning("A record is dropped, and others may follow: %s.", next(broken))
        self._dropped += records.num_rows

    def permit(
        self, batch: pa.RecordBatch, columns: Mapping[str, ColumnValues], is_broken: Bools
    ) -> pa.RecordBatch:
        decoded: dict[str, pa.Array] = {
            name: null_where(each.is_broken, each.values) for name, each in columns.items()
        }
        wanted = self._decoder.schema.names
        if ERROR_COLUMN in wanted:
            rows = np.flatnonzero(is_broken)
            errors = np.full(batch.num_rows, None, dtype=object)
            errors[rows] = [_broken(batch, columns, row).reason for row in rows.tolist()]
            decoded[ERROR_COLUMN] = pa.array(errors, pa.string())
        for raw in RAW_COLUMNS.keys() & {*wanted}:
            decoded[raw] = null_where(~is_broken, batch.column(RAW_COLUMNS[raw]))
        return self._assembled(batch, decoded)

    def _assembled(self, batch: pa.RecordBatch, decoded: Mapping[str, pa.Array]) -> pa.RecordBatch:
        schema = self._decoder.schema
        arrays = [
            with_type(decoded[field.name], field.type)
            if field.name in decoded
            else raw_as(batch.column(field.name), field.type)
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


_BY_MODE: Final[Mapping[Mode, Callable[..., pa.RecordBatch]]] = {
    Mode.FAILFAST: _Run.fail_fast,
    Mode.PERMISSIVE: _Run.permit,
    Mode.DROPMALFORMED: _Run.drop,
}


def _any(masks: Sequence[Bools], count: int) -> Bools:
    union: Bools = np.logical_or.reduce([np.zeros(count, dtype=np.bool_), *masks])
    return union


class _Remembering:
    """Plans once in a task for each schema, and asks once for one that does not exist."""

    def __init__(self, factory: DecoderFactory) -> None:
        self._factory = factory
        self._errors: dict[SchemaId, SchemaError] = {}
        self._decoders: dict[SchemaId, PayloadDecoder] = {}

    def for_schema(self, schema_id: SchemaId) -> PayloadDecoder:
        if schema_id in self._errors:
            raise self._errors[schema_id]
        if schema_id not in self._decoders:
            if len(self._decoders) == _MOST_DECODERS:
                # Documents may have a schema each.
                self._decoders.clear()
            try:
                self._decoders[schema_id] = self._factory.for_schema(schema_id)
            except SchemaError as error:
                self._errors[schema_id] = error
                raise
        return self._decoders[schema_id]


def _place(batch: pa.RecordBatch, row: int) -> tuple[str, int, int]:
    topic, partition, offset = (batch.column(name)[row].as_py() for name in _PLACE)
    return topic, partition, offset


def _broken(batch: pa.RecordBatch, columns: Mapping[str, ColumnValues], row: int) -> BrokenRecord:
    faults = [(name, each.fault(row)) for name, each in columns.items() if each.is_broken[row]]
    return BrokenRecord(*_place(batch, row), faults)
