"""Records parsed from lines -> columns to write, with JSON documents encoded in a format.

The inverse of `decoding`. JSON has no types of its own, so the schema gives them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.json.column import check_type
from kafka_formats.json.decoder import decoder_for
from kafka_formats.options.alone import parse_alone
from kafka_formats.options.formats import (
    FormatOptions,
    PayloadOptions,
    WriteFormatOptions,
    parse_write_formats,
)
from kafka_formats.options.other_tools import in_own_names
from kafka_formats.options.settings import Mode
from kafka_formats.payload.column_encoder import ColumnEncoder, encode_column
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.tools.records.decoding import has_type
from kafka_spark_source.tools.records.json_text import parse
from kafka_spark_source.tools.records.lines import BrokenLineError, Document, Line

COLUMNS: Final = SinkColumns(value=0, key=1, topic=None, partition=2, headers=3, timestamp=4)
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
# After six digits of a second.
_FRACTION: Final = re.compile(r"\.\d{6}(\d+)")
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d{1,6})?")


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the payloads of lines become bytes.

    Attributes:
        encoders: Column, `key` or `value`, -> its encoder; None where documents are written as they
            are: JSON without a type. Columns without a format are not here.
    """

    encoders: Mapping[str, TypedEncoder | None]

    def encode(self, lines: Sequence[Line], partition: int | None) -> pa.RecordBatch:
        """The rows of lines, as `COLUMNS` says.

        Raises:
            BrokenLineError: A document does not fit its schema.
        """
        return pa.record_batch(
            [
                self._payloads("value", lines),
                self._payloads("key", lines),
                pa.array([partition] * len(lines), pa.int32()),
                pa.array([[*map(_header, each.headers)] for each in lines], HEADERS_TYPE),
                pa.array([_microseconds(each) for each in lines], pa.int64()).cast(_TIMESTAMP),
            ],
            ["value", "key", "partition", "headers", "timestamp"],
        )

    def _payloads(self, column: str, lines: Sequence[Line]) -> pa.BinaryArray:
        given: list[Any] = [getattr(each, column) for each in lines]
        rows = [row for row, each in enumerate(given) if isinstance(each, Document)]
        encoder = self.encoders.get(column)
        numbers = [lines[row].number for row in rows]
        documents = [given[row] for row in rows]
        encoded = (
            [each.encode() for each in documents]
            if encoder is None
            else encoder.encode(documents, numbers)
        )
        for row, payload in zip(rows, encoded, strict=True):
            given[row] = payload
        return pa.array(given, pa.binary())


def _header(header: tuple[str, bytes | None]) -> dict[str, str | bytes | None]:
    name, value = header
    return {"key": name, "value": value}


def _microseconds(line: Line) -> int | None:
    return None if line.timestamp_ms is None else line.timestamp_ms * 1_000


class TypedEncoder(NamedTuple):
    """Encodes the documents of a column.

    Attributes:
        column: `key` or `value`.
        type: The type of its values.
        encoder: How to encode them.
    """

    column: str
    type: pa.DataType
    encoder: ColumnEncoder

    def encode(self, documents: Sequence[str], numbers: Sequence[int]) -> list[bytes]:
        """The payloads of documents, which are in lines of these numbers.

        Raises:
            BrokenLineError: A document does not fit its schema.
        """
        if not documents:
            return []
        for document, number in zip(documents, numbers, strict=True):
            misfit = _misfit_in(parse(document), self.type, self.column)
            if misfit is not None:
                raise BrokenLineError(number, misfit)
        try:
            payloads: list[bytes] = encode_column(
                self._values(documents, numbers), self.encoder, self.column
            ).to_pylist()
        except PayloadError as error:
            if len(documents) == 1:
                raise BrokenLineError(numbers[0], str(error)) from error
            # Which of them it is, only each by itself shows.
            half = len(documents) // 2
            first = self.encode(documents[:half], numbers[:half])
            return first + self.encode(documents[half:], numbers[half:])
        return payloads

    def _values(self, documents: Sequence[str], numbers: Sequence[int]) -> pa.Array:
        decoder = decoder_for(pa.struct([(self.column, self.type)]))
        texts = [f'{{"{self.column}":{each}}}'.encode() for each in documents]
        decoded = decoder.decode(pa.array(texts, pa.binary()), 0)
        if decoded.is_broken.any():
            row = int(np.argmax(decoded.is_broken))
            raise BrokenLineError(numbers[row], str(decoder.explain(texts[row])))
        return decoded.values.field(0)


