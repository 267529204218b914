"""AWS Glue's frames: those of AWS's own serializers, and damaged and hostile ones."""

from __future__ import annotations

import tracemalloc
import uuid
import zlib
from itertools import pairwise
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import PayloadError
from kafka_formats.options.settings import Framing
from kafka_formats.schema_ids import glue
from kafka_formats.schema_ids.frames import Frames, GlueVersion
from kafka_formats.schema_ids.framings import FRAMES, splits_of
from kafka_formats.schema_ids.glue import (
    HEADER_BYTES,
    glue_frames,
    glue_splits,
    unpack,
    why_no_glue_frame,
)
from kafka_protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES

VERSION_ID = uuid.UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")
# Made by `SerializationDataEncoder` of software.amazon.glue:schema-registry-serde:1.1.20.
TEXT = b'{"id": 7, "text": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}'
OF_AWS = {
    "none": bytes.fromhex("0300b7b4a7f09c964e4aa687fb5de9ef0c63") + TEXT,
    "zlib": bytes.fromhex(
        "0305b7b4a7f09c964e4aa687fb5de9ef0c63789cab56ca4c51b25230d751502a49ad280132951249034ab500"
        "f538175d"
    ),
}
HEADER = OF_AWS["zlib"][:HEADER_BYTES]


def framed(payload: bytes, version_id: uuid.UUID = VERSION_ID, *, packed: bool = False) -> bytes:
    data = zlib.compress(payload) if packed else payload
    return bytes([3, 5 if packed else 0]) + version_id.bytes + data


def by_row(payloads: pa.BinaryArray, frames: Frames) -> dict[int, tuple[str, bytes]]:
    """Row -> the id, and the payload without its frame."""
    listed = (payloads if frames.unpacked is None else frames.unpacked).to_pylist()
    assert len(listed) == len(payloads)
    found = {}
    for schema_id, size, rows in frames.groups:
        assert isinstance(schema_id, GlueVersion)
        for row in rows.tolist():
            assert row not in found
            found[row] = (str(schema_id), listed[row][size:])
    return found


@pytest.mark.parametrize("payload", OF_AWS.values(), ids=OF_AWS)
def test_what_aws_serializer_wrote(payload: bytes) -> None:
    payloads = pa.array([payload], pa.binary())
    frames = FRAMES[Framing.GLUE](payloads, None, "")
    assert by_row(payloads, frames) == {0: (str(VERSION_ID), TEXT)}
    assert not len(frames.unframed)


ROW = st.one_of(
    st.none(),
    st.binary(max_size=20),
    st.builds(framed, st.binary(max_size=30), st.sampled_from([VERSION_ID, uuid.UUID(int=0)])),
    st.builds(framed, st.binary(max_size=30), st.uuids(), packed=st.just(True)),
)


@given(st.lists(ROW), st.integers(0, 3))
def test_each_payload_has_the_version_that_it_begins_with(
    rows: list[bytes | None], skipped: int
) -> None:
    payloads = pa.array(rows, pa.binary()).slice(skipped)
    frames = glue_frames(payloads, None, "")
    found = by_row(payloads, frames)
    unframed = frames.unframed.tolist()
    for number, row in enumerate(payloads.to_pylist()):
        if row is None:
            assert number not in found
            assert number not in unframed
        elif number in found:
            version_id, payload = found[number]
            assert row[:1] == b"\x03"
            assert version_id == str(uuid.UUID(bytes=row[2:18]))
            assert payload == (zlib.decompress(row[18:]) if row[1] else row[18:])
        else:
            assert number in unframed
            assert frames.why_unframed(row)


