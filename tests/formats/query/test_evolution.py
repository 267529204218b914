"""A query stops at payloads of a newer schema, with fields that its columns lack."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import ITEMS, VALUES, RegistryError, SchemaEvolvedError, path_of
from kafka_formats.options.formats import FormatOptions, PayloadOptions
from kafka_formats.options.settings import Format, Framing, Mode, SchemaEvolution
from kafka_formats.payload.type_changes import changed_types, new_fields
from kafka_formats.query.decoder import Decoder
from kafka_formats.query.formats import FORMATS as QUERY_FORMATS
from kafka_formats.query.read import QueryFormats, decoder_of
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from tests.config_error import config_error
from tests.fakes.registry import FakeRegistry, Reply, registry, subjects
from tests.formats.avro.payloads import varint, with_length

Json = Any
NEW, INCOMPATIBLE = "KAFKA_SCHEMA_EVOLVED", "KAFKA_SCHEMA_INCOMPATIBLE"


def avro(*fields: tuple[str, Json], default: bool = True) -> str:
    listed = [
        {"name": name, "type": kind}
        | ({"default": None} if default and isinstance(kind, list) else {})
        for name, kind in fields
    ]
    return json.dumps({"type": "record", "name": "Order", "fields": listed})


TEXT = ["null", "string"]
ITEM = {"type": "record", "name": "Item", "fields": [{"name": "sku", "type": "string"}]}
TAXED = ITEM | {"fields": [*ITEM["fields"], {"name": "tax", "type": "double"}]}
ID = avro(("id", "long"))
NOTED = avro(("id", "long"), ("note", TEXT))


@dataclass
class Subject:
    """The versions of `orders-value`; tests add some while a query runs."""

    kind: str
    versions: list[dict[str, Json]]

    def add(self, schema: str, schema_id: int) -> None:
        body = {"id": schema_id, "schema": schema, "schemaType": self.kind}
        self.versions.append(body)


FORMATS = {"AVRO": Format.AVRO, "JSON": Format.JSON, "PROTOBUF": Format.PROTOBUF}


@contextmanager
def running(
    *schemas: str,
    kind: str = "AVRO",
    mode: Mode = Mode.FAILFAST,
    columns: pa.DataType | None = None,
) -> Iterator[tuple[FakeRegistry, Subject, Decoder]]:
    """A query that was planned with these versions, which have the ids from 1 on."""
    subject = Subject(kind, [])
    for number, schema in enumerate(schemas, 1):
        subject.add(schema, number)
    # Not once for all requests: tests add versions.
    with registry(lambda request: subjects(orders__value=subject.versions)(request)) as fake:  # noqa: PLW0108
        payload = PayloadOptions(
            *("value", FORMATS[kind], Framing.CONFLUENT, None, None, None),
            evolution=SchemaEvolution.RESTART,
        )
        options = FormatOptions((payload,), mode, {"url": fake.url, "max.retries": "0"})
        query = QueryFormats(options, ["orders"])
        columns = query.columns()["value"] if columns is None else columns
        wanted = pa.schema({"value": columns})
        decoder = decoder_of(wanted, query, checked_text=[], mode=mode)
        yield fake, subject, pickle.loads(pickle.dumps(decoder))


def framed(schema_id: int, payload: bytes) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + payload


def records(
    payloads: Sequence[bytes | None], decoder: Decoder, headers: Json = None
) -> pa.RecordBatch:
    count = len(payloads)
    columns: dict[str, pa.Array] = {
        "value": pa.array(payloads, pa.binary()),
        "topic": pa.array(["orders"] * count),
        "partition": pa.array([3] * count, pa.int32()),
        "offset": pa.array(range(40, 40 + count), pa.int64()),
        "headers": pa.array([headers] * count, HEADERS_TYPE),
    }
    names = decoder.source_columns
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names)


def read(decoder: Decoder, *payloads: bytes | None) -> list[Json]:
    batches = decoder.rows([records(payloads, decoder)])
    return [row for batch in batches for row in batch.column("value").to_pylist()]


def refused(decoder: Decoder, *payloads: bytes | None, headers: Json = None) -> str:
    with pytest.raises(SchemaEvolvedError) as raised:
        list(decoder.rows([records(payloads, decoder, headers)]))
    return str(raised.value)


OLD = framed(1, varint(5))


@pytest.mark.parametrize("mode", Mode)
def test_a_new_field_stops_the_query_in_each_mode(mode: Mode) -> None:
    with running(ID, mode=mode) as (_, subject, decoder):
        assert read(decoder, OLD, None) == [{"id": 5}, None]
        subject.add(NOTED, 2)
        message = refused(decoder, OLD, None, framed(2, varint(6) + varint(0)))
        assert message == (
            f"[{NEW}] The value of orders-3 at offset 42 has version 2 of the subject "
            "'orders-value' (schema id 2), with fields that the query's columns lack: value.note "
            "string. Start the query again: it has them then. If .schema(...) names its fields, "
            "add them there."
        )


def test_the_query_has_the_field_when_it_is_started_again() -> None:
    with running(ID, NOTED) as (_, _, decoder):
        payload = framed(2, varint(6) + varint(1) + with_length(b"new"))
        assert read(decoder, OLD, payload) == [{"id": 5, "note": None}, {"id": 6, "note": "new"}]


def test_fields_at_any_depth_are_named_with_spark_types() -> None:
    items = {"type": "array", "items": ITEM}
    taxed = avro(
        ("lines", {"type": "array", "items": TAXED}), ("tags", {"type": "map", "values": "int"})
    )
    with running(avro(("lines", items))) as (_, subject, decoder):
        subject.add(taxed, 7)
        message = refused(decoder, framed(7, b"\x00\x00"))
        assert "lack: value.lines[].tax double, value.tags map<string, int>." in message


def test_an_older_version_with_a_field_that_is_gone_is_read() -> None:
    with running(NOTED, ID) as (fake, _, decoder):
        before = len(fake.paths)
        noted = framed(1, varint(6) + varint(0))
        assert read(decoder, noted, framed(2, varint(5))) == [{"id": 6}, {"id": 5}]
        assert read(decoder, noted) == [{"id": 6}]
        assert fake.paths[before:] == ["/schemas/ids/1/versions"] * 2


def test_a_version_that_brings_an_old_schema_back_stops_the_query() -> None:
    with running(NOTED, ID) as (_, subject, decoder):
        # Registries keep the id of a schema.
        subject.add(NOTED, 1)
        assert f"[{NEW}] The value of orders-3 at offset 40 has version 3 " in refused(
            decoder, framed(1, varint(6) + varint(0))
        )


def test_a_schema_of_another_subject_stops_nothing() -> None:
    with running(ID) as (fake, subject, decoder):
        other = [{"id": 9, "schema": NOTED}]
        fake.respond = subjects(orders__value=subject.versions, other=other)
        assert read(decoder, framed(9, varint(6) + varint(0))) == [{"id": 6}]


def test_the_first_of_two_changes_in_a_batch_is_named() -> None:
    with running(ID) as (_, subject, decoder):
        subject.add(NOTED, 2)
        subject.add(avro(("id", "long"), ("note", TEXT), ("size", "int")), 3)
        third = framed(3, varint(7) + varint(0) + varint(1))
        second = framed(2, varint(6) + varint(0))
        assert "at offset 41 has version 3 " in refused(decoder, OLD, third, second)
        assert "at offset 41 has version 2 " in refused(decoder, OLD, second, third)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (avro(("id", "string")), "id"),
        (avro(("other", "long")), "other"),
    ],
)
def test_what_cannot_be_read_is_told_apart(schema: str, reason: str) -> None:
    with running(ID) as (_, subject, decoder):
        subject.add(schema, 2)
        message = refused(decoder, OLD, framed(2, with_length(b"x")))
        is_new = reason == "other"
        assert message.startswith(f"[{NEW if is_new else INCOMPATIBLE}] The value of orders-3 at ")
        assert reason in message


def test_a_removed_field_without_a_default_cannot_be_read() -> None:
    with running(avro(("id", "long"), ("size", "long"))) as (_, subject, decoder):
        subject.add(ID, 2)
        message = refused(decoder, framed(2, varint(5)))
        assert message.startswith(f"[{INCOMPATIBLE}] ")
        assert "'size'" in message
        assert "value.schema.evolution to none" in message


def test_a_removed_field_with_a_default_is_read() -> None:
    with running(NOTED) as (_, subject, decoder):
        subject.add(ID, 2)
        assert read(decoder, framed(2, varint(5))) == [{"id": 5, "note": None}]


def test_a_payload_without_a_known_schema_is_broken_as_before() -> None:
    with running(ID, mode=Mode.DROPMALFORMED) as (_, _, decoder):
        assert read(decoder, framed(99, b"\x02"), b"x", OLD) == [{"id": 5}]


def test_a_registry_that_is_away_fails_the_task() -> None:
    with running(ID) as (fake, _, decoder):
        fake.respond = lambda _: Reply(503)
        with pytest.raises(RegistryError, match=r"schema id 2: .* with 503"):
            read(decoder, framed(2, varint(6) + varint(0)))


def field(kind: Json) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": [{"name": "x", "type": kind}]})


def decimal(precision: int, scale: int = 2) -> Json:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def enum(*symbols: str, **more: str) -> Json:
    return {"type": "enum", "name": "Color", "symbols": symbols, **more}


LISTED = {"type": "array", "items": ["null", "int"]}
WRITTEN_X: Sequence[tuple[Json, Json, str]] = [
    (enum("RED"), enum("RED", "GREEN"), "value.x has the new symbol GREEN"),
    # The default would stand for both.
    (enum("RED", default="RED"), enum("A", "RED", "B"), "value.x has the new symbols A, B"),
    (decimal(4), decimal(12), "value.x is decimal(12, 2), not decimal(4, 2)"),
    (decimal(12), decimal(12, 3), "value.x is decimal(12, 3), not decimal(12, 2)"),
    ("int", ["null", "int"], "value.x may be null"),
    (["null", "string"], ["null", "string", "int"], "value.x may be int, which its union did"),
    ("double", "long", "value.x has the type bigint, not double"),
    ("float", "int", "value.x has the type int, not float"),
    ("string", "bytes", "value.x has the type binary, not string"),
    ("int", "long", "value.x has the type bigint, not int"),
    ("int", {"type": "int", "logicalType": "date"}, "value.x has the type date, not int"),
    ({"type": "array", "items": "int"}, LISTED, "value.x[] may be null"),
    ({"type": "map", "values": enum("A")}, {"type": "map", "values": enum("B")}, "value.x{} has"),
    (
        ["null", ITEM],
        ["null", ITEM | {"name": "Other"}],
        "value.x may be Other, which its union did not have",
    ),
]


@pytest.mark.parametrize(("read_as", "written", "reason"), WRITTEN_X)
@pytest.mark.parametrize("mode", Mode)
def test_values_that_the_columns_cannot_hold(
    read_as: Json, written: Json, reason: str, mode: Mode
) -> None:
    """Whatever the payload is, and whatever the mode does with broken ones."""
    with running(field(read_as), mode=mode) as (_, subject, decoder):
        subject.add(field(written), 2)
        message = refused(decoder, framed(2, b"\x02"))
        assert message.startswith(
            f"[{INCOMPATIBLE}] The value of orders-3 at offset 40 has version"
        )
        assert f"cannot be read into the query's columns: {reason}" in message
        # Started again, the query reads as the new version: nothing stops it.
        with running(field(read_as), field(written), mode=mode) as (_, _, again):
            for batch in again.rows([records([None], again)]):
                assert batch.num_rows == 1


@pytest.mark.parametrize(
    ("read_as", "written"),
    [
        ("long", "int"),
        ("double", "int"),
        ("double", "float"),
        ("bytes", "string"),
        (["null", "int"], "int"),
        (enum("RED", "GREEN"), enum("GREEN")),
        (decimal(12, 3), decimal(4)),
        (["null", "string", "int"], ["int", "null"]),
    ],
)
def test_values_that_the_columns_can_hold_stop_nothing(read_as: Json, written: Json) -> None:
    with running(field(read_as), mode=Mode.PERMISSIVE) as (_, subject, decoder):
        subject.add(field(written), 2)
        read(decoder, framed(2, b"\x00\x00"))


def test_a_field_that_is_not_wanted_may_change() -> None:
    old, new = avro(("id", "long"), ("x", "int")), avro(("id", "long"), ("x", "string"))
    with running(old, columns=pa.struct([("id", pa.int64())])) as (_, subject, decoder):
        subject.add(new, 2)
        assert read(decoder, framed(2, varint(6) + with_length(b"a"))) == [{"id": 6}]


def test_a_newer_version_of_another_format() -> None:
    with running(ID, mode=Mode.DROPMALFORMED) as (_, subject, decoder):
        subject.kind = "JSON"
        subject.add("{}", 2)
        assert "schema id 2 is of the kind JSON, not AVRO" in refused(decoder, framed(2, b"{}"))


@pytest.mark.parametrize("tells_places", [True, False])
def test_a_version_far_behind_the_latest(*, tells_places: bool) -> None:
    """However many versions are between that of the query, the payload's and the latest."""
    with running(ID) as (fake, subject, decoder):
        for number in range(2, 303):
            subject.add(avro(("id", "long"), (f"note{number}", TEXT)), number)
        fake.respond = subjects(tells_places, orders__value=subject.versions)
        payload = framed(2, varint(6) + varint(0))
        before = len(fake.paths)
        assert "has version 2 of the subject" in refused(decoder, payload)
        if tells_places:
            assert fake.paths[before:] == ["/schemas/ids/2/versions", "/schemas/ids/2"]
        # Versions are asked for once by a process.
        before = len(fake.paths)
        assert "has version 2 of the subject" in refused(decoder, payload)
        assert len(fake.paths) - before <= 2


