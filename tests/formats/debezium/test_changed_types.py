"""Columns whose type changes while old records remain: each value is right, or refused by name."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import MalformedRecordError
from tests.change_data.matrix import ALTERED, CONVERTERS, MODES
from tests.config_error import config_error
from tests.fakes.registry import registry, subjects
from tests.formats.avro.payloads import varint
from tests.formats.debezium.events import (
    Record,
    connect_envelope,
    dumped,
    event,
    query_with,
    read,
    wrapped,
)
from tests.formats.debezium.matrix_cells import EXACT, REFUSED
from tests.formats.debezium.matrix_pairs import altered_of, pairs_across, pairs_of
from tests.formats.debezium.matrix_table import ROWS

RECORDED = Path(__file__).with_name("recorded_events.json.gz")
TIME = "io.debezium.time."
CONNECT = "org.apache.kafka.connect.data."
QUICK = {("told", "adaptive"), ("avro", "connect")}
QUICK_ACROSS = {("avro", "adaptive", "connect"), ("avro", "isostring", "microseconds")}
CONNECTORS = [
    pytest.param(converter, mode, marks=[pytest.mark.slow] * ((converter, mode) not in QUICK))
    for converter in CONVERTERS
    if converter != "plain"
    for mode in MODES
]
WIDENED = {("int2", "int4"), ("int2", "int8"), ("int4", "int8"), ("float4", "float8")}
SCALED = {("num10_2", "num38_10"), ("domain", "num10_2")}


@pytest.mark.no_cover
@pytest.mark.parametrize(("converter", "mode"), CONNECTORS)
def test_a_value_of_another_type_is_exact_or_refused(converter: str, mode: str) -> None:
    cells = [*pairs_of(converter, mode)]
    assert [each for each in cells if each.outcome not in {EXACT, REFUSED}] == []
    seen: dict[tuple[str, str], set[str]] = {}
    for each in cells:
        if each.text is not None:
            seen.setdefault((each.written, each.read), set()).add(each.outcome)
    assert all(seen[name, name] == {EXACT} for name in {each.read for each in cells})
    lossless = WIDENED | (SCALED if MODES[mode].get("decimal.handling.mode") is None else set())
    assert all(seen[pair] == {EXACT} for pair in lossless)
    if mode == "adaptive":
        assert seen["ts3", "ts"] == seen["tstz", "char"] == {EXACT}
    assert sum(each == {REFUSED} for each in seen.values()) > len(seen) / 2


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("converter", "first", "then"),
    [
        pytest.param(
            *(converter, first, then),
            marks=[pytest.mark.slow] * ((converter, first, then) not in QUICK_ACROSS),
        )
        for converter in ("told", "avro")
        for first in MODES
        for then in MODES
        if first != then
    ],
)
def test_a_connector_whose_options_were_changed(converter: str, first: str, then: str) -> None:
    cells = [*pairs_across(converter, first, then)]
    assert [each for each in cells if each.outcome not in {EXACT, REFUSED}] == []
    assert {each.written for each in cells if each.outcome == EXACT} >= {"int4", "tstz", "uuid"}


@pytest.mark.no_cover
@pytest.mark.parametrize(("converter", "mode"), CONNECTORS)
def test_a_type_that_was_changed_in_the_database(converter: str, mode: str) -> None:
    cells = [*altered_of(converter, mode)]
    own = {(each.written, each.text): each.outcome for each in cells if each.written == each.read}
    listed = {
        column
        for row in ROWS
        for each in row.clauses
        if mode in each.modes
        for column in each.columns
    }
    assert {kind for (kind, _), outcome in own.items() if outcome != EXACT} <= listed
    assert [
        each
        for each in cells
        if own[each.written, each.text] == EXACT and each.outcome not in {EXACT, REFUSED}
    ] == []
    assert {(each.written, each.read) for each in cells} >= set(ALTERED.values())


def named(kind: str, name: str, **parameters: str) -> dict[str, Any]:
    return {"type": kind, "name": name, "parameters": parameters}


MICROS = named("int64", f"{TIME}MicroTimestamp")
MICRO_TIME = named("int64", f"{TIME}MicroTime")
CENTS = named("bytes", f"{CONNECT}Decimal", **{"scale": "2", "connect.decimal.precision": "9"})
ZONED = named("string", f"{TIME}ZonedTimestamp")


def document(kind: Any, value: Any) -> Record:
    return None, wrapped(connect_envelope({"at": kind}), event("c", after={"at": value}))


def read_by(reader: Any, *given: Record, wanted: pa.DataType | None = None) -> list[Any]:
    schema = dumped(connect_envelope({"at": reader})).decode()
    options = {"value.format": "json", "value.schema": schema, "key.format": "raw"}
    types = {} if wanted is None else {"at": wanted}
    return [row["at"] for row in read(options, given, types, ["at", "op"])]


@pytest.mark.parametrize(
    ("writer", "value", "reader", "here", "there"),
    [
        ("int64", 5, MICROS, "without a semantic type", f"{TIME}MicroTimestamp"),
        (MICROS, 5, "int64", f"{TIME}MicroTimestamp", "without a semantic type"),
        (MICRO_TIME, 5, "int64", f"{TIME}MicroTime", "without a semantic type"),
        (MICROS, 5, MICRO_TIME, f"{TIME}MicroTimestamp", f"{TIME}MicroTime"),
        ("bytes", "AAE=", CENTS, "without a semantic type", f"{CONNECT}Decimal"),
        (CENTS, "AAE=", "bytes", f"{CONNECT}Decimal", "without a semantic type"),
        (named("int32", f"{TIME}Date"), 5, "int32", f"{TIME}Date", "without a semantic type"),
    ],
)
def test_a_document_with_another_unit_is_refused(
    writer: Any, value: Any, reader: Any, here: str, there: str
) -> None:
    with pytest.raises(MalformedRecordError) as raised:
        read_by(reader, document(writer, value))
    expected = (
        f"the field 'after.at' is {here} in the schema of the payload, and {there} in that of the "
        "query"
    )
    assert expected in str(raised.value)


def test_a_unit_that_is_converted_may_change() -> None:
    millis = named("int64", f"{TIME}Timestamp")
    given = [document(millis, 1_500), document(MICROS, 1_500_000)]
    first, second = read_by(MICROS, *given)
    assert first == second
    # As the number of the payload it would have two units.
    with pytest.raises(MalformedRecordError, match=r"io.debezium.time.Timestamp in the"):
        read_by(MICROS, *given, wanted=pa.int64())


def test_a_text_that_becomes_a_zoned_moment_and_back() -> None:
    text = "2026-01-02T03:04:05.5Z"
    given = [document("string", text), document(ZONED, text)]
    first, second = read_by(ZONED, *given)
    assert first == second
    assert first.isoformat() == "2026-01-02T03:04:05.500000+00:00"
    assert read_by("string", *given) == [text, text]
    with pytest.raises(MalformedRecordError) as raised:
        read_by(ZONED, document("string", "some"))
    assert "field at: the value of io.debezium.time.ZonedTimestamp does not fit" in str(
        raised.value
    )


def avro_envelope(kind: Any) -> dict[str, Any]:
    column = {"name": "at", "type": kind if isinstance(kind, list) else ["null", kind]}
    row = {"type": "record", "name": "Value", "fields": [column]}
    fields = [
        {"name": "before", "type": ["null", row], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "op", "type": "string"},
    ]
    return {"type": "record", "name": "Envelope", "fields": fields}


# Avro takes no logical type whose scale is above its precision: the payload is plain bytes.
SMALL = {
    "type": "bytes",
    "connect.name": f"{CONNECT}Decimal",
    "connect.parameters": {"scale": "5", "connect.decimal.precision": "3"},
    "logicalType": "decimal",
    "precision": 3,
    "scale": 5,
}
LARGE = {
    **SMALL,
    "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
    "precision": 10,
    "scale": 2,
}


@pytest.mark.parametrize(
    ("writer", "reader", "here", "there"),
    [
        (SMALL, LARGE, "binary", "decimal128(10, 2)"),
        ("bytes", "string", "binary", "string"),
        ("string", "bytes", "string", "binary"),
    ],
)
def test_avro_gives_bytes_no_other_meaning(writer: Any, reader: Any, here: str, there: str) -> None:
    with pytest.raises(MalformedRecordError) as raised:
        avro_read(writer, reader, b"\2\x7b")
    assert (
        f"the field 'after.at' is {here} in the schema of the payload, and {there} in that of the "
        "query"
    ) in str(raised.value)


def avro_read(writer: Any, reader: Any, value: bytes, mode: str = "FAILFAST") -> list[Any]:
    """Read an event that has a value of a writer's type, in bytes, in its column."""
    versions = [
        {"id": number, "schema": json.dumps(avro_envelope(each))}
        for number, each in enumerate((writer, reader), start=1)
    ]
    is_there = b"" if isinstance(writer, list) else b"\2"
    # before is null, after and its field are not, and op is c.
    payload = b"\0" + (1).to_bytes(4, "big") + b"\0\2" + is_there + value + b"\2c"
    with registry(subjects(**{"shop.public.items-value": versions})) as fake:
        options = {"value.format": "avro", "schema.registry.url": fake.url, "key.format": "raw"}
        rows = read({**options, "mode": mode}, [(None, payload)], None, ["at", "op"])
    return [row["at"] for row in rows]


