"""Frames name the schema of each payload."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.options.settings import Framing
from kafka_formats.schema_ids.confluent import confluent_frames
from kafka_formats.schema_ids.frames import Frames, InHeader, SchemaId
from kafka_formats.schema_ids.framings import FRAMES
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE

GUID = uuid.UUID("12345678-1234-5678-1234-567812345678")
HEADER = "__value_schema_id"


def framed(schema_id: SchemaId, payload: bytes = b"") -> bytes:
    if isinstance(schema_id, uuid.UUID):
        return b"\x01" + schema_id.bytes + payload
    assert isinstance(schema_id, int)
    return b"\x00" + schema_id.to_bytes(4, "big") + payload


def by_row(frames: Frames) -> dict[int, tuple[SchemaId, int]]:
    found = {}
    for schema_id, size, rows in frames.groups:
        assert rows.tolist() == sorted(rows.tolist())
        assert len(rows)
        for row in rows.tolist():
            assert row not in found
            found[row] = (schema_id, size)
    return found


def find(
    payloads: Sequence[bytes | None],
    headers: Sequence[Sequence[tuple[str, bytes | None]] | None] | None = None,
) -> tuple[dict[int, tuple[SchemaId, int]], list[int]]:
    rows = None
    if headers is not None:
        rows = pa.array(
            [
                None if each is None else [{"key": key, "value": value} for key, value in each]
                for each in headers
            ],
            HEADERS_TYPE,
        )
    frames = confluent_frames(pa.array(payloads, pa.binary()), rows, HEADER)
    return by_row(frames), frames.unframed.tolist()


MAX_ID = 2**31 - 1
IDS = st.one_of(st.sampled_from([0, 1, 7, MAX_ID]), st.integers(0, MAX_ID), st.uuids())


@given(st.lists(st.one_of(st.none(), st.tuples(IDS, st.binary(max_size=3)), st.binary(max_size=4))))
def test_each_payload_has_the_id_that_it_begins_with(
    rows: list[tuple[SchemaId, bytes] | bytes | None],
) -> None:
    payloads = [framed(*row) if isinstance(row, tuple) else row for row in rows]
    found, unframed = find(payloads)
    assert found == {
        number: (row[0], 17 if isinstance(row[0], uuid.UUID) else 5)
        for number, row in enumerate(rows)
        if isinstance(row, tuple)
    }
    assert unframed == [number for number, row in enumerate(rows) if isinstance(row, bytes)]


def test_a_slice_of_an_array() -> None:
    payloads = pa.array([framed(1), framed(2), None, framed(3)], pa.binary()).slice(1)
    assert by_row(confluent_frames(payloads, None, HEADER)) == {0: (2, 5), 2: (3, 5)}


@pytest.mark.parametrize("payload", [b"", b"\x00", framed(7)[:4], framed(GUID)[:16], b"\x02" * 20])
def test_a_payload_with_another_beginning_is_unframed(payload: bytes) -> None:
    assert find([framed(1), payload]) == ({0: (1, 5)}, [1])


@pytest.mark.parametrize("number", [MAX_ID + 1, 2**32 - 1])
def test_ids_are_java_ints(number: int) -> None:
    payload = framed(number, b"\x02")
    assert find([framed(1), payload, framed(MAX_ID)]) == ({0: (1, 5), 2: (MAX_ID, 5)}, [1])
    assert find([framed(1), framed(2)], [[(HEADER, payload)], None]) == ({1: (2, 5)}, [0])
    reason = confluent_frames(pa.array([payload]), None, HEADER).why_unframed(payload)
    assert reason == (
        f"it has no schema id: the bytes 1 to 4 are {number}, but ids are at most "
        "2147483647; was it written without a schema registry?"
    )


def test_a_header_counts_before_the_payload() -> None:
    payloads: list[bytes | None] = [framed(1), framed(1), framed(1), None]
    headers = [[(HEADER, framed(GUID))], [(HEADER, framed(9))], [("other", framed(8))]]
    found, unframed = find(payloads, [*headers, [(HEADER, framed(GUID))]])
    assert found == {0: (GUID, 0), 1: (9, 0), 2: (1, 5)}
    assert unframed == []


def test_the_last_header_of_a_record_counts() -> None:
    found, _ = find([b"a"], [[(HEADER, framed(8)), ("x", b""), (HEADER, framed(9))]])
    assert found == {0: (9, 0)}


@pytest.mark.parametrize("value", [None, b"", b"\x00", framed(7)[:4], b"\x02" + GUID.bytes])
def test_a_header_with_another_value_names_no_schema(value: bytes | None) -> None:
    assert find([framed(1), framed(2)], [[(HEADER, value)], None]) == ({1: (2, 5)}, [0])


def test_a_header_may_have_more_after_the_id() -> None:
    headers = [[(HEADER, framed(9, b"\x00"))], [(HEADER, framed(GUID, b"\x02"))]]
    found, _ = find([b"a", b"b"], headers)
    assert found == {0: (InHeader(9, b"\x00"), 0), 1: (InHeader(GUID, b"\x02"), 0)}
    assert str(InHeader(9, b"\x00")) == "9"


def test_headers_of_a_slice() -> None:
    rows: list[list[dict[str, object]] | None] = [
        [{"key": HEADER, "value": framed(number)}] for number in range(4)
    ]
    headers = pa.array([*rows, None], HEADERS_TYPE).slice(1, 2)
    frames = confluent_frames(pa.array([b"a", b"b"], pa.binary()), headers, HEADER)
    assert by_row(frames) == {0: (1, 0), 1: (2, 0)}


def test_without_frames_all_payloads_have_one_schema() -> None:
    frames = FRAMES[Framing.NONE](pa.array([b"a", None, b""], pa.binary()), None, HEADER)
    assert by_row(frames) == {0: (None, 0), 2: (None, 0)}
    assert not len(frames.unframed)


def test_no_payloads() -> None:
    assert find([]) == ({}, [])
    assert find([None], [None]) == ({}, [])