@pytest.mark.parametrize("tells_places", [True, False])
@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_of_a_schema_of_others_is_compiled(
    monkeypatch: pytest.MonkeyPatch, kind: str, *, tells_places: bool
) -> None:
    """Records may have any id of the registry, of schemas that anybody registers."""
    own = {"AVRO": ID, "JSON": of_json(id="integer"), "PROTOBUF": PROTO_ID}[kind]
    with running(own, kind=kind, mode=Mode.PERMISSIVE) as (fake, subject, decoder):
        other = [{"id": 9, "schema": own + " ", "schemaType": kind}]
        fake.respond = subjects(tells_places, orders__value=subject.versions, other=other)

        def compiles(*_: Any) -> None:
            pytest.fail("a schema of another subject is compiled")

        format_ = type(QUERY_FORMATS[FORMATS[kind]])
        for name in ("type_of", "losses", "check_part"):
            monkeypatch.setattr(format_, name, compiles)
        monkeypatch.setattr("kafka_formats.protobuf.descriptors.compiled", compiles)
        read(decoder, framed(9, b"\x00\x08\x05"))


def of_json(**types: str) -> str:
    listed = {name: {"type": kind} for name, kind in types.items()}
    return json.dumps({"type": "object", "properties": listed})


def test_json() -> None:
    with running(of_json(id="integer"), kind="JSON") as (_, subject, decoder):
        subject.add(of_json(id="integer", note="string"), 2)
        subject.add(of_json(id="string"), 3)
        assert read(decoder, framed(1, b'{"id":5}')) == [{"id": 5}]
        assert "lack: value.note string." in refused(decoder, framed(2, b'{"id":5,"note":"x"}'))
        message = refused(decoder, framed(3, b'{"id":"5"}'))
        assert f"[{INCOMPATIBLE}] " in message
        assert "value.id has the type string, not bigint" in message