def connect(kind: str, name: str, **others: str) -> dict[str, str]:
    return {"type": kind, "connect.name": name, **others}


AVRO_MICROS = connect("long", f"{TIME}MicroTimestamp")
AVRO_MOMENT = connect("long", f"{CONNECT}Timestamp", logicalType="timestamp-millis")
AVRO_DATE = connect("int", f"{CONNECT}Date", logicalType="date")
PLACEHOLDER = b"__debezium_unavailable_value"


def array_of(kind: Any) -> dict[str, Any]:
    return {"type": "array", "items": kind}


@pytest.mark.parametrize(
    ("writer", "reader", "value"),
    [
        (AVRO_MICROS, AVRO_MOMENT, varint(1_500_000)),
        (connect("long", f"{TIME}Timestamp"), AVRO_MOMENT, varint(1_500)),
        ("long", {"type": "long", "logicalType": "timestamp-millis"}, varint(1_500)),
        ({"type": "long", "logicalType": "timestamp-millis"}, "long", varint(1_500)),
        ("long", "double", varint(2**53 + 1)),
        ("int", "float", varint(16_777_217)),
        (
            array_of(connect("int", f"{TIME}Date")),
            array_of(AVRO_DATE),
            varint(len(PLACEHOLDER)) + b"".join(map(varint, PLACEHOLDER)) + b"\0",
        ),
        (connect("string", f"{TIME}IsoTimestamp"), AVRO_MICROS, b"\x281970-01-01T00:00:01Z"),
        (connect("string", f"{TIME}IsoDate"), connect("int", f"{TIME}Date"), b"\x142024-10-04"),
        (["int", "long"], AVRO_MICROS, b"\2" + varint(1_500)),
    ],
)
def test_avro_does_not_promote_a_column(writer: Any, reader: Any, value: bytes) -> None:
    assert avro_read(writer, reader, value, "PERMISSIVE") == [None]
    with pytest.raises(MalformedRecordError, match=r"the field 'after\.at(\[\])?' is "):
        avro_read(writer, reader, value)


