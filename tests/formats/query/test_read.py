"""The schemas of a query: which ones the driver asks for, and as what payloads are read."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import NotFoundError, PayloadError, SchemaError, UnknownSchemaError
from kafka_formats.options.formats import FormatOptions, PayloadOptions
from kafka_formats.options.settings import Format, Framing, Mode, SubjectNameStrategy
from kafka_formats.payload.columns import decode_column
from kafka_formats.query.read import QueryFormats
from kafka_formats.schema_ids.framings import FRAMES
from tests.config_error import config_error
from tests.fakes.registry import FakeRegistry, registry, subjects
from tests.formats.protobuf.messages import descriptor_set
from tests.secret_check import PASSWORD


def record(*fields: tuple[str, Any], name: str = "Order") -> str:
    listed = [{"name": field, "type": kind} for field, kind in fields]
    for each in listed:
        if isinstance(each["type"], list):
            each["default"] = None
    return json.dumps({"type": "record", "name": name, "fields": listed})


WIDE = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}
FIRST = record(("id", "long"))
SECOND = record(("id", "long"), ("who", ["null", "string"]))
TWO: list[dict[str, Any]] = [{"id": 1, "schema": FIRST}, {"id": 2, "schema": SECOND}]
ID = pa.field("id", pa.int64(), nullable=False)
WHO = pa.field("who", pa.string())
VALUE = PayloadOptions("value", Format.AVRO, Framing.CONFLUENT, None, None, None)


def formats(
    fake: FakeRegistry | None,
    *payloads: PayloadOptions,
    topics: Sequence[str] = ("orders",),
    mode: Mode = Mode.FAILFAST,
) -> QueryFormats:
    url = {} if fake is None else {"url": fake.url, "max.retries": "0"}
    return QueryFormats(FormatOptions(payloads or (VALUE,), mode, url), topics)


def wanted(*fields: pa.Field) -> pa.Schema:
    return pa.schema([pa.field("value", pa.struct(fields)), pa.field("offset", pa.int64())])


TREE = record(("id", "long"), ("next", ["null", "Order"]), ("price", WIDE))


def test_a_record_within_itself_is_read_without_that_field() -> None:
    versions = [{"id": 1, "schema": TREE}]
    with registry(subjects(a__value=versions, b__value=versions)) as fake:
        query = formats(fake, topics=("a", "b"))
        with pytest.raises(SchemaError, match="contains itself"):
            query.columns()
        (column,) = query.column_formats(wanted(ID)).values()
        assert column.type == pa.struct([ID])


@pytest.mark.parametrize("kind", [pa.string(), pa.decimal128(38, 2), pa.binary()])
def test_a_wide_decimal_is_read_as_it_is_wanted(kind: pa.DataType) -> None:
    with registry(subjects(orders__value=[{"id": 1, "schema": TREE}])) as fake:
        part = pa.field("price", kind)
        (column,) = formats(fake).column_formats(wanted(part)).values()
        assert column.type == pa.struct([part])


def test_the_type_is_that_of_the_latest_version() -> None:
    with registry(subjects(orders__value=TWO)) as fake:
        assert formats(fake).columns() == {"value": pa.struct([ID, WHO])}
        assert fake.paths == ["/subjects/orders-value/versions/latest"]
        permissive = formats(fake, mode=Mode.PERMISSIVE).columns()
        assert permissive == {"value": pa.struct([pa.field("id", pa.int64()), WHO])}


def test_a_version_or_a_subject_can_be_chosen() -> None:
    with registry(subjects(mine=TWO)) as fake:
        first = replace(VALUE, subject="mine", version=1)
        assert formats(fake, first).columns() == {"value": pa.struct([ID])}
        assert formats(fake, replace(VALUE, subject="mine"), topics=()).columns() == {
            "value": pa.struct([ID, WHO])
        }


def test_a_fault_tells_its_kind_and_no_secret() -> None:
    other = {"id": 3, "schema": "", "schemaType": "PROTOBUF"}
    with registry(subjects(orders__value=TWO, other=[other])) as fake:
        user = {"url": fake.url, "basic.auth.credentials.source": "USER_INFO", "max.retries": "0"}
        given = FormatOptions(
            (VALUE,), Mode.FAILFAST, user | {"basic.auth.user.info": f"me:{PASSWORD}"}
        )
        (column,) = QueryFormats(given, ["orders"]).column_formats(wanted(ID)).values()
        framed = [b"\x00" + number.to_bytes(4, "big") + b"\x02" for number in (1, 7, 3)]
        payloads = pa.array([*framed, framed[0][:5], b"?"], pa.binary())
        frames = FRAMES[Framing.CONFLUENT](payloads, None, "")
        decoded = decode_column(payloads, frames, column.decoders, column.type)
    assert decoded.is_broken.tolist() == [False, True, True, True, True]
    faults = [decoded.fault(row) for row in range(1, 5)]
    assert [each.kind for each in faults] == [
        UnknownSchemaError,
        SchemaError,
        PayloadError,
        PayloadError,
    ]
    assert not any(PASSWORD in str(each) for each in faults)


def test_tasks_get_all_schemas_of_the_subject() -> None:
    with registry(subjects(orders__value=TWO)) as fake:
        found = formats(fake).column_formats(wanted(ID, WHO))["value"]
        asked = len(fake.paths)
        rows = pa.array([b"\x0a"], pa.binary())
        for schema_id in (1, 2):
            assert found.decoders.for_schema(schema_id).decode(rows, 0).values.type == found.type
        assert len(fake.paths) == asked


def test_a_part_of_the_fields() -> None:
    with registry(subjects(orders__value=TWO)) as fake:
        found = formats(fake).column_formats(wanted(WHO))["value"]
    assert found.type == pa.struct([WHO])


def test_without_decoded_columns_nobody_is_asked() -> None:
    with registry(subjects()) as fake:
        assert formats(fake).column_formats(pa.schema({"offset": pa.int64()})) == {}
        assert fake.paths == []


def test_a_query_keeps_its_columns_when_the_latest_version_lacks_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    without = [*TWO, {"id": 3, "schema": record(("who", ["null", "string"]))}]
    with registry(subjects(orders__value=without)) as fake, caplog.at_level(logging.WARNING):
        formats(fake).column_formats(wanted(ID, WHO))
    assert "read as version 2 of the subject 'orders-value' (id 2)" in caplog.text
    assert "There is version 3 of the subject 'orders-value' (id 3)" in caplog.text


def test_a_field_that_no_version_has() -> None:
    with registry(subjects(orders__value=TWO)) as fake:
        error = config_error(formats(fake).column_formats, wanted(pa.field("x", pa.int64())))
    assert error == (
        "Column 'value' cannot be read as version 2 of the subject 'orders-value' (id 2): there "
        "is no field 'x'; there are id, who"
    )


def test_a_subject_that_does_not_exist() -> None:
    with registry(subjects()) as fake:
        with pytest.raises(NotFoundError, match="subject 'orders-value', version latest: "):
            formats(fake).columns()


def test_topics_of_one_schema_are_read_together() -> None:
    again = [{"id": 5, "schema": SECOND}]
    with registry(subjects(a__value=TWO, b__value=again)) as fake:
        both = formats(fake, topics=["a", "b"])
        assert both.columns() == {"value": pa.struct([ID, WHO])}
        decoders = both.column_formats(wanted(ID))["value"].decoders
        asked = len(fake.paths)
        decoders.for_schema(5)
        assert len(fake.paths) == asked


@pytest.mark.parametrize("other", [FIRST, record(("id", "long"), name="Other")])
def test_topics_of_different_schemas_are_refused(other: str) -> None:
    of_b = [{"id": 5, "schema": other}]
    with registry(subjects(a__value=TWO, b__value=of_b)) as fake:
        error = config_error(formats(fake, topics=["a", "b"]).columns)
    assert (
        "The values of the topics have different schemas, version 2 of the subject 'a-value'"
        in (error)
    )
    assert "read each topic with a query of its own, or set value.subject or value.schema" in error


def test_a_pattern_needs_a_subject() -> None:
    with registry(subjects()) as fake:
        error = config_error(formats(fake, topics=()).columns)
    assert "is not known yet (subscribePattern, or a column 'topic'): set value.subject" in error


def test_the_subject_follows_from_the_name_of_the_schema() -> None:
    by_name = replace(VALUE, strategy=SubjectNameStrategy.RECORD)
    with registry(subjects(Order=TWO)) as fake:
        given = formats(fake, replace(by_name, schema=SECOND), topics=())
        decoders = given.column_formats(wanted(ID))["value"].decoders
        asked = len(fake.paths)
        decoders.for_schema(1)
        assert len(fake.paths) == asked > 0
        error = config_error(formats(fake, by_name).columns)
    assert "follows from the name of their schema (RecordNameStrategy), and it has no name" in error


def test_json_is_read_as_wanted_without_a_schema() -> None:
    json_value = replace(VALUE, format=Format.JSON, framing=Framing.NONE)
    found = formats(None, json_value).column_formats(wanted(WHO))["value"]
    rows = pa.array([b'{"id": 1, "who": "x"}'], pa.binary())
    assert found.decoders.for_schema(None).decode(rows, 0).values.to_pylist() == [{"who": "x"}]
    assert "set value.schema, or give .schema('value struct<...>')" in config_error(
        formats(None, json_value).columns
    )
    error = config_error(formats(None, json_value).column_formats, wanted(ID))
    assert "the field 'id' can be null: leave NOT NULL out of its type" in error


def test_json_is_read_without_the_part_that_contains_itself() -> None:
    tree = {"properties": {"id": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}]}}}
    payload = PayloadOptions("value", Format.JSON, Framing.NONE, json.dumps(tree), None, None)
    query = formats(None, payload)
    with pytest.raises(SchemaError, match="the field 'next': the type contains itself"):
        query.columns()
    part = [pa.field("id", pa.int64()), pa.field("next", pa.string())]
    column = query.column_formats(wanted(*part))["value"]
    values, is_broken = column.decoders.for_schema(None).decode(
        pa.array([b'{"id":1,"next":{"id":2,"next":{"id":3}}}']), 0
    )
    assert not is_broken[0]
    assert values[0].as_py() == {"id": 1, "next": '{"id":2,"next":{"id":3}}'}


def test_a_schema_of_the_user_without_a_registry(tmp_path: Path) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(SECOND)
    for schema in (SECOND, str(file)):
        plain = replace(VALUE, framing=Framing.NONE, schema=schema)
        found = formats(None, plain).column_formats(wanted(ID))["value"]
        assert found.decoders.for_schema(None).decode(
            pa.array([b"\x0a"]), 0
        ).values.to_pylist() == [{"id": 5}]
    error = config_error(formats(None, replace(plain, schema="no.avsc")).columns)
    assert "Option 'value.schema' must be a schema, the path of a file on the driver" in error
    with pytest.raises(SchemaError):
        formats(None, replace(plain, schema="{")).columns()


def test_a_schema_of_the_user_for_framed_payloads() -> None:
    own = replace(VALUE, schema=FIRST)
    with registry(subjects(other=TWO)) as fake:
        found = formats(fake, own).column_formats(wanted(ID))["value"]
        rows = pa.array([b"\x00\x00\x00\x00\x02\x0a\x00"], pa.binary())
        assert found.decoders.for_schema(2).decode(rows, 5).values.to_pylist() == [{"id": 5}]


def test_a_schema_by_its_id() -> None:
    with registry(subjects(other=TWO)) as fake:
        assert formats(fake, replace(VALUE, schema="id:1")).columns() == {"value": pa.struct([ID])}
        assert "has no id after 'id:'" in config_error(
            formats(fake, replace(VALUE, schema="id:x")).columns
        )
        with pytest.raises(NotFoundError, match="schema id 77: "):
            formats(fake, replace(VALUE, schema="id:77")).columns()


def test_a_schema_of_another_format() -> None:
    proto = [{"id": 4, "schema": "", "schemaType": "PROTOBUF"}]
    with registry(subjects(orders__value=proto)) as fake:
        with pytest.raises(
            SchemaError,
            match=r"'orders-value' \(id 4\) is of the kind PROTOBUF",
        ):
            formats(fake).columns()


DESCRIBED = PayloadOptions(
    *("value", Format.PROTOBUF, Framing.NONE, None, None, None),
    message="shop.Order",
    descriptor="orders.desc",
)
ORDERS = {
    "orders.proto": 'syntax = "proto3"; package shop; message Order { int64 id = 1; }',
    "lines.proto": 'syntax = "proto3"; package shop; message Line { int32 count = 1; }',
}


def test_a_message_of_a_descriptor_set(tmp_path: Path) -> None:
    file = descriptor_set(tmp_path, ORDERS, "orders.proto", "lines.proto")
    found = formats(None, replace(DESCRIBED, descriptor=str(file)))
    assert found.columns() == {"value": pa.struct({"id": pa.int64()})}
    column = found.column_formats(wanted(pa.field("id", pa.int64())))["value"]
    decoded = column.decoders.for_schema(None).decode(pa.array([b"\x08\x05"]), 0)
    assert decoded.values.to_pylist() == [{"id": 5}]


def test_a_descriptor_set_that_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "orders.desc"

    def error(message: str = "shop.Order") -> str:
        payload = replace(DESCRIBED, descriptor=str(file), message=message)
        return config_error(formats(None, payload).columns)

    assert error() == (
        "Option 'value.protobuf.descriptor' must be the path on the driver of a descriptor set. It "
        f"cannot be read: [Errno 2] No such file or directory: '{file}'"
    )
    file.write_text(ORDERS["orders.proto"])
    assert error().startswith(
        f"Option 'value.protobuf.descriptor', the file {file}: it is not a FileDescriptorSet: make "
        "it with protoc"
    )
    file.write_bytes(b"")
    assert error().endswith("the FileDescriptorSet has no file")
    descriptor_set(tmp_path, ORDERS, "orders.proto", "lines.proto").rename(file)
    assert error("shop.Gone") == (
        f"Option 'value.protobuf.descriptor', the file {file}: no message has the name "
        "'shop.Gone'; there are shop.Line, shop.Order"
    )


def test_a_message_of_a_registered_schema_without_message_indexes() -> None:
    both = 'syntax = "proto3"; message A { string text = 1; } message B { int64 id = 1; }'
    versions = [{"id": 1, "schema": both, "schemaType": "PROTOBUF"}]
    chosen = PayloadOptions(
        *("value", Format.PROTOBUF, Framing.NONE, None, None, None), message="B"
    )
    with registry(subjects(orders__value=versions)) as fake:
        to = wanted(pa.field("id", pa.int64()))
        column = formats(fake, chosen).column_formats(to)["value"]
    decoded = column.decoders.for_schema(None).decode(pa.array([b"\x08\x05"]), 0)
    assert decoded.values.to_pylist() == [{"id": 5}]
