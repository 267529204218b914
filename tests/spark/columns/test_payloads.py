"""The stages of a read, for each kind of read. What they do is tested with `kafka_formats`."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructType

from kafka_formats.query.decoder import BrokenRecord, Decoder
from kafka_protocol.errors import KafkaError
from kafka_spark_source.columns.payloads import ReadPayloads
from kafka_spark_source.options.read import parse_batch_options
from tests.fakes.registry import registry, subjects

READ = {"kafka.bootstrap.servers": "localhost:1", "subscribe": "t"}
AVRO = READ | {"value.format": "avro", "value.schema": '"long"'}
UPSERT = {"envelope": "upsert"}
EVENTS = READ | {"envelope": "debezium", "value.format": "json", "value.schema": "id bigint"}
TEXT = StructType().add("value", "string")


def put_aside(records: pa.RecordBatch, broken: Iterator[BrokenRecord]) -> None:
    raise AssertionError((records, broken))


def stages(options: dict[str, str], schema: StructType | None = None) -> Any:
    read = parse_batch_options(options)
    payloads = ReadPayloads(read)
    made = payloads.stages(schema or payloads.columns(), put_aside)
    return pickle.loads(pickle.dumps(made))


@pytest.mark.parametrize(
    ("options", "schema", "expected"),
    [
        (READ, None, []),
        (READ, TEXT, ["Decoder"]),
        (READ | UPSERT, None, ["Upsert"]),
        (AVRO, None, ["Decoder"]),
        (AVRO | UPSERT, None, ["Upsert", "Decoder"]),
        (EVENTS, None, ["NullsMadeNull", "Decoder", "EventRows"]),
    ],
)
def test_the_stages_of_a_read(
    options: dict[str, str], schema: StructType | None, expected: list[str]
) -> None:
    found = stages(options, schema)
    assert [type(each).__name__ for each in found] == expected


@pytest.mark.parametrize("options", [AVRO, AVRO | UPSERT, EVENTS])
def test_records_that_cannot_be_decoded_are_put_aside(options: dict[str, str]) -> None:
    (decoder,) = (each for each in stages(options) if isinstance(each, Decoder))
    assert decoder.put_aside is put_aside
    assert {"key", "value", "headers", "timestampMs"} <= {*decoder.source_columns}


@pytest.mark.parametrize("more", [{}, {"value.subjects": "t-value,u"}])
def test_a_registry_is_asked_once_for_all_that_a_read_needs(more: dict[str, str]) -> None:
    """Also because a version that is registered meanwhile would be in the half of it only."""
    record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]}
    versions = {
        name: [{"schema": json.dumps(record | {"name": name[0].upper()}), "id": number}]
        for number, name in enumerate(("t__value", "u"), 1)
    }
    with registry(subjects(**versions)) as fake:
        options = {"value.format": "avro", "schema.registry.url": fake.url}
        payloads = ReadPayloads(parse_batch_options(READ | options | more))
        columns = payloads.columns()
        payloads.record_types()
        payloads.types_of_members()
        payloads.stages(columns, put_aside)
        newest = [each for each in fake.paths if each.endswith("/versions/latest")]
    assert len(newest) == len(more.get("value.subjects", "t-value").split(","))
    assert len(newest) == len(set(newest))


def structs(depth: int) -> str:
    """With the `bigint` it has one more type than structs."""
    return "struct<a:" * depth + "bigint" + ">" * depth


# A record within itself, of which a projection names as many levels as it needs.
LINK = {
    "type": "record",
    "name": "Link",
    "fields": [{"name": "a", "type": ["null", "Link"]}, {"name": "id", "type": "long"}],
}


def nested(depth: int) -> StructType:
    """So many structs of links."""
    if depth == 1:
        return StructType().add("id", LongType())
    return StructType().add("a", nested(depth - 1))


@pytest.mark.parametrize("depth", [59, 60, 90])
def test_a_column_that_arrow_does_not_pass_on_to_spark_is_refused(depth: int) -> None:
    links = AVRO | {"value.schema": json.dumps(LINK)}
    projection = StructType().add("value", nested(depth))
    events = EVENTS | {"value.schema": f"a {structs(depth)}"}
    for options, schema in ((links, projection), (events, None)):
        if depth < 60:
            assert stages(options, schema)
            continue
        with pytest.raises(KafkaError, match="nested more than 60 times, which Arrow does not"):
            stages(options, schema)


@pytest.mark.parametrize("depth", [59, 60, 90])
def test_a_type_that_arrow_does_not_pass_on_to_spark_is_refused(depth: int) -> None:
    read = parse_batch_options(READ | {"value.format": "json", "value.schema": structs(depth)})
    if depth < 60:
        assert "value" in ReadPayloads(read).columns().names
        return
    with pytest.raises(KafkaError, match="nested more than 60 times, which Arrow does not pass on"):
        ReadPayloads(read).columns()