def test_avro_keeps_numbers_that_are_wider_and_moments_that_are_converted() -> None:
    assert avro_read("int", "long", varint(5)) == [5]
    assert avro_read("float", "double", b"\0\0\xc0\x3f") == [1.5]
    millis = connect("long", f"{TIME}Timestamp")
    (first,) = avro_read(millis, AVRO_MICROS, varint(1_500))
    (second,) = avro_read(AVRO_MOMENT, AVRO_MICROS, varint(1_500))
    assert first == second
    assert first.isoformat() == "1970-01-01T00:00:01.500000"


def test_an_alias_is_refused() -> None:
    schema = avro_envelope(AVRO_MICROS)
    schema["fields"][0]["type"][1]["fields"][0]["aliases"] = ["then"]
    options = {"value.format": "avro", "value.schema": json.dumps(schema), "key.format": "raw"}
    assert "the field 'before.at' has aliases" in config_error(query_with(options).schema)


@pytest.mark.parametrize(
    ("kind", "value"), [("string", '"20240101"'), ("int64", "1500"), ("int32", "20000")]
)
@pytest.mark.parametrize("mode", ["microseconds", "isostring"])
def test_a_ddl_gives_no_meaning_to_a_document_with_a_schema(
    kind: str, value: str, mode: str
) -> None:
    wanted = "date" if kind == "int32" else "timestamp_ntz"
    options = {
        "value.format": "json",
        "value.schema": f"at {wanted}",
        "key.format": "raw",
        "debezium.time.precision.mode": mode,
    }
    with pytest.raises(MalformedRecordError, match=rf"the field 'after\.at' has the type {kind}"):
        read(options, [document(kind, json.loads(value))], None, ["at", "op"])


