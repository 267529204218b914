"""Random events have the same rows in JSON with and without schemas, and in Avro.

Rows are also those of a simple reference, event by event.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.query.stage import Stage
from tests.fakes.registry import registry, subjects
from tests.formats.connect.test_decimals import unscaled
from tests.formats.debezium.converters import (
    AT,
    KEY_AVRO,
    MARK,
    PRICE,
    TOLD,
    avro,
    avro_options,
    avro_schema,
    semantic,
)
from tests.formats.debezium.events import (
    TIME,
    Record,
    connect_envelope,
    connect_struct,
    dumped,
    event,
    rows_of,
    stages_with,
    wrapped,
)

EPOCH = datetime(1970, 1, 1)
DDL = "id bigint, name string, price decimal(10, 2), at timestamp_ntz, zoned timestamp, day date"
NAMES = ("id", "name", "price", "at", "zoned", "day")
CONNECT_ROW = {"id": "int64", "name": "string"} | {
    name: TOLD[told][0]
    for name, told in (("price", "price"), ("at", "us"), ("zoned", "zoned"), ("day", "day"))
}
AVRO_VALUE = avro_schema(
    id="long",
    name="string",
    price=PRICE,
    at=AT,
    zoned=semantic("string", f"{TIME}ZonedTimestamp"),
    day=semantic("int", f"{TIME}Date"),
)
ENVELOPE = connect_envelope(CONNECT_ROW)
KEY_SCHEMA = connect_struct({"id": "int64"})
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1))
ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(-(2**63), 2**63 - 1),
        "name": st.none() | st.just(MARK) | st.text(max_size=5),
        "price": st.none() | st.decimals(-99_999_999, 99_999_999, places=2),
        "at": st.none() | MOMENTS,
        "zoned": st.none() | MOMENTS,
        "day": st.none() | st.dates(date(1000, 1, 1), date(2999, 1, 1)),
    }
)
CHANGES = st.one_of(
    st.tuples(st.sampled_from("rcu"), st.none() | ROWS, ROWS),
    st.tuples(st.just("d"), ROWS, st.none()),
    st.tuples(st.just("d"), st.none(), st.none()),
    st.tuples(st.just("t"), st.none(), st.none()),
    st.none(),
)


def in_json(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    price, at, zoned, day = (row[name] for name in ("price", "at", "zoned", "day"))
    return {
        "id": row["id"],
        "name": row["name"],
        "price": None if price is None else b64encode(unscaled(int(price.scaleb(2)))).decode(),
        "at": at and (at - EPOCH) // timedelta(microseconds=1),
        "zoned": zoned and zoned.isoformat() + "Z",
        "day": day and (day - EPOCH.date()).days,
    }


def in_avro(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    found = in_json(row)
    return found and {**found, "price": row["price"] if row else None}


def expected_rows(changes: list[Any]) -> Iterator[dict[str, Any]]:
    for offset, change in enumerate(changes):
        if change is None or change[0] == "t":
            continue
        op, before, after = change
        row = (before if op == "d" else after) or dict.fromkeys(NAMES)
        if op == "d" and not before:
            row = {**row, "id": offset}
        missing = [name for name in NAMES if row[name] == MARK]
        about = {"op": op, "offset": offset, "_unavailable": missing}
        yield {**as_read(row), **about, "before": before and as_read(before)}


def as_read(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the database: null for what is not available."""
    zoned = row["zoned"] and row["zoned"].replace(tzinfo=timezone.utc)
    return {name: None if each == MARK else each for name, each in row.items()} | {"zoned": zoned}


@pytest.fixture(scope="module")
def decoders() -> Iterator[list[tuple[Stage, ...]]]:
    """Of JSON without schemas and with them, and of Avro."""
    respond = subjects(
        **{
            "shop.public.items__value": [{"id": 1, "schema": json.dumps(AVRO_VALUE)}],
            "shop.public.items__key": [{"id": 2, "schema": json.dumps(KEY_AVRO)}],
        }
    )
    told = {"value.format": "json", "value.schema": DDL}
    plain = {**told, "debezium.time.precision.mode": "microseconds"}
    columns = [*NAMES, "op", "offset", "_unavailable", "before"]
    with registry(respond) as fake:
        options = (plain, told, avro_options(fake.url))
        yield [stages_with(each, columns=columns) for each in options]


def record(offset: int, change: Any) -> list[Record]:
    """The record of a change in each form. The key of a row that is not there is the offset."""
    key = {"id": offset if change is None or change[1] is None else change[1]["id"]}
    values: list[bytes | None] = [None, None, None]
    if change is not None:
        op, before, after = change
        document = event(op, in_json(before), in_json(after))
        of_avro = event(op, in_avro(before), in_avro(after), {"lsn": 1})
        values = [dumped(document), wrapped(ENVELOPE, document), *avro(AVRO_VALUE, 1, of_avro)]
    keys = [dumped(key), wrapped(KEY_SCHEMA, key), *avro(KEY_AVRO, 2, key)]
    return list(zip(keys, values, strict=True))


@pytest.mark.no_cover
@pytest.mark.many_inputs
@given(st.lists(CHANGES, max_size=30))
def test_changes_have_the_same_rows_in_all_forms(
    decoders: list[tuple[Stage, ...]], changes: list[Any]
) -> None:
    expected = [*expected_rows(changes)]
    forms = [record(offset, change) for offset, change in enumerate(changes)]
    for form, decoder in enumerate(decoders):
        assert rows_of(decoder, [each[form] for each in forms]) == expected


def test_the_reference() -> None:
    row = dict.fromkeys(NAMES) | {"id": 5, "name": MARK, "price": Decimal("1.50")}
    changes = [("u", row, row), None, ("d", None, None), ("t", None, None)]
    assert [
        (each["id"], each["_unavailable"], each["before"]) for each in expected_rows(changes)
    ] == [
        (5, ["name"], {**row, "name": None}),
        (2, [], None),
    ]
