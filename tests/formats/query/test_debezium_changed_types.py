"""Columns whose type changes while old records remain: each value is right, or refused by name."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import MalformedRecordError
from tests.change_data.matrix import ALTERED, CONVERTERS, MODES
from tests.fakes.registry import registry, subjects
from tests.formats.envelope.events import (
    Record,
    connect_envelope,
    dumped,
    event,
    read,
    wrapped,
)
from tests.formats.envelope.matrix_cells import EXACT, REFUSED
from tests.formats.envelope.matrix_pairs import altered_of, pairs_of
from tests.formats.envelope.matrix_table import ROWS

TIME = "io.debezium.time."
CONNECT = "org.apache.kafka.connect.data."
QUICK = {("told", "adaptive"), ("avro", "connect")}
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
    row = {
        "type": "record",
        "name": "Value",
        "fields": [{"name": "at", "type": ["null", kind], "default": None}],
    }
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
    versions = [
        {"id": number, "schema": json.dumps(avro_envelope(each))}
        for number, each in enumerate((writer, reader), start=1)
    ]
    # before is null, after and its field are not, the value has one byte, and op is c.
    payload = b"\0" + (1).to_bytes(4, "big") + b"\0\2\2\2\x7b\2c"
    with registry(subjects(**{"shop.public.items-value": versions})) as fake:
        options = {"value.format": "avro", "schema.registry.url": fake.url, "key.format": "raw"}
        with pytest.raises(MalformedRecordError) as raised:
            read(options, [(None, payload)], None, ["at", "op"])
    assert (
        f"the field 'after.at' is {here} in the schema of the payload, and {there} in that of the "
        "query"
    ) in str(raised.value)
