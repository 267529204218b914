"""Keys and values of records -> JSON texts for people, or the reasons why they cannot be decoded.

A job has the same options. A broken payload never ends it, whatever the option `mode` says.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kafka_formats.errors import SchemaError
from kafka_formats.json.encode import encode
from kafka_formats.options.alone import parse_alone
from kafka_formats.options.formats import FormatOptions, PayloadOptions
from kafka_formats.options.settings import ERROR_COLUMN, Format, Framing, Mode, SchemaEvolution
from kafka_spark_source.tools.records.json_text import fault_in, in_one_line
from kafka_spark_source.tools.records.peek import PayloadTexts, TextsOf, as_they_came

if TYPE_CHECKING:
    from kafka_formats.query.decoder import Decoder

# The option that every registry of Confluent's needs.
_URL: Final = "url"


def decode_for(topic: str, options: Mapping[str, str]) -> TextsOf:
    """How to decode the records of a topic by the options of formats of a job.

    Raises:
        KafkaConfigError: An option is wrong.
        FormatError: A schema is invalid, or the registry lacks it or cannot be asked.
    """
    formats = parse_alone(options).formats
    if not formats.payloads:
        return as_they_came
    documents = [each.column for each in formats.payloads if not has_type(each, formats.registry)]
    typed = tuple(
        replace(each, evolution=SchemaEvolution.NONE)
        for each in formats.payloads
        if each.column not in documents
    )
    decoder = None
    if typed:
        decoder = _decoder(topic, FormatOptions(typed, Mode.PERMISSIVE, formats.registry))
    return _ByFormats(frozenset(formats.decoded_columns), documents, decoder)


def has_type(payload: PayloadOptions, registry: Mapping[str, str]) -> bool:
    """Whether the type of a column is known: JSON alone needs none."""
    is_registered = payload.framing is Framing.GLUE or _URL in registry
    return payload.format is not Format.JSON or payload.has_schema or is_registered


def _decoder(topic: str, options: FormatOptions) -> Decoder:
    # All formats: longer to import than the rest of a command that uses none.
    from kafka_formats.query.query_formats import QueryFormats, decoder_of  # noqa: PLC0415

    formats = QueryFormats(options, [topic])
    wanted = pa.schema([*formats.columns().items(), (ERROR_COLUMN, pa.string())])
    return decoder_of(wanted, formats, checked_text=[], mode=Mode.PERMISSIVE)


class _ByFormats:
    """Decodes batches.

    Args:
        formats: The columns that have a format.
        documents: The columns of JSON without a type, which are shown unchanged.
        decoder: Decodes the others; None if there are none.
    """

    def __init__(
        self, formats: frozenset[str], documents: Sequence[str], decoder: Decoder | None
    ) -> None:
        self._formats = formats
        self._documents = documents
        self._decoder = decoder

    def __call__(self, batch: pa.RecordBatch) -> Sequence[PayloadTexts]:
        row_texts: list[dict[str, str]] = [{} for _ in range(batch.num_rows)]
        reasons: list[list[str]] = [[] for _ in range(batch.num_rows)]
        if self._decoder is not None:
            rows = self._decoder.rows([batch.select(self._decoder.source_columns)])
            decoded = pa.Table.from_batches(rows, self._decoder.schema)
            for name in decoded.schema.names:
                values = decoded.column(name).combine_chunks()
                if name == ERROR_COLUMN:
                    reasons = [[] if each is None else [each] for each in values.to_pylist()]
                else:
                    for texts, text in zip(row_texts, _texts_of(values), strict=True):
                        texts.update({} if text is None else {name: text})
        for name in self._documents:
            for row, payload in enumerate(batch.column(name).to_pylist()):
                _read_document(name, payload, row_texts[row], reasons[row])
        return [
            PayloadTexts(self._formats, texts, "; ".join(why) or None)
            for texts, why in zip(row_texts, reasons, strict=True)
        ]


def _texts_of(values: pa.Array) -> list[str | None]:
    """The document of each value, as Spark's `to_json` writes it; None for null."""
    try:
        payloads = encode(values).to_pylist()
    except SchemaError:
        # Such as a map whose keys are numbers: of that JSON has no form that could be read back.
        plain = values.to_pylist()
        return [None if each is None else json.dumps(each, default=_plain) for each in plain]
    return [None if each is None else each.decode() for each in payloads]


def _plain(value: object) -> str:
    """A value that JSON does not know, as a text."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _read_document(
    name: str, payload: bytes | None, texts: dict[str, str], reasons: list[str]
) -> None:
    """The text of a payload of JSON without a type, or why it is none."""
    if payload is None:
        return
    try:
        text = payload.decode()
    except UnicodeDecodeError as error:
        reasons.append(f"the {name}: it is not UTF-8: {error.reason} at byte {error.start}")
        return
    fault = fault_in(text)
    if fault is not None:
        reasons.append(f"the {name}: it is not JSON: {fault}")
    elif text.strip() == "null":
        # In a line for `pykafka write`, null is a record without a payload.
        reasons.append(f"the {name}: its document is null, and the payload is not")
    else:
        texts[name] = in_one_line(text)
