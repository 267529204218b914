"""Apicurio's frames: ids of 8 bytes before payloads and in headers, and what has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.options.settings import Framing
from kafka_formats.schema_ids.frames import Frames
from kafka_formats.schema_ids.framings import frames_of
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE

Headers = Mapping[str, bytes | None]
MAX_ID = 2**63 - 1
IDS = st.one_of(st.sampled_from([0, 1, 7, 2**31, 2**32, MAX_ID]), st.integers(0, MAX_ID))


def id_of(number: int) -> bytes:
    return number.to_bytes(8, "big")


def framed(number: int, payload: bytes = b"") -> bytes:
    return b"\0" + id_of(number) + payload


def frames(
    payloads: Sequence[bytes | None],
    headers: Sequence[Headers | None] | None = None,
    framing: Framing = Framing.APICURIO,
    skipped: int = 0,
) -> Frames:
    rows = [
        None if each is None else [{"key": key, "value": value} for key, value in each.items()]
        for each in headers or [None] * len(payloads)
    ]
    given_headers = pa.array(rows, HEADERS_TYPE).slice(skipped)
    return frames_of(
        framing, pa.array(payloads, pa.binary()).slice(skipped), given_headers, "value"
    )


def by_row(found: Frames) -> dict[int, tuple[object, int]]:
    named: dict[int, tuple[object, int]] = {}
    for schema_id, size, rows in found.groups:
        for row in rows.tolist():
            assert row not in named
            named[row] = (schema_id, size)
    return named


ROW = st.one_of(st.none(), st.binary(max_size=12), st.builds(framed, IDS, st.binary(max_size=3)))
HEADERS_OF_ROW = st.none() | st.dictionaries(
    st.sampled_from(
        ["apicurio.value.globalId", "apicurio.value.contentId", "apicurio.key.globalId", "other"]
    ),
    st.one_of(st.none(), IDS.map(id_of), st.binary(max_size=9)),
)


def expected_id(payload: bytes, headers: Headers, kind: str) -> tuple[int, int] | None:
    """The id and the size of the frame of one record, read as simply as can be."""
    names = [f"apicurio.value.{each}" for each in ("globalId", "contentId")]
    if any(name in headers for name in names):
        value = headers.get(f"apicurio.value.{kind}") or b""
        return (int.from_bytes(value, "big"), 0) if len(value) == 8 and value[0] < 128 else None
    if len(payload) < 9 or payload[0] or payload[1] >= 128:
        return None
    return int.from_bytes(payload[1:9], "big"), 9


@given(st.lists(st.tuples(ROW, HEADERS_OF_ROW), max_size=8), st.integers(0, 2), st.booleans())
def test_each_record_has_the_id_of_its_header_or_its_payload(
    rows: list[tuple[bytes | None, Headers | None]], skipped: int, is_content: bool
) -> None:
    framing = Framing.APICURIO_CONTENT_ID if is_content else Framing.APICURIO
    kind = "contentId" if is_content else "globalId"
    payloads, headers = [each for each, _ in rows], [each for _, each in rows]
    found = frames(payloads, headers, framing, skipped)
    expected = {
        number: expected_id(payload, given_headers or {}, kind)
        for number, (payload, given_headers) in enumerate(rows[skipped:])
        if payload is not None
    }
    assert by_row(found) == {row: each for row, each in expected.items() if each is not None}
    assert found.unframed.tolist() == [row for row, each in expected.items() if each is None]
    for row in found.unframed.tolist():
        assert kind in found.why_unframed(payloads[skipped + row] or b"")


@pytest.mark.parametrize("number", [MAX_ID + 1, 2**64 - 1])
def test_ids_are_java_longs(number: int) -> None:
    found = frames([framed(1), framed(number), framed(MAX_ID)])
    assert by_row(found) == {0: (1, 9), 2: (MAX_ID, 9)}
    assert found.unframed.tolist() == [1]


def test_a_header_of_another_kind_or_encoding_breaks_a_record() -> None:
    content, encoding = "apicurio.value.contentId", "apicurio.value.encoding"
    own = {"apicurio.value.globalId": id_of(7)}
    found = frames(
        [framed(1)] * 5,
        [
            {content: id_of(7)},
            {encoding: b"JSON"},
            {**own, encoding: b"JSON"},
            {**own, encoding: b"BINARY"},
            {**own, content: id_of(8)},
        ],
    )
    assert by_row(found) == {3: (7, 0), 4: (7, 0)}
    assert found.unframed.tolist() == [0, 1, 2]
    assert found.why_unframed(framed(1)) == (
        "its headers apicurio.value.* name no globalId, or another encoding than BINARY"
    )


def test_keys_have_headers_of_their_own() -> None:
    headers = pa.array([[{"key": "apicurio.key.globalId", "value": id_of(9)}]], HEADERS_TYPE)
    payloads = pa.array([b"x"], pa.binary())
    assert by_row(frames_of(Framing.APICURIO, payloads, headers, "key")) == {0: (9, 0)}
    assert by_row(frames_of(Framing.APICURIO, payloads, headers, "value")) == {}