def _misfit_in(document: Any, data_type: pa.DataType, path: str) -> str | None:
    """The first part of a document that a read, as by `from_json`, would lose or alter; else None.

    Numbers are texts here (`json_text`).
    """
    if isinstance(document, dict) and pa.types.is_struct(data_type):
        fields = {field.name: field.type for field in data_type}
        for name, value in document.items():
            inner = f"{path}.{name}"
            if name not in fields:
                return f"the schema has no field {inner!r}"
            misfit = _misfit_in(value, fields[name], inner)
            if misfit is not None:
                return misfit
        return None
    if isinstance(document, dict) and pa.types.is_map(data_type):
        parts = [*document.values()]
        of_parts = data_type.item_type
    elif isinstance(document, list) and pa.types.is_list(data_type):
        parts, of_parts = document, data_type.value_type
    elif isinstance(document, str):
        return f"{path}: it does not fit {data_type}" if _is_altered(document, data_type) else None
    else:
        return None
    misfits = (_misfit_in(each, of_parts, path) for each in parts)
    return next((each for each in misfits if each is not None), None)


def _is_altered(text: str, data_type: pa.DataType) -> bool:
    """Whether a number or a string loses digits as this type. Other texts are refused later."""
    if pa.types.is_timestamp(data_type):
        fraction = _FRACTION.search(text)
        return fraction is not None and bool(fraction[1].rstrip("0"))
    if _NUMBER.fullmatch(text) is None:
        return False
    if pa.types.is_decimal(data_type):
        digits, exponent = Decimal(text).as_tuple()[1:]
        zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
        return any(digits) and int(exponent) + zeros < -data_type.scale
    if pa.types.is_float32(data_type):
        with np.errstate(over="ignore"):
            return bool(np.isinf(np.float32(text)))
    return pa.types.is_float64(data_type) and math.isinf(float(text))


def encoding_for(topic: str, options: Mapping[str, str]) -> Encoding:
    """How to encode the lines of a write to a topic by the options of formats of a job.

    Raises:
        KafkaConfigError: An option is wrong, or JSON has no values of the schema's types.
        FormatError: A schema is invalid, or the registry lacks it or cannot be asked.
    """
    parse_alone(options)
    given = in_own_names({name.lower(): value for name, value in options.items()})
    formats = parse_write_formats(given)
    if formats is None:
        return Encoding({})
    return Encoding({each.column: _encoder(topic, each, formats) for each in formats.payloads})


def _encoder(
    topic: str, payload: PayloadOptions, formats: WriteFormatOptions
) -> TypedEncoder | None:
    if not has_type(payload, formats.registry):
        return None
    # All formats: longer to import than the rest of a command that uses none.
    from kafka_formats.query.query_formats import QueryFormats  # noqa: PLC0415
    from kafka_formats.query.write import WrittenColumn, encoder_for  # noqa: PLC0415

    known = QueryFormats(FormatOptions((payload,), Mode.PERMISSIVE, formats.registry), [topic])
    data_type = known.columns()[payload.column]
    try:
        check_type(data_type)
    except SchemaError as error:
        raise KafkaConfigError(
            f"The {payload.column}s cannot be written from JSON: {error}"
        ) from error
    # Lines have no schema of their own that could be registered: only a given one is.
    own = replace(
        formats,
        payloads=(payload,),
        auto_register=formats.auto_register and payload.has_schema,
        use_latest=True,
    )
    written = encoder_for(own, topic, {payload.column: WrittenColumn(0, data_type)})
    return TypedEncoder(payload.column, data_type, written.encoders[0])