@given(st.binary(max_size=200), st.data())
def test_a_cut_or_changed_payload_is_broken_or_has_other_bytes(
    payload: bytes, data: st.DataObject
) -> None:
    whole = framed(payload, packed=True)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    place = data.draw(st.integers(HEADER_BYTES, len(whole) - 1))
    changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    payloads = pa.array([cut, changed, whole], pa.binary())
    frames = glue_frames(payloads, None, "")
    assert 0 in frames.unframed
    # Some bits of zlib's header mean nothing to a reader.
    assert 1 in frames.unframed or by_row(payloads, frames)[1][1] == payload
    assert by_row(payloads, frames)[2] == (str(VERSION_ID), payload)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "it has 0 bytes, and the header of AWS Glue alone has 18"),
        (HEADER[:17], "it has 17 bytes, and the header of AWS Glue alone has 18"),
        (b"\x00" + HEADER[1:], "it begins with the byte 0, and the header of AWS Glue with 3"),
        (b"\x03\x07" + HEADER[2:], "its header of AWS Glue has the unknown compression 7"),
        (HEADER, f"(schema version {VERSION_ID}) its zlib data is cut short"),
        (HEADER + b"nonsense", "its zlib data is damaged: Error -3"),
        (OF_AWS["zlib"][:-1], "its zlib data is cut short"),
        (OF_AWS["zlib"] + b"xy", "2 bytes follow its zlib data"),
    ],
)
def test_why_a_payload_has_no_frame(payload: bytes, reason: str) -> None:
    frames = glue_frames(pa.array([OF_AWS["zlib"], payload], pa.binary()), None, "")
    assert frames.unframed.tolist() == [1]
    assert reason in frames.why_unframed(payload)


def test_a_header_alone_is_an_empty_payload() -> None:
    payloads = pa.array([framed(b"")], pa.binary())
    assert by_row(payloads, glue_frames(payloads, None, "")) == {0: (str(VERSION_ID), b"")}


@given(st.binary(max_size=50), st.integers(0, 60))
def test_no_more_is_unpacked_than_the_limit(data: bytes, limit: int) -> None:
    if len(data) <= limit:
        assert unpack(zlib.compress(data), limit) == data
    else:
        with pytest.raises(PayloadError, match=f"it unpacks to more than {limit} bytes"):
            unpack(zlib.compress(data), limit)


def test_a_bomb_is_a_broken_payload(monkeypatch: pytest.MonkeyPatch) -> None:
    assert glue.MAX_UNPACKED_BYTES == DEFAULT_MAX_DECOMPRESSED_BYTES
    # The real limit is 128 MiB: the memory and the time of a test.
    monkeypatch.setattr(glue, "MAX_UNPACKED_BYTES", 1_000_000)
    bomb = HEADER + zlib.compress(bytes(1_000_001), 9)
    assert len(bomb) < 1_100
    frames = glue_frames(pa.array([OF_AWS["zlib"], bomb], pa.binary()), None, "")
    assert frames.unframed.tolist() == [1]
    assert "it unpacks to more than 1000000 bytes" in why_no_glue_frame(bomb)


def test_a_small_limit_bounds_the_memory_of_a_bomb() -> None:
    bomb = zlib.compress(bytes(8 * 1024 * 1024), 9)
    tracemalloc.start()
    try:
        with pytest.raises(PayloadError, match="more than 1000 bytes"):
            unpack(bomb, 1000)
        assert tracemalloc.get_traced_memory()[1] < 1024 * 1024
    finally:
        tracemalloc.stop()


@given(st.lists(ROW, max_size=30), st.integers(1, 100_000))
def test_the_parts_of_payloads_unpack_to_a_limited_size(
    rows: list[bytes | None], limit: int
) -> None:
    with mock.patch.object(glue, "MAX_UNPACKED_BYTES", limit):
        cuts = [0, *glue_splits(pa.array(rows, pa.binary())), len(rows)]
    assert cuts == sorted(set(cuts)) or not rows
    for start, end in pairwise(cuts):
        frames = glue_frames(pa.array(rows[start:end], pa.binary()), None, "")
        if frames.unpacked is not None and end - start > 1:
            assert sum(len(each or b"") for each in frames.unpacked.to_pylist()) <= limit


def test_few_payloads_are_one_part() -> None:
    payloads = pa.array([OF_AWS["zlib"], None, b""] * 10, pa.binary())
    assert glue_splits(payloads) == []
    assert [*splits_of(Framing.CONFLUENT, payloads)] == []
    packed = pa.array([HEADER + bytes(1000)] * 300, pa.binary())
    parts = glue_splits(packed)
    assert np.diff([0, *parts, 300]).max() <= DEFAULT_MAX_DECOMPRESSED_BYTES // (1018 * 1032)