@pytest.mark.parametrize(
    "kind",
    [
        named("string", f"{TIME}Date"),
        named("boolean", f"{TIME}MicroTimestamp"),
        named("double", f"{CONNECT}Timestamp"),
        named("int64", ZONED["name"]),
    ],
)
def test_a_name_of_connect_on_another_type_means_nothing(kind: dict[str, Any]) -> None:
    value = {"string": "12", "boolean": True, "double": 1.5, "int64": 5}[kind["type"]]
    assert read_by(kind, document(kind, value)) == [value]


@pytest.mark.parametrize("scale", ["--5", "٢", "1e3", "", "9999999"])
def test_a_scale_that_is_no_number(scale: str) -> None:
    decimal = named("bytes", f"{CONNECT}Decimal", scale=scale)
    assert read_by(decimal, document(decimal, "AAE=")) == [b"\0\1"]


def test_a_name_that_is_no_text() -> None:
    schema = connect_envelope({"at": "int64"})
    schema["fields"][1]["fields"].append({"type": "int64", "field": "\ud800"})
    text = json.dumps({"schema": schema, "payload": event("c", after={"at": 1})}).encode()
    with pytest.raises(MalformedRecordError, match="'before' has a field whose name is not valid"):
        read_by("int64", (None, text))


PROTO = "syntax = 'proto3'; import 'google/protobuf/wrappers.proto'; {0}"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("float at = 2;", "the field 'after.at' has the type float, not double"),
        ("int64 at = 2;", "the field 'after.at' has the type int64, not double"),
        ("double gone = 2; double at = 3;", "the field 'after.at' has the number 3, not 2"),
        ("double gone = 2;", "the field 'after.at' has the name gone"),
        ("google.protobuf.DoubleValue at = 2;", "the field 'after.at' "),
    ],
)
def test_protobuf_reads_no_column_in_the_place_of_another(written: str, expected: str) -> None:
    versions = [
        {"id": number, "schema": proto_envelope(columns), "schemaType": "PROTOBUF"}
        for number, columns in enumerate((written, "double at = 2;"), start=1)
    ]
    # The message, after with id 5, and op.
    payload = b"\0\0\0\0\1\0" + b"\x12\x02\x08\x05" + b"\x1a\1c"
    with registry(subjects(**{"shop.public.items-value": versions})) as fake:
        options = {"value.format": "protobuf", "schema.registry.url": fake.url}
        with pytest.raises(MalformedRecordError) as raised:
            read({**options, "key.format": "raw"}, [(None, payload)], None, ["at", "op"])
        assert expected in str(raised.value)
        # What is not wanted does no harm.
        found = read({**options, "key.format": "raw"}, [(None, payload)], None, ["id", "op"])
    assert found == [{"id": 5, "op": "c"}]


@pytest.mark.parametrize(
    ("key", "before"),
    [({"old": 7}, None), ({"old": 7}, {"old": 7}), ({}, None), ({"id": None, "part": 1}, None)],
)
def test_a_delete_whose_key_has_not_the_columns_of_keys(key: Any, before: Any) -> None:
    options = {
        "value.format": "json",
        "value.schema": "id bigint, part int, name string",
        "key.schema": "id bigint, part int",
    }
    with pytest.raises(MalformedRecordError, match="the delete has neither before nor"):
        read(options, [(dumped(key), dumped(event("d", before)))])
    known = read(options, [(dumped(key), dumped(event("d", {"id": 1, "part": 2})))])
    assert [(row["id"], row["op"]) for row in known] == [(1, "d")]


def test_the_recorded_events_are_read_with_a_ddl() -> None:
    topics = json.loads(gzip.decompress(RECORDED.read_bytes()))["topics"]
    given: list[Record] = [
        (None, base64.b64decode(value)) for _, value in topics["told.public.items"] if value
    ]
    options = {"value.format": "json", "value.schema": "id int", "key.format": "raw"}
    found = read({**options, "mode": "PERMISSIVE"}, given, None, ["id", "op", "source", "_error"])
    assert {row["_error"] for row in found} == {None}
    assert all(int(row["source"]["txId"]) > 0 for row in found)


@pytest.mark.parametrize("before", [{"id": 1, "email": None}, {"id": 1, "email": "old"}])
def test_a_key_of_a_delete_may_be_null_where_before_has_the_row(before: Any) -> None:
    options = {
        "value.format": "json",
        "value.schema": "id bigint, email string",
        "key.schema": "email string",
    }
    given = [(dumped({"email": None}), dumped(event("d", before)))]
    assert [(row["id"], row["email"]) for row in read(options, given)] == [(1, before["email"])]


