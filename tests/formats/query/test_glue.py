"""Reads with the framing of AWS Glue: schemas by name and by the ids of payloads."""

from __future__ import annotations

import json
import pickle
import uuid
import zlib
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import MalformedRecordError
from kafka_formats.options.formats import FormatOptions, PayloadOptions
from kafka_formats.options.settings import Format, Framing, Mode
from kafka_formats.query.read import QueryFormats, decoder_of
from tests.config_error import config_error
from tests.fakes.glue import glue, version_id
from tests.fakes.registry import FakeRegistry, registry
from tests.formats.schema_ids.test_glue import framed

pytestmark = pytest.mark.usefixtures("aws")

OLD = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]})
NEW = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "who", "type": ["null", "string"], "default": None},
        ],
    }
)
VALUE = PayloadOptions("value", Format.AVRO, Framing.GLUE, None, None, None)


def formats(
    fake: FakeRegistry, value: PayloadOptions = VALUE, mode: Mode = Mode.PERMISSIVE
) -> QueryFormats:
    options = {"glue.endpoint": fake.url}
    return QueryFormats(FormatOptions((value,), mode, options), ["orders"])


def decoded(query: QueryFormats, *values: bytes | None) -> list[dict[str, Any]]:
    """As a task gets the decoder, with the columns of the latest schema."""
    added = {"_error": pa.string(), "_raw": pa.binary()}
    wanted = pa.schema({**query.columns(), **added})
    decoder = decoder_of(wanted, query, checked_text=[], mode=Mode.PERMISSIVE)
    assert "headers" not in decoder.source_columns
    count = len(values)
    batch = pa.record_batch(
        {
            "value": pa.array(values, pa.binary()),
            "topic": ["orders"] * count,
            "partition": pa.array([0] * count, pa.int32()),
            "offset": [*range(count)],
        }
    )
    found = pickle.loads(pickle.dumps(decoder)).rows([batch])
    return [row for part in found for row in part.to_pylist()]


FIVE = b"\x0a"
SIX = b"\x0c\x02\x06ann"


@pytest.mark.no_cover
@pytest.mark.many_inputs
@pytest.mark.parametrize("packed", [False, True])
def test_avro_of_older_and_newer_versions(packed: bool) -> None:
    with registry(glue({"orders": [OLD, NEW]})) as fake:
        query = formats(fake)
        assert query.columns() == {"value": pa.struct({"id": pa.int64(), "who": pa.string()})}
        rows = decoded(
            query,
            framed(FIVE, version_id("orders", 1), packed=packed),
            None,
            framed(SIX, version_id("orders", 2), packed=packed),
        )
    assert [row["value"] for row in rows] == [
        {"id": 5, "who": None},
        None,
        {"id": 6, "who": "ann"},
    ]
    assert {row["_error"] for row in rows} == {None}


def test_broken_payloads() -> None:
    with registry(glue({"orders": [OLD]})) as fake:
        first = version_id("orders", 1)
        unknown = uuid.UUID(int=1)
        cut = framed(FIVE, first, packed=True)[:-3]
        bad = [cut, framed(b"", first, packed=True), framed(FIVE, unknown), b"x"]
        rows = decoded(formats(fake), framed(FIVE, first), *bad)
        with pytest.raises(MalformedRecordError, match="orders-0 at offset 0: the value: it has 1"):
            query = formats(fake, mode=Mode.FAILFAST)
            wanted = pa.schema(query.columns())
            decoder = decoder_of(wanted, query, checked_text=[], mode=Mode.FAILFAST)
            row = {"value": [b"x"], "topic": ["orders"], "partition": [0], "offset": [0]}
            [*decoder.rows([pa.record_batch(row)])]
    assert [row["value"] for row in rows] == [{"id": 5}, None, None, None, None]
    errors = [row["_error"] for row in rows[1:]]
    assert errors[0] == f"the value: (schema version {first}) its zlib data is cut short"
    assert errors[1].startswith(f"the value (schema id {first}): field id: ")
    assert errors[2].startswith(f"the value (schema id {unknown}): schema version {unknown}: ")
    assert errors[3].startswith("the value: it has 1 bytes, and the header of AWS Glue")
    assert [row["_raw"] for row in rows[1:]] == bad


@pytest.mark.many_inputs
def test_a_version_that_is_registered_later() -> None:
    schemas = [OLD]
    with registry(glue({"orders": schemas})) as fake:
        query = formats(fake)
        before = query.columns()
        schemas.append(NEW)
        rows = decoded(query, framed(SIX, version_id("orders", 2)))
    assert before == {"value": pa.struct({"id": pa.int64()})}
    assert [row["value"] for row in rows] == [{"id": 6}]


def test_names_versions_and_ids_of_schemas() -> None:
    with registry(glue({"mine": [OLD, NEW]})) as fake:
        first = {"value": pa.struct({"id": pa.int64()})}
        assert formats(fake, replace(VALUE, subject="mine", version=1)).columns() == first
        by_id = replace(VALUE, schema=f"id:{version_id('mine', 1)}")
        assert formats(fake, by_id).columns() == first
        assert config_error(formats(fake, replace(VALUE, schema="id:x")).columns) == (
            "Option 'value.schema' has no id after 'id:': it is a number, or a UUID in AWS Glue."
        )
        rows = decoded(formats(fake, by_id), framed(SIX, version_id("mine", 2)))
    assert [row["value"] for row in rows] == [{"id": 6}]


@pytest.mark.no_cover
def test_a_schema_of_another_format() -> None:
    with registry(glue({"orders": [OLD]}, kind="JSON")) as fake:
        with pytest.raises(Exception, match="is of the kind JSON, not AVRO"):
            formats(fake).columns()


@pytest.mark.many_inputs
def test_json_and_protobuf() -> None:
    schema = '{"type": "object", "properties": {"id": {"type": "integer"}}}'
    with registry(glue({"orders": [schema]}, kind="JSON")) as fake:
        value = replace(VALUE, format=Format.JSON)
        document = framed(b'{"id": 7}', version_id("orders", 1), packed=True)
        assert [row["value"] for row in decoded(formats(fake, value), document)] == [{"id": 7}]
    proto = 'syntax = "proto3"; message B { int64 id = 1; } message A { int64 id = 1; }'
    with registry(glue({"orders": [proto]}, kind="PROTOBUF")) as fake:
        value = replace(VALUE, format=Format.PROTOBUF, message="B")
        first = version_id("orders", 1)
        payloads = [framed(b"\x01\x08\x05", first), framed(b"\x00\x08\x05", first, packed=True)]
        rows = decoded(formats(fake, value), *payloads)
    assert [row["value"] for row in rows] == [{"id": 5}, None]
    assert rows[1]["_error"] == f"the value (schema id {first}): it is a A, not a B"


def test_bombs_are_unpacked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # The real limit is 128 MiB: the memory and the time of a test.
    monkeypatch.setattr("kafka_formats.schema_ids.glue.MAX_UNPACKED_BYTES", 100_000)
    with registry(glue({"orders": [OLD]})) as fake:
        first = version_id("orders", 1)
        header = framed(b"", first, packed=True)[:18]
        bomb = header + zlib.compress(bytes(200_000), 9)
        good = framed(FIVE, first, packed=True)
        rows = decoded(formats(fake), bomb, *[good] * 20, bomb)
    assert [row["value"] for row in rows] == [None, *[{"id": 5}] * 20, None]
    assert rows[0]["_error"].endswith("it unpacks to more than 100000 bytes")
