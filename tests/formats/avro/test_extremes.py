"""No payload fails a task, however deep, long or wide it is; and none fills the memory."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.avro.decode import decode
from kafka_formats.avro.format import AvroFormat
from kafka_formats.avro.schema import parse_schema
from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import SchemaText
from tests.formats.avro.checks import check, plan_of
from tests.formats.avro.payloads import Json, varint, with_length

MEGABYTE = 1 << 20


def nested(kind: str, depth: int) -> Json:
    """An int within as many arrays, maps, records or unions."""
    schema: Json = "int"
    for number in range(depth):
        record = {"type": "record", "name": f"R{number}", "fields": [{"name": "a", "type": schema}]}
        schema = {
            "array": {"type": "array", "items": schema},
            "map": {"type": "map", "values": schema},
            "record": record,
            "union": ["null", record],
        }[kind]
    return schema


def nested_payload(kind: str, depth: int, items: int) -> bytes:
    """An int in the first item of each of the lists, which have as many items."""
    row = varint(5)
    for _ in range(depth):
        if kind in {"array", "map"}:
            item = with_length(b"k") + row if kind == "map" else row
            row = varint(items) + item * items + b"\x00"
        elif kind == "union":
            row = b"\x02" + row
    return row


@given(
    kind=st.sampled_from(["array", "map", "record", "union"]),
    depth=st.sampled_from([1, 5, 30]),
    cut=st.integers(0, 40),
    byte=st.sampled_from([0x00, 0x01, 0x7F, 0xFF]),
)
def test_deep_payloads(kind: str, depth: int, cut: int, byte: int) -> None:
    row = nested_payload(kind, depth, items=2 if depth < 10 else 1)
    rows = [row, row[: max(len(row) - cut, 0)], row[:cut] + bytes([byte]) + row[cut + 1 :]]
    check(plan_of(nested(kind, depth)), rows)


def test_a_schema_that_arrow_does_not_pass_on_is_refused() -> None:
    with pytest.raises(SchemaError, match="which Arrow does not pass on"):
        AvroFormat().type_of(SchemaText(json.dumps(nested("array", 75))))


def test_schemas_whose_names_multiply_are_refused() -> None:
    fields = [{"name": each, "type": "R0"} for each in "ab"]
    first = {"type": "record", "name": "R0", "fields": [{"name": "a", "type": "int"}]}
    doubled: list[Json] = [first]
    for number in range(1, 40):
        parts = [each | {"type": f"R{number - 1}"} for each in fields]
        doubled.append({"type": "record", "name": f"R{number}", "fields": parts})
    with pytest.raises(SchemaError, match="more than 100,000 types"):
        parse_schema(json.dumps(doubled))
    chain: list[Json] = [first]
    for number in range(1, 200):
        parts = [{"name": "a", "type": f"R{number - 1}"}]
        chain.append({"type": "record", "name": f"R{number}", "fields": parts})
    with pytest.raises(SchemaError, match="nested more than 100 times"):
        parse_schema(json.dumps(chain))
    parse_schema(json.dumps(chain[:90]))


@pytest.mark.parametrize("text", ['{"a": [', '{"name": "x", "b": '])
def test_a_schema_that_is_only_deep_is_refused(text: str) -> None:
    end = "]}" if text.endswith("[") else "}"
    for depth in (500, 900, 100_000):
        with pytest.raises(SchemaError):
            parse_schema(text + "[" * depth + "]" * depth + end)


@pytest.mark.parametrize("size", [20_000, 1_000_000])
@pytest.mark.parametrize(
    "kind",
    [
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2},
        "string",
        "bytes",
    ],
)
def test_long_numbers_and_texts(kind: Json, size: int) -> None:
    rows = [with_length(byte * size) for byte in (b"\x00", b"\xff", b"\x41")]
    check(plan_of(kind), [*rows, rows[0][:-1]])
    if not isinstance(kind, str):
        other = kind | {"scale": 4}
        check(plan_of(kind, other), rows)
        check(plan_of(other, kind), rows)


@pytest.mark.many_inputs
def test_a_wide_record() -> None:
    fields = [{"name": f"f{number}", "type": "int"} for number in range(5_000)]
    plan = plan_of({"type": "record", "name": "R", "fields": fields})
    found = decode(pa.array([varint(7) * 5_000, varint(7) * 4_999]), plan)
    assert found.is_broken.tolist() == [False, True]
    assert set(found.values[0].as_py().values()) == {7}


@pytest.mark.no_cover
def test_a_union_of_many_types() -> None:
    names = [{"type": "fixed", "name": f"F{number}", "size": 1} for number in range(500)]
    plan = plan_of({"type": "array", "items": ["null", *names]})
    row = varint(60) + b"".join(varint(1 + number * 7) + b"x" for number in range(60)) + b"\x00"
    wrong = varint(1) + varint(501) + b"x\x00"
    check(plan, [row, wrong, row])


@pytest.mark.parametrize("depth", [2, 5, 20])
def test_lists_of_nothing_in_lists_do_not_fill_the_memory(depth: int) -> None:
    schema: Json = "null"
    row = b""
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    for _ in range(3):
        row = varint(1_000) + row * min(1_000, MEGABYTE // max(len(row), 1)) + b"\x00"
    plan = plan_of(schema)
    tens = varint(50) + (varint(10) + b"\x00") * 50 + b"\x00"
    found = decode(pa.array([row, tens if depth == 2 else b"\x00"]), plan)
    assert found.is_broken.tolist() == [True, False]


TREE = {
    "type": "record",
    "name": "T",
    "fields": [
        {"name": "left", "type": ["null", "T"]},
        {"name": "more", "type": {"type": "array", "items": "T"}},
        {"name": "id", "type": "long"},
    ],
}


def skipping(**kept: Any) -> tuple[Json, Json]:
    """A writer with a tree before a number, and a reader of the number."""
    last = {"name": "last", "type": "long"}
    writer = {"type": "record", "name": "R", "fields": [{"name": "tree", "type": TREE}, last]}
    return writer, writer | {"fields": [last]} | kept


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_bytes_in_place_of_a_tree(rows: list[bytes]) -> None:
    check(plan_of(*skipping()), rows)


@pytest.mark.no_cover
def test_a_tree_that_claims_more_than_it_has() -> None:
    claims = b"\x00" + varint(30_000)
    row = claims * 3_000 + bytes(30_000)
    check(plan_of(*skipping()), [row, b"\x00\x00\x00\x0a", varint(1) * 500_000])
