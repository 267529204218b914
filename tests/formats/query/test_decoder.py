"""What a task remembers of schemas. `tests/formats/suite` tests what becomes of the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.options.settings import Framing, Mode
from kafka_formats.payload.columns import ColumnFormat
from kafka_formats.payload.format import DecoderFactory, PayloadDecoder, Values
from kafka_formats.query import decoder as query_decoder
from kafka_formats.query.decoder import Decoder
from kafka_formats.schema_ids.frames import SchemaId
from tests.formats.suite.reading import Value, records

TYPE = pa.int64()


class Lengths:
    """Decodes a payload as its length after the frame."""

    def decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        lengths = [len(each) - skipped_bytes for each in payloads.to_pylist()]
        return Values(pa.array(lengths, TYPE), np.zeros(len(lengths), dtype=np.bool_))

    def explain(self, payload: bytes) -> PayloadError:
        raise AssertionError(payload)


def decoder(decoders: DecoderFactory, mode: Mode) -> Decoder:
    formats = {"value": ColumnFormat(Framing.CONFLUENT, TYPE, decoders)}
    return Decoder(pa.schema({"value": TYPE}), formats, mode)


def batch(given: Decoder, *schema_ids: int) -> pa.RecordBatch:
    values = [Value(b"\0" + each.to_bytes(4, "big") + b"x" * each) for each in schema_ids]
    return records(values).select([*given.source_columns])


def test_a_schema_that_does_not_exist_is_asked_for_once_in_a_task() -> None:
    asked = []

    class Gone:
        def for_schema(self, schema_id: SchemaId) -> PayloadDecoder:
            asked.append(schema_id)
            raise SchemaError("gone")

    none = decoder(Gone(), Mode.PERMISSIVE)
    assert sum(each.num_rows for each in none.rows([batch(none, 1, 2)] * 3)) == 6
    assert asked == [1, 2]


def test_each_schema_is_planned_once_in_a_task_and_not_all_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(query_decoder, "_MOST_DECODERS", 1)
    planned: list[SchemaId] = []

    class Planning:
        def for_schema(self, schema_id: SchemaId) -> PayloadDecoder:
            planned.append(schema_id)
            return Lengths()

    given = decoder(Planning(), Mode.FAILFAST)
    first, second = batch(given, 1, 1), batch(given, 2, 2)
    found = [each["value"].to_pylist() for each in given.rows([first, first, second])]
    assert (found, planned) == ([[1, 1], [1, 1], [2, 2]], [1, 2])
    assert len([*given.rows([first, second, first])]) == 3
    assert planned == [1, 2, 1, 2, 1]