def test_protobuf() -> None:
    start = 'syntax = "proto3"; message Order { int64 id = 1; '
    with running(start + "}", kind="PROTOBUF") as (_, subject, decoder):
        subject.add(start + "string note = 2; }", 2)
        assert read(decoder, framed(1, b"\x00\x08\x05")) == [{"id": 5}]
        assert "lack: value.note string." in refused(decoder, framed(2, b"\x00\x08\x05"))
        in_header = [{"key": "__value_schema_id", "value": framed(2, b"\0")}]
        assert "lack: value.note string." in refused(decoder, b"\x08\x05", headers=in_header)


PROTO_ID = 'syntax = "proto3"; message Order { int64 id = 1; }'
DECIMAL = """confluent.type.Decimal x = 1 [
    (confluent.field_meta).params = { key: "precision" value: "%d" },
    (confluent.field_meta).params = { key: "scale" value: "2" }];"""


@pytest.mark.parametrize(
    ("read_as", "written", "reason"),
    [
        ("int32 x = 1;", "int64 x = 1;", "value.x has the type bigint, not int"),
        ("int32 x = 1;", "sint32 x = 1;", "value.x has another type of Protobuf"),
        ("int32 x = 1;", "optional int32 x = 1;", "value.x may be absent, and would be read as"),
        ("optional int32 x = 1;", "int32 x = 1;", "value.x is not written if it is its default"),
        ("int32 x = 1;", "repeated int32 x = 1;", "value.x is repeated, not one value"),
        ("int32 x = 1;", "int32 x = 2;", "value.x has the number 2, not 1"),
        ("int32 x = 1; int32 y = 2;", "int32 x = 2; int32 y = 1;", "value.x has the number 2"),
        ("E x = 1; enum E { A = 0; }", "E x = 1; enum E { A = 0; B = 1; }", "new symbol B"),
        (
            "E x = 1; enum E { A = 0; }",
            "E x = 1; enum E { B = 0; }",
            "value.x has the new symbol B",
        ),
        (
            "oneof o { int32 x = 1; int32 y = 2; }",
            "optional int32 x = 1; optional int32 y = 2;",
            "value.x may be there beside other fields of its oneof",
        ),
        ("map<string, int32> x = 1;", "map<string, int64> x = 1;", "value.x{} has the type bigint"),
        (
            "oneof o { int32 x = 1; int32 y = 2; }",
            "int32 x = 1; int32 y = 2;",
            "value.x is not wri",
        ),
    ],
)
def test_protobuf_that_the_columns_cannot_hold(read_as: str, written: str, reason: str) -> None:
    start = 'syntax = "proto3"; message Order { '
    with running(f"{start}{read_as} }}", kind="PROTOBUF", mode=Mode.PERMISSIVE) as (_, subject, to):
        subject.add(f"{start}{written} }}", 2)
        message = refused(to, framed(2, b"\x00"))
        assert f"[{INCOMPATIBLE}] " in message
        assert reason in message


