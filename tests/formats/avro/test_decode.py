"""Payloads of Avro: many at once give the values of one by one, and of other implementations."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.avro.decode import decode
from tests.formats.avro.checks import as_fastavro_reads, as_pairs, check, plan_of
from tests.formats.avro.payloads import Json, payload, schemas, varint, with_length


@pytest.mark.no_cover
@given(schema=schemas(), data=st.data())
def test_many_payloads_are_read_as_one_by_one(schema: Json, data: st.DataObject) -> None:
    rows: list[bytes | None] = [payload(data.draw, schema) for _ in range(3)]
    times = data.draw(st.sampled_from([1, 1, 20]))
    check(plan_of(schema), [*rows * times, None])


DAMAGE = st.tuples(st.sampled_from(["flip", "cut", "set", "add"]), st.integers(0), st.integers(0))


def damaged(row: bytes, how: str, place: int, value: int) -> bytes:
    at = place % (len(row) + 1)
    if how == "cut" or at == len(row):
        return row[:at]
    byte = row[at] ^ (1 << value % 8) if how == "flip" else value % 256
    return row[:at] + bytes([byte]) + row[at + (how != "add") :]


@given(schema=schemas(), damages=st.lists(DAMAGE, min_size=3, max_size=3), data=st.data())
def test_fault_61_damaged_payloads_spoil_no_others(
    schema: Json, damages: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    rows = [payload(data.draw, schema) for _ in damages]
    broken = [damaged(row, *damage) for row, damage in zip(rows, damages, strict=True)]
    check(plan_of(schema), [each for pair in zip(rows, broken, strict=True) for each in pair])


@pytest.mark.parametrize("member", ["string", "bytes", {"type": "fixed", "name": "F", "size": 2}])
def test_fault_61_an_empty_payload_at_the_end_is_broken_only(member: Json) -> None:
    null, one = varint(0), varint(1) + (varint(2) if isinstance(member, str) else b"") + b"ab"
    check(plan_of(["null", member]), [one, null, b""])


@given(schema=schemas(), damages=st.lists(DAMAGE, min_size=3, max_size=3), data=st.data())
def test_fields_that_nobody_wants_are_skipped(
    schema: Json, damages: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    kept = {"name": "kept", "type": "long"}
    writer = {"type": "record", "name": "R", "fields": [{"name": "skipped", "type": schema}, kept]}
    plan = plan_of(writer, writer | {"fields": [kept]})
    rows = [payload(data.draw, writer) for _ in damages]
    assert not decode(pa.array(rows, pa.binary()), plan).is_broken.any()
    broken = [damaged(row, *damage) for row, damage in zip(rows, damages, strict=True)]
    check(plan, [*rows, *broken])


def test_a_skipped_string_need_not_be_utf_8() -> None:
    writer = {"type": "record", "name": "R", "fields": [{"name": "s", "type": "string"}]}
    row = with_length(b"\xff")
    check(plan_of(writer, writer | {"fields": []}), [row])
    assert decode(pa.array([row], pa.binary()), plan_of(writer)).is_broken.all()


def test_a_key_of_a_skipped_map_need_not_be_utf_8() -> None:
    entries = {"type": "map", "values": "null"}
    writer = {"type": "record", "name": "R", "fields": [{"name": "m", "type": entries}]}
    row = b"\x02" + with_length(b"\xff") + b"\x00"
    check(plan_of(writer, writer | {"fields": []}), [row])
    assert not decode(pa.array([row]), plan_of(writer, writer | {"fields": []})).is_broken.any()
    assert decode(pa.array([row]), plan_of(writer)).is_broken.all()


@given(rows=st.lists(st.binary(max_size=60), max_size=20), schema=schemas())
def test_fault_61_garbage_is_read_or_refused(rows: list[bytes | None], schema: Json) -> None:
    check(plan_of(schema), rows)


@given(schema=schemas(with_unions=False), data=st.data())
def test_equals_fastavro(schema: Json, data: st.DataObject) -> None:
    rows = [payload(data.draw, schema) for _ in range(3)]
    plan = plan_of(schema)
    wanted = pa.array([as_pairs(schema, as_fastavro_reads(schema, row)) for row in rows], plan.type)
    assert decode(pa.array(rows, pa.binary()), plan).values.equals(wanted)


def test_wide_unions_are_structs_of_members() -> None:
    plan = plan_of(["null", "int", "string", {"type": "array", "items": "long"}])
    rows = [b"\x00", b"\x02\x0a", b"\x04" + with_length(b"abc"), b"\x06\x02\x02\x00"]
    found = decode(pa.array(rows, pa.binary()), plan)
    nothing = {"member0": None, "member1": None, "member2": None}
    assert found.values.to_pylist() == [
        None,
        nothing | {"member0": 5},
        nothing | {"member1": "abc"},
        nothing | {"member2": [1]},
    ]
    assert not found.is_broken.any()


@pytest.mark.parametrize(
    ("branches", "to"), [(["int", "long"], pa.int64()), (["null", "float", "double"], pa.float64())]
)
def test_unions_of_numbers_are_the_wider_one(branches: Json, to: pa.DataType) -> None:
    plan = plan_of(branches)
    rows = [varint(len(branches) - 2) + (b"\x02" if to == pa.int64() else b"\x00\x00\x80\x3f")]
    assert decode(pa.array(rows, pa.binary()), plan).values.equals(pa.array([1], to))


def test_a_frame_before_each_payload_is_skipped() -> None:
    rows = [b"\x00\x00\x00\x00\x07\x0a", b"\x00\x00", None, b"\x00\x00\x00\x00\x07\x0c"]
    found = decode(pa.array(rows, pa.binary()), plan_of("long"), skipped_bytes=5)
    assert found.is_broken.tolist() == [False, True, False, False]
    assert found.values.take(pa.array([0, 2, 3])).to_pylist() == [5, None, 6]


def test_a_slice_of_an_array() -> None:
    rows = pa.array([b"\x02", b"\x04", b"\x06"], pa.binary())
    assert decode(rows.slice(1), plan_of("long")).values.to_pylist() == [2, 3]


@pytest.mark.parametrize("item", ["null", {"type": "fixed", "name": "F", "size": 0}])
def test_fault_61_items_without_bytes_are_limited(item: Json) -> None:
    rows: list[bytes | None] = [varint(count) + b"\x00" for count in (1_000, 1_001, 2**40)]
    found = decode(pa.array(rows, pa.binary()), plan_of({"type": "array", "items": item}))
    assert found.is_broken.tolist() == [False, True, True]
