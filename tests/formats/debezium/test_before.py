"""The column `before` of events: the row before the change."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import MalformedRecordError
from kafka_formats.payload.schema_text import SchemaText
from tests.config_error import config_error
from tests.formats.debezium.converters import (
    AT,
    AVRO_ROW,
    CONVERTED,
    CONVERTED_KEY,
    ENVELOPE,
    EXPECTED,
    FULL,
    JSON_ROW,
    KEY_AVRO,
    MARK,
    ROW,
    TOLD,
    ZEROS,
    avro,
    avro_options,
    avro_registry,
    avro_schema,
    told_records,
)
from tests.formats.debezium.events import (
    DDL,
    DELETE,
    INSERT,
    JSON,
    TOMBSTONE,
    TRUNCATE,
    Record,
    connect_envelope,
    connect_struct,
    dumped,
    event,
    query_with,
    read,
    rows_of,
    short,
    stages_with,
    wrapped,
)
from tests.formats.protobuf.messages import message_class

BEFORE = {**DDL, "debezium.before": "true"}
ANN, BOB = {"id": 1, "name": "ann"}, {"id": 2, "name": "bob"}
# Of a table without a primary key, whose records have no key.
REKEY: Record = (None, dumped(event("u", ANN, BOB)))
ID = pa.struct([("id", pa.int64())])


def test_the_option_adds_the_column() -> None:
    schema = query_with(BEFORE).schema()
    assert schema.names[:6] == ["id", "name", "op", "ts_ms", "source", "before"]
    assert schema.field("before").type == pa.struct([("id", pa.int64()), ("name", pa.string())])
    assert "before" not in query_with(DDL).schema().names
    assert "before" not in query_with({**DDL, "debezium.before": "false"}).schema().names
    rows = read(BEFORE, [INSERT, REKEY, DELETE, TOMBSTONE, TRUNCATE])
    assert short(rows, "op", "id", "before") == [
        ("c", 1, None),
        ("u", 2, ANN),
        ("d", 1, {"id": 1, "name": "bob"}),
    ]


def test_a_query_that_names_the_column_needs_no_option() -> None:
    given = [INSERT, REKEY, DELETE]
    expected: list[dict[str, Any]] = [
        {"before": None, "op": "c"},
        {"before": {"id": 1}, "op": "u"},
        {"before": {"id": 1}, "op": "d"},
    ]
    for options in (DDL, BEFORE, JSON):
        assert read(options, given, {"before": ID}, ["before", "op"]) == expected
    rows = read(JSON, given, {"name": pa.string(), "before": ID})
    assert short(rows, "name", "before") == [("ann", None), ("bob", {"id": 1}), ("bob", {"id": 1})]
    assert short(read(DDL, given, columns=["before"]), "before") == [
        (None,),
        (ANN,),
        ({"id": 1, "name": "bob"},),
    ]


def test_other_fields_are_not_decoded() -> None:
    """A value of another type in one of them breaks no row."""
    given = [(None, dumped(event("u", {"id": 1, "name": 5, "more": 6}, BOB)))]
    types = {"before": ID}
    assert read(DDL, given, types, ["id", "before"]) == [{"id": 2, "before": {"id": 1}}]
    # A delete needs the wanted columns of the row, and the row those of before.
    deleted = [(None, dumped(event("d", {"id": 1, "name": "ann", "more": 6})))]
    assert read(DDL, deleted, types, ["name", "before"]) == [{"name": "ann", "before": {"id": 1}}]
    more = {**JSON, "value.schema": "more int, name string, id bigint"}
    to = pa.struct([("id", pa.int64()), ("more", pa.int32())])
    assert read(more, deleted, {"before": to}, ["before", "id", "name"]) == [
        {"before": {"id": 1, "more": 6}, "id": 1, "name": "ann"}
    ]


def test_the_row_before_is_broken_where_it_is_wanted() -> None:
    given = [INSERT, (None, dumped(event("u", {"id": "x"}, BOB)))]
    with pytest.raises(MalformedRecordError, match=r"at offset 1: the value: field before\.id: it"):
        read(BEFORE, given)
    rows = read({**BEFORE, "mode": "PERMISSIVE"}, given)
    assert short(rows, "offset", "before") == [(0, None), (1, None)]
    assert "before.id" in rows[1]["_error"]


def test_values_that_do_not_fit_are_named_as_those_of_before() -> None:
    options = {**JSON, "value.schema": "price decimal(4, 2)"}
    given = [(None, dumped(event("u", {"price": "AP//"}, {"price": "fQ=="})))]
    assert short(read(options, given), "price") == [(Decimal("1.25"),)]
    with pytest.raises(
        MalformedRecordError, match=r"field before\.price: the value of org\.apache"
    ):
        read({**options, "debezium.before": "true"}, given)


def test_a_prefix_is_before_its_name() -> None:
    options = {**JSON, "value.schema": "id bigint, `before` string", "debezium.prefix": "__"}
    row = {"id": 1, "before": "noon"}
    given = [(None, dumped(event("u", row, {"id": 2, "before": "one"})))]
    (found,) = read({**options, "debezium.before": "true"}, given)
    assert (found["id"], found["before"], found["__before"]) == (2, "one", row)
    assert read(options, given, {"__before": ID}, ["before", "__before"]) == [
        {"before": "one", "__before": {"id": 1}}
    ]


def test_a_table_with_a_column_of_this_name() -> None:
    options = {**JSON, "value.schema": "id bigint, Before string"}
    refused = (
        "The table has a column 'Before', and so has each change: set debezium.prefix, for example "
        "to __, which is put before the names of columns that are not the table's."
    )
    told = {**options, "debezium.before": "true"}
    assert config_error(query_with(told).schema) == refused
    assert config_error(stages_with, told, None, ["id", "before", "Before"]) == refused
    # It is the table's as long as nobody asks for the other one.
    given = [(None, dumped(event("u", {"id": 1}, {"id": 2, "Before": "noon"})))]
    assert short(read(options, given), "Before") == [("noon",)]
    named = {**JSON, "value.schema": "id bigint, before string"}
    to = pa.schema([pa.field("before", ID)])
    assert "has a column 'before'" in config_error(query_with(named).stages, to)
    # A struct of this name is always the row before: it is no column for `value.schema`.
    struct = {**JSON, "value.schema": "id bigint, before struct<id bigint>"}
    assert "has a column 'before'" in config_error(query_with(struct).schema)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([("before", pa.string())], "Column 'before' is a struct of columns of the table, not str"),
        ([("before", pa.struct([]))], "Column 'before' is a struct of columns of the table, not s"),
        (
            [("before", pa.struct([("idd", pa.int64())]))],
            "There is no column 'idd' in 'before'; there are id, name.",
        ),
        (
            [("id", pa.int64()), ("before", pa.struct([("id", pa.string())]))],
            "Column 'id' is wanted as int64, and in before as string: name one type for both.",
        ),
        (
            [("before", pa.struct([pa.field("id", pa.int64(), nullable=False)]))],
            "Column 'before' and all of its parts must be nullable",
        ),
    ],
)
def test_types_that_it_cannot_have(wanted: list[tuple[str, pa.DataType]], message: str) -> None:
    assert message in config_error(query_with(BEFORE).stages, pa.schema(wanted))


def test_values_that_are_not_available_are_null_as_in_the_row() -> None:
    row = {"id": 1, "name": MARK}
    given = [(None, dumped(event("u", row, row))), (None, dumped(event("d", row)))]
    nothing = {"id": 1, "name": None}
    for found in read(BEFORE, given):
        assert (found["name"], found["_unavailable"], found["before"]) == (None, ["name"], nothing)
    # Without the column that tells them, they are what Debezium wrote.
    assert short(read(BEFORE, given, columns=["name", "before"]), "name", "before") == [
        (MARK, row),
        (MARK, row),
    ]


def test_a_delete_keeps_its_row_before_beside_the_columns_of_its_key() -> None:
    options = {**BEFORE, "key.schema": "id bigint"}
    key = dumped({"id": 7})
    given = [(key, dumped(event("d"))), (key, dumped(event("d", {"name": "x"})))]
    assert short(read(options, given), "id", "before") == [
        (7, None),
        (7, {"id": None, "name": "x"}),
    ]


def test_documents_with_schemas() -> None:
    types = {name: each[2] for name, each in TOLD.items()}
    rows = read(JSON, told_records(), types | {"before": pa.struct([*types.items()])})
    assert [row["before"] for row in rows] == [None, ROW, ROW]


def test_documents_whose_schemas_have_no_row_before() -> None:
    """A schema in a payload need not have it; the unit of a moment is then that of `after`."""
    schema = connect_envelope({"id": "int64", "us": TOLD["us"][0]})
    schema["fields"] = [each for each in schema["fields"] if each["field"] != "before"]
    row = {"id": 1, "us": 1_500_001}
    message = connect_struct({"op": "string", "ts_ms": "int64"})
    given: list[Record] = [
        (None, wrapped(schema, {"op": "u", "ts_ms": 1, "after": row})),
        (None, wrapped(message, {"op": "m", "ts_ms": 1})),
        (None, wrapped(ENVELOPE, event("u", JSON_ROW, JSON_ROW))),
    ]
    options = {**JSON, "debezium.otherEvents": "keep"}
    us = {"us": pa.timestamp("us")}
    for types, names in (
        ({**us, "before": pa.struct([*us.items()])}, ["us", "before"]),
        ({"before": pa.struct([*us.items()])}, ["before"]),
    ):
        rows = read(options, given, types, names)
        assert short(rows, "before") == [(None,), (None,), ({"us": ROW["us"]},)]


def test_avro() -> None:
    (key,) = avro(KEY_AVRO, 90, {"id": 1})
    about = {"source": {"lsn": 7}, "ts_ms": 1}
    given: list[Record] = [
        (key, each)
        for each in avro(
            FULL,
            1,
            {"before": AVRO_ROW, "after": AVRO_ROW | {"id": 2}, "op": "u", **about},
            {"before": AVRO_ROW, "after": None, "op": "d", **about},
            {"before": None, "after": AVRO_ROW, "op": "u", **about},
        )
    ]
    with avro_registry(FULL) as fake:
        options = {**avro_options(fake.url), "debezium.before": "true"}
        schema = query_with(options).schema()
        assert schema.field("before").type == pa.struct([schema.field(each) for each in EXPECTED])
        decoder = pickle.loads(pickle.dumps(stages_with(options)))
        rows = rows_of(decoder, given)
        assert short(rows, "id", "before") == [(2, EXPECTED), (1, EXPECTED), (1, None)]
        # Some of the fields, with other types; others of the row.
        part = pa.struct([("at", pa.int64()), ("zoned", pa.string())])
        rows = read(options, given, {"before": part}, ["day", "before"])
        before = {"at": AVRO_ROW["at"], "zoned": AVRO_ROW["zoned"]}
        assert short(rows, "day", "before") == [
            (EXPECTED["day"], before),
            (EXPECTED["day"], before),
            (EXPECTED["day"], None),
        ]


def test_avro_whose_envelope_has_no_row_before() -> None:
    """As Debezium's connector of Cassandra writes it."""
    schema = {**FULL, "fields": [each for each in FULL["fields"] if each["name"] != "before"]}
    value = FULL["fields"][0]["type"][1]
    schema["fields"][0] = {"name": "after", "type": ["null", value], "default": None}
    options = {"value.format": "avro", "value.schema": json.dumps(schema), "key.format": "raw"}
    assert "id" in query_with(options).schema().names
    error = config_error(stages_with, options, {"before": ID}, ["id", "before"])
    assert "as it has no field 'before'" in error


