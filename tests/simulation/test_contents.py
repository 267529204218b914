"""Values of records, and what rows have of them."""

from __future__ import annotations

import io
import json

import fastavro
import pyarrow as pa
import pytest

from kafka_spark_source.source import KafkaDataSource
from tests.simulation.contents import (
    AVRO_SCHEMAS,
    GROWN_FROM,
    Kind,
    Values,
    event,
    is_broken,
    schema_of,
    values_in,
)


@pytest.mark.parametrize("kind", ["bytes", "text", "events", "growing"])
def test_each_value_is_there_once(kind: Kind) -> None:
    values = [Values(kind, 30).of("in", 2, number) or b"" for number in range(50)]
    assert len({*values}) == 50
    assert any(map(is_broken, values)) == (kind in {"text", "events"})
    assert all(len(value) >= 30 for value in values)


def test_a_blank_record_has_a_key_that_tells_its_place() -> None:
    values = Values("bytes", 30, has_blanks=True)
    records = [(values.key("in", 2, n), values.of("in", 2, n)) for n in range(60)]
    assert {value for _, value in records if not value} == {None, b""}
    assert {key for key, _ in records if not key} == {None, b""}
    blanks = [key for key, value in records if not value]
    assert len({*blanks}) == len(blanks) == 20
    assert b"" in {key for key, value in records if value}


def test_events_are_of_one_row() -> None:
    found = [json.loads(Values("events", 8).of("in", 0, number) or b"") for number in range(3)]
    assert [each["op"] for each in found] == ["c", "u", "d"]
    assert [each["before"] is None for each in found] == [True, True, False]


def test_rows_have_the_value_of_their_record() -> None:
    raw = pa.record_batch({"value": pa.array([b"a", None, b"\xff"])})
    assert values_in(raw) == [b"a", None, b"\xff"]
    text = pa.record_batch({"value": pa.array(["a", None])})
    assert values_in(text) == [b"a", None]
    row = pa.record_batch({"text": ["x"], "op": ["d"], "number": [7]})
    assert values_in(row) == [event("d", 7, "x")]


def test_columns_of_other_types() -> None:
    options = {"kafka.bootstrap.servers": "a:1", "subscribe": "t", "includeHeaders": "true"}
    assert schema_of(options, {}) == KafkaDataSource(options).schema()
    changed = schema_of(options | {"deadLetterTopic": "d"}, {"value": "string", "headers": "map"})
    types = {field.name: field.dataType.simpleString() for field in changed}
    assert (types["key"], types["value"]) == ("binary", "string")
    assert types["headers"] == "map<string,binary>"


def test_records_of_avro_grow() -> None:
    for number in (0, 7, 64, GROWN_FROM - 1, GROWN_FROM, 300):
        value = Values("growing", 40).of("in", 0, number) or b""
        version = value[4]
        schema = json.loads(AVRO_SCHEMAS[version - 1])
        record = fastavro.schemaless_reader(io.BytesIO(value[5:]), schema, None)
        assert isinstance(record, dict)
        assert version == (1 if number < GROWN_FROM else 2)
        assert record["number"] == number
        rows = pa.record_batch({"value": pa.array([record])})
        assert values_in(rows) == [value]
