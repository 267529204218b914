"""Azure's frames: ids in the content type of records, and before the payloads of previews."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.options.settings import Framing
from kafka_formats.schema_ids.frames import Frames
from kafka_formats.schema_ids.framings import frames_of
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE

ID = uuid.UUID("1ab2c3d4-e5f6-0718-293a-4b5c6d7e8f90")


def content_type(schema_id: uuid.UUID) -> bytes:
    return b"avro/binary+" + schema_id.hex.encode()


def frames(rows: Sequence[tuple[bytes | None, bytes | None]], skipped: int = 0) -> Frames:
    """The frames of payloads with content types; None for a record without one."""
    headers = [
        [{"key": "other", "value": b"x"}]
        + ([] if value is None else [{"key": "content-type", "value": value}])
        for _, value in rows
    ]
    payloads = pa.array([payload for payload, _ in rows], pa.binary()).slice(skipped)
    in_headers = pa.array(headers, HEADERS_TYPE).slice(skipped)
    return frames_of(Framing.AZURE, payloads, in_headers, "value")


def by_row(found: Frames) -> dict[int, tuple[object, int]]:
    return {
        row: (schema_id, size) for schema_id, size, rows in found.groups for row in rows.tolist()
    }


def preview(schema_id: uuid.UUID, payload: bytes = b"") -> bytes:
    return bytes(4) + schema_id.hex.encode() + payload


PAYLOAD = st.one_of(st.none(), st.binary(max_size=40), st.builds(preview, st.uuids()))
VALUE = st.one_of(st.none(), st.binary(max_size=4), st.builds(content_type, st.uuids()))


@given(st.lists(st.tuples(PAYLOAD, VALUE), max_size=8), st.integers(0, 2))
def test_each_record_has_the_id_of_its_header_or_its_payload(
    rows: list[tuple[bytes | None, bytes | None]], skipped: int
) -> None:
    found = frames(rows, skipped)
    expected, unframed = {}, []
    for number, (payload, value) in enumerate(rows[skipped:]):
        if payload is None:
            continue
        text, size = (value[12:], 0) if value is not None else (payload[4:36], 36)
        begin = value[:12] == b"avro/binary+" if value is not None else payload[:4] == bytes(4)
        if begin and len(text) == 32 and {*text.lower()} <= {*b"0123456789abcdef"}:
            expected[number] = (uuid.UUID(text.decode()), size)
        else:
            unframed.append(number)
            assert found.why_unframed(payload)
    assert by_row(found) == expected
    assert found.unframed.tolist() == unframed


def test_what_is_no_id() -> None:
    own = content_type(ID)
    wrong = [own[:-1], own + b"0", own + b"\n", b"application/json", b"", own[:-1] + b"g", b"../x"]
    rows = [(b"x", each) for each in wrong]
    found = frames([*rows, (b"x", own.replace(b"b2", b"B2")), (preview(ID), own)])
    assert found.unframed.tolist() == [*range(len(wrong))]
    assert by_row(found) == {len(wrong): (ID, 0), len(wrong) + 1: (ID, 0)}


def test_reasons() -> None:
    found = frames([(preview(ID), b"text/plain"), (b"x", None)])
    assert found.why_unframed(preview(ID)) == (
        "its header content-type is not avro/binary+ and 32 hexadecimal digits"
    )
    assert found.why_unframed(b"x").endswith("nor is an id of Azure's in the header content-type")
