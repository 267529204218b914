"""Payloads -> events: what is none, values that are not available, and what Protobuf leaves out."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import MalformedRecordError
from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.formats import FORMATS
from tests.config_error import config_error
from tests.formats.debezium.converters import CONVERTED, CONVERTED_KEY, MARK, ZEROS, avro_schema
from tests.formats.debezium.events import (
    ANN,
    DDL,
    INSERT,
    JSON,
    KEY_1,
    TOMBSTONE,
    UPDATE,
    Record,
    connect_struct,
    dumped,
    event,
    query_with,
    read,
    short,
    wrapped,
)
from tests.formats.protobuf.messages import message_class


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"ts_ms": 1}, "it is not a change event of Debezium: it has no op. Heartbeats, schema"),
        ({"databaseName": "x", "ddl": "y", "op": None}, "it is not a change event of Debezium"),
        (event("x", after=ANN), "field op: it is not one of r, c, u, d, t, m"),
        (event("u", before=ANN), "field after: it is missing, and the event is not a delete"),
        (event("c", after={"id": "1"}), "field after.id: it is a string, not a whole number"),
        ([1], "it is an array, not an object"),
        (b"", "it is empty, and no event"),
        (b" \n", "it is empty, and no event"),
    ],
)
def test_what_is_no_event_is_broken(payload: Any, reason: str) -> None:
    raw = payload if isinstance(payload, bytes) else dumped(payload)
    given = [INSERT, (KEY_1, raw), TOMBSTONE, UPDATE]
    with pytest.raises(MalformedRecordError) as raised:
        read(DDL, given)
    assert f"shop.public.items-3 at offset 1: the value: {reason}" in str(raised.value)
    assert short(read({**DDL, "mode": "DROPMALFORMED"}, given), "offset") == [(0,), (3,)]
    rows = read({**DDL, "mode": "PERMISSIVE"}, given)
    assert short(rows, "offset", "op", "id") == [(0, "c", 1), (1, None, None), (3, "u", 1)]
    assert rows[1]["_error"].startswith(f"the value: {reason}")
    assert rows[1]["_raw"] == raw
    assert rows[1]["_raw_key"] == KEY_1
    assert rows[0]["_raw"] is None


def test_a_key_that_is_broken_has_its_own_fault() -> None:
    options = {**DDL, "key.schema": "id bigint", "mode": "PERMISSIVE"}
    (row,) = read(options, [(b"{", INSERT[1])])
    assert (row["id"], row["key"]) == (1, None)
    assert row["_error"].startswith("the key: it is not JSON")


def test_values_that_are_not_available_are_told_apart() -> None:
    options = {**JSON, "value.schema": "id bigint, a string, b binary, c array<int>"}
    row = {
        "id": 1,
        "a": MARK,
        "b": "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==",
        "c": [*MARK.encode()],
    }
    given = [INSERT, (KEY_1, dumped(event("u", None, row)))]
    rows = read(options, given)
    assert short(rows, "id", "a", "b", "c", "_unavailable") == [
        (1, None, None, None, []),
        (1, None, None, None, ["a", "b", "c"]),
    ]
    # They are what Debezium wrote for a query that does not ask.
    rows = read(options, given, columns=["a", "b", "c"])
    assert short(rows[1:], "a", "b", "c") == [(MARK, MARK.encode(), [*MARK.encode()])]
    other = {**options, "debezium.unavailable.value.placeholder": "hex:3f3f"}
    assert short(read(other, given), "_unavailable") == [([],), ([],)]
    rows = read(other, [(KEY_1, dumped(event("u", None, row | {"a": "??"})))])
    assert short(rows, "a", "_unavailable") == [(None, ["a"])]


@pytest.mark.parametrize("count", [1, 200], ids=["one by one", "at once"])
def test_columns_that_protobuf_does_not_write_are_their_zeros(count: int) -> None:
    """As `ProtobufData.toConnectData` reads them, for whatever the database has."""
    envelope: Any = message_class(SchemaText(CONVERTED), "Envelope")
    value = envelope.Value
    written: dict[str, tuple[Any, dict[str, Any]]] = {
        "zeros": (value(), {}),
        "told zeros": (value(told=0), {"told": 0}),
        "boxed zeros": (value(boxed={"value": 0}), {"boxed": {"value": 0}}),
        "an empty point": (value(point=value.Point()), {"point": {"x": 0, "y": 0.0}}),
        "negative zeros": (value(share=-0.0, single=-0.0), {"share": -0.0, "single": -0.0}),
        "others": (
            value(id=7, flag=True, name="a", kind=1, list=[0, 1]),
            {"id": 7, "flag": True, "name": "a", "kind": "SECOND", "list": [0, 1]},
        ),
    }
    given: list[Record] = []
    expected = []
    for row, different in written.values():
        key: Any = message_class(SchemaText(CONVERTED_KEY), "Key")(id=row.id)
        for event_of in (envelope(op="c", after=row), envelope(op="d", before=row)):
            given.append((key.SerializeToString(), event_of.SerializeToString()))
            key_row = {"id": row.id, "region": ""}
            about = {"op": event_of.op, "ts_ms": 0, "source": None, "key": key_row}
            expected.append({**ZEROS, **different, **about})
    options = {
        "value.format": "protobuf",
        "value.schema": CONVERTED,
        "key.schema": CONVERTED_KEY,
    }
    rows = read(options, given * count, columns=[*expected[0]])
    # Not `==`: -0.0 is 0.0.
    assert [repr(row) for row in rows] == [repr(row) for row in expected * count]


def test_a_protobuf_event_without_an_op_is_none_of_debeziums() -> None:
    envelope: Any = message_class(SchemaText(CONVERTED), "Envelope")
    options = {"value.format": "protobuf", "value.schema": CONVERTED, "key.format": "raw"}
    payload = envelope(ts_ms=1).SerializeToString()
    with pytest.raises(MalformedRecordError, match="not a change event of Debezium: it has no op"):
        read(options, [(None, payload)])


def test_events_of_mongodb_are_refused_in_one_sentence() -> None:
    """Their documents are texts, in JSON with a schema and without one, and in Avro."""
    refused = "the field 'after' is a text: Debezium writes documents of MongoDB so"
    text = {"type": "string", "name": "io.debezium.data.Json", "version": 1}
    schema = connect_struct({"before": text, "after": text, "op": "string", "ts_ms": "int64"})
    document = '{"_id": 1, "name": "a"}'
    for change in (event("c", after=document), event("d", before=document)):
        for value in (dumped(change), wrapped(schema, change)):
            with pytest.raises(MalformedRecordError, match=refused):
                read(DDL, [(None, value)])
    assert refused in config_error(query_with({**JSON, "value.schema": json.dumps(schema)}).schema)
    record = avro_schema(id="int")
    fields = [
        {"name": each["name"], "type": ["null", "string"]}
        if each["name"] in {"before", "after"}
        else each
        for each in record["fields"]
    ]
    options = {"value.format": "avro", "value.schema": json.dumps(record | {"fields": fields})}
    assert refused in config_error(query_with({**options, "key.format": "raw"}).schema)
    # As the sentence says.
    to = pa.struct({"after": pa.string()})
    decoder = FORMATS[Format.JSON].decoder_factory(SchemaText(""), to, None).for_schema(None)
    payload = pa.array([dumped(event("c", after=document))], pa.binary())
    assert decoder.decode(payload, 0).values.to_pylist() == [{"after": document}]