def key_of(fields: dict[str, Any]) -> dict[str, Any]:
    listed = [{"name": name, **each} for name, each in fields.items()]
    return {"type": "record", "name": "Key", "fields": listed}


@pytest.mark.parametrize("before", [None, b"\2\2\x08real"])
def test_a_key_has_no_default_of_a_column_that_it_got(before: bytes | None) -> None:
    old = key_of({"id": {"type": "long"}})
    new = key_of({"id": {"type": "long"}, "at": {"type": "string", "default": "filler"}})
    subjects_of = {
        "shop.public.items-key": [
            {"id": number, "schema": json.dumps(each)} for number, each in enumerate((old, new), 1)
        ],
        "shop.public.items-value": [{"id": 3, "schema": json.dumps(avro_envelope("string"))}],
    }
    key = b"\0" + (1).to_bytes(4, "big") + varint(7)
    # before or null, after is null, and op is d.
    value = b"\0" + (3).to_bytes(4, "big") + (before or b"\0") + b"\0\2d"
    with registry(subjects(**subjects_of)) as fake:
        options = {"value.format": "avro", "schema.registry.url": fake.url}
        if before is None:
            with pytest.raises(MalformedRecordError, match="the delete has neither before nor"):
                read(options, [(key, value)], None, ["at", "op", "key"])
        else:
            (row,) = read(options, [(key, value)], None, ["at", "op", "key"])
            assert row == {"at": "real", "op": "d", "key": {"id": 7, "at": None}}


def proto_envelope(columns: str) -> str:
    row = f"message Value {{ int64 id = 1; {columns} }}"
    parts = "Value before = 1; Value after = 2; string op = 3; int64 ts_ms = 4;"
    return PROTO.format(f"message Envelope {{ {row} {parts} }}")


def read_proto(
    written: str, read_as: str, column: bytes, types: dict[str, pa.DataType] | None = None
) -> list[dict[str, Any]]:
    versions = [
        {"id": number, "schema": each, "schemaType": "PROTOBUF"}
        for number, each in enumerate((written, read_as), start=1)
    ]
    after = b"\x08\x05" + column
    payload = b"\0\0\0\0\1\0\x12" + bytes([len(after)]) + after + b"\x1a\1c"
    with registry(subjects(**{"shop.public.items-value": versions})) as fake:
        options = {
            "value.format": "protobuf",
            "schema.registry.url": fake.url,
            "key.format": "raw",
            "debezium.time.precision.mode": "microseconds",
        }
        names = ["at", "op", *(["_unavailable"] if "Wrapped" in written else [])]
        return read(options, [(None, payload)], types, names)


def test_protobuf_tells_the_reason_of_a_value_that_does_not_convert() -> None:
    schema = proto_envelope("string at = 2;")
    types = {"at": pa.timestamp("us", tz="UTC")}
    with pytest.raises(MalformedRecordError) as raised:
        read_proto(schema, schema, b"\x12\x03not", types)
    assert "field at: the value of io.debezium.time.ZonedTimestamp does not fit" in str(
        raised.value
    )


def test_protobuf_gives_a_smaller_number_no_unit() -> None:
    written, read_as = proto_envelope("int32 at = 2;"), proto_envelope("int64 at = 2;")
    assert read_proto(written, read_as, b"\x10\x05") == [{"at": 5, "op": "c"}]
    with pytest.raises(MalformedRecordError, match=r"'after\.at' is int32 in the schema of the"):
        read_proto(written, read_as, b"\x10\x05", {"at": pa.timestamp("us")})


def test_a_placeholder_in_a_wrapper() -> None:
    wrapped_text = "message Wrapped { string value = 1; }"
    schema = proto_envelope(f"{wrapped_text} Wrapped at = 2;")
    inner = b"\x0a" + bytes([len(PLACEHOLDER)]) + PLACEHOLDER
    found = read_proto(schema, schema, b"\x12" + bytes([len(inner)]) + inner)
    assert found == [{"at": None, "op": "c", "_unavailable": ["at"]}]


@pytest.mark.parametrize("symbols", ["A = 0; X = 1; B = 2;", "B = 0; A = 1;"])
def test_protobuf_gives_no_symbol_the_number_of_another(symbols: str) -> None:
    written = "enum Letter { A = 0; B = 1; } Letter at = 2;"
    read_as = f"enum Letter {{ {symbols} }} Letter at = 2;"
    with pytest.raises(MalformedRecordError, match=r"the field 'after\.at' has the new symbol"):
        read_proto(proto_envelope(written), proto_envelope(read_as), b"\x10\x01")
