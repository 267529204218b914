"""Rows of events and keys: those of each operation, and deletes with the columns of their keys."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import pytest

from kafka_formats.errors import MalformedRecordError
from kafka_formats.query.stage import through
from tests.fakes.registry import registry, subjects
from tests.formats.avro.payloads import varint
from tests.formats.debezium.converters import avro_envelope
from tests.formats.debezium.events import (
    DDL,
    DELETE,
    INSERT,
    KEY_1,
    KEY_2,
    MESSAGE,
    SOURCE,
    TOMBSTONE,
    TRUNCATE,
    TS_MS,
    UPDATE,
    dumped,
    event,
    read,
    records,
    short,
    stages_with,
)


def test_a_row_has_the_change_its_source_and_its_place() -> None:
    (row,) = read(DDL, [INSERT])
    source = {name: each for name, each in row["source"].items() if each is not None}
    assert source == SOURCE
    del row["source"]
    assert row == {
        "id": 1,
        "name": "ann",
        "op": "c",
        "ts_ms": TS_MS,
        "topic": "shop.public.items",
        "partition": 3,
        "offset": 0,
        "timestamp": datetime.fromtimestamp(TS_MS / 1_000, timezone.utc),
        "timestampType": 0,
        "_unavailable": [],
    }


def test_snapshots_inserts_updates_and_deletes(caplog: pytest.LogCaptureFixture) -> None:
    snapshot = (KEY_2, dumped(event("r", after={"id": 2, "name": None})))
    with caplog.at_level(logging.INFO):
        rows = read(DDL, [snapshot, INSERT, UPDATE, DELETE, TOMBSTONE, TRUNCATE, MESSAGE])
    assert short(rows, "op", "id", "name", "offset") == [
        ("r", 2, None, 0),
        ("c", 1, "ann", 1),
        ("u", 1, "bob", 2),
        ("d", 1, "bob", 3),
    ]
    assert "truncated tables or messages that were left out: 2." in caplog.text
    assert "Tombstones that were left out: 1." in caplog.text


def test_other_events_are_kept_if_they_are_wanted() -> None:
    rows = read({**DDL, "debezium.otherEvents": "keep"}, [TRUNCATE, MESSAGE, INSERT])
    assert short(rows, "op", "id", "name", "_unavailable") == [
        ("t", None, None, []),
        ("m", None, None, []),
        ("c", 1, "ann", []),
    ]


def test_a_delete_has_the_columns_of_its_key() -> None:
    rows = read(
        {**DDL, "key.schema": "id bigint"},
        [
            (KEY_1, dumped(event("d", {"id": 1, "name": None}))),
            (KEY_2, dumped(event("d", {"name": "x"}))),
            (KEY_2, dumped(event("d"))),
        ],
    )
    assert short(rows, "id", "name", "key") == [
        (1, None, {"id": 1}),
        (2, "x", {"id": 2}),
        (2, None, {"id": 2}),
    ]


@pytest.mark.parametrize(
    ("options", "key"), [({}, None), ({"key.format": "raw"}, KEY_1), ({}, b'{"id": "x"}')]
)
def test_a_delete_that_does_not_tell_its_row(options: Mapping[str, str], key: bytes | None) -> None:
    given = [INSERT, (key, dumped(event("d")))]
    with pytest.raises(MalformedRecordError) as raised:
        read({**DDL, **options}, given)
    assert "shop.public.items-3 at offset 1: the " in str(raised.value)
    if key != b'{"id": "x"}':
        assert "has neither before nor a decoded key" in str(raised.value)
    dropped = read({**DDL, **options, "mode": "DROPMALFORMED"}, given)
    assert short(dropped, "offset") == [(0,)]
    permitted = read({**DDL, **options, "mode": "PERMISSIVE"}, given)
    assert short(permitted, "offset", "id") == [(0, 1), (1, None)]
    assert permitted[0]["_error"] is None
    assert permitted[1]["_error"]


def test_a_delete_without_columns_of_its_key() -> None:
    given = [(KEY_1, dumped(event("d")))]
    known = {**DDL, "key.schema": "id bigint"}
    assert read(known, given, columns=["name", "op"]) == [{"name": None, "op": "d"}]
    assert read(known, given, columns=["name", "key"]) == [{"name": None, "key": {"id": 1}}]
    assert read(DDL, given, columns=["name", "op"]) == [{"name": None, "op": "d"}]


def test_batches_without_rows_are_not_there() -> None:
    stages = stages_with(DDL)
    batch = records([TOMBSTONE, TRUNCATE]).select([*stages[0].source_columns])
    assert list(through(stages, [batch])) == []


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