def test_a_wider_decimal_of_protobuf() -> None:
    start = (
        'syntax = "proto3"; import "confluent/meta.proto"; import "confluent/type/decimal.proto";'
    )
    schemas = [f"{start} message Order {{ {DECIMAL % digits} }}" for digits in (4, 12)]
    wanted = pa.struct([("x", pa.decimal128(4, 2))])
    with running(schemas[0], kind="PROTOBUF", columns=wanted) as (_, subject, decoder):
        subject.add(schemas[1], 2)
        message = refused(decoder, framed(2, b"\x00"))
        assert "value.x is decimal(12, 2), not decimal(4, 2)" in message


LEAVES = st.sampled_from([pa.int64(), pa.string(), pa.float64()])
TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda each: pa.map_(pa.string(), each)),
        st.dictionaries(st.sampled_from("abc"), inner).map(
            lambda named: pa.struct([*named.items()])
        ),
    ),
    max_leaves=8,
)


@given(TYPES)
def test_a_type_has_nothing_new_for_itself(type_: pa.DataType) -> None:
    assert not [*new_fields(type_, type_)]
    assert not [*changed_types(type_, type_)]


def with_one_more(type_: pa.DataType, path: str = "") -> Iterator[tuple[str, pa.DataType]]:
    """The type with one field more, in each of its structs: the path of the field, and the type."""
    if pa.types.is_list(type_):
        for inner, each in with_one_more(type_.value_type, path_of(path, ITEMS)):
            yield inner, pa.list_(each)
    elif pa.types.is_map(type_):
        for inner, each in with_one_more(type_.item_type, path_of(path, VALUES)):
            yield inner, pa.map_(pa.string(), each)
    elif pa.types.is_struct(type_):
        fields = [*type_]
        yield path_of(path, "more"), pa.struct([*fields, pa.field("more", pa.int8())])
        for number, field in enumerate(fields):
            for inner, each in with_one_more(field.type, path_of(path, field.name)):
                changed = field.with_type(each)
                yield inner, pa.struct([*fields[:number], changed, *fields[number + 1 :]])


@given(TYPES)
def test_each_new_field_is_found(type_: pa.DataType) -> None:
    for path, written in with_one_more(type_):
        assert [*new_fields(written, type_)] == [(path, pa.int8())]
        assert not [*new_fields(type_, written)]
        assert not [*changed_types(type_, written)]


def test_a_schema_that_cannot_be_read_whole_is_refused() -> None:
    tree = avro(("id", "long"), ("next", ["null", "Order"]))
    subject = Subject("AVRO", [])
    subject.add(tree, 1)
    with registry(subjects(orders__value=subject.versions)) as fake:
        payload = PayloadOptions(
            *("value", Format.AVRO, Framing.CONFLUENT, None, None, None),
            evolution=SchemaEvolution.RESTART,
        )
        options = FormatOptions((payload,), Mode.FAILFAST, {"url": fake.url, "max.retries": "0"})
        wanted = pa.schema({"value": pa.struct([("id", pa.int64())])})
        error = config_error(QueryFormats(options, ["orders"]).column_formats, wanted)
        assert "'value.schema.evolution' needs a schema that can be read whole" in error