def test_protobuf() -> None:
    envelope: Any = message_class(SchemaText(CONVERTED), "Envelope")
    key: Any = message_class(SchemaText(CONVERTED_KEY), "Key")
    value = envelope.Value
    given: list[Record] = [
        (key(id=1).SerializeToString(), each.SerializeToString())
        for each in (
            envelope(op="u", before=value(id=1, name="ann"), after=value(id=2)),
            # Of `REPLICA IDENTITY DEFAULT`: a row that is there has zeros, one that is not is null.
            envelope(op="u", before=value(), after=value(id=2)),
            envelope(op="u", after=value(id=2)),
            envelope(op="d", before=value(id=3, name="bob")),
        )
    ]
    options = {"value.format": "protobuf", "value.schema": CONVERTED, "key.schema": CONVERTED_KEY}
    part = pa.struct([("name", pa.string()), ("id", pa.int32())])
    assert short(read(options, given, {"before": part}, ["flag", "before"]), "before") == [
        ({"name": "ann", "id": 1},),
        ({"name": "", "id": 0},),
        (None,),
        ({"name": "bob", "id": 3},),
    ]
    (first, *_) = read({**options, "debezium.before": "true"}, given)
    assert first["before"] == {**ZEROS, "id": 1, "name": "ann"}


def test_a_column_that_is_added_is_in_the_row_before_too() -> None:
    """The schema of a payload may be older or newer than that of the query."""
    older, newer = avro_schema(id="long"), avro_schema(id="long", at=AT)
    about = {"op": "u", "source": {"lsn": 7}, "ts_ms": 1}
    row: dict[str, Any] = {"id": 1, "at": 1_500_001}
    given: list[Record] = [
        (None, avro(schema, number, {"before": row, "after": row, **about})[0])
        for number, schema in enumerate((older, newer), start=1)
    ]
    with avro_registry(older, newer) as fake:
        rows = read({**avro_options(fake.url), "debezium.before": "true"}, given)
    assert short(rows, "before") == [({"id": 1, "at": None},), ({"id": 1, "at": ROW["us"]},)]


@pytest.mark.parametrize("wanted", [pa.string(), pa.int64(), pa.struct([])])
def test_keys_without_a_schema_are_structs(wanted: pa.DataType) -> None:
    """The same rule for the column `key`: it was a TypeError."""
    to = pa.schema([("id", pa.int64()), ("key", wanted)])
    error = config_error(query_with(JSON).stages, to)
    assert error == f"Column 'key' is a struct of the fields of keys, not {wanted}."
    rows = read(JSON, [DELETE], {"id": pa.int64(), "key": ID})
    assert short(rows, "id", "key") == [(1, {"id": 1})]
