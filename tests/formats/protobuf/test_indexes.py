"""Message indexes are those of Confluent's serializers."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from confluent_kafka.schema_registry.serde import SchemaId
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import PayloadError
from kafka_formats.protobuf.indexes import read_index, write_index


def confluents(index: Sequence[int]) -> bytes:
    """After the magic byte and the id."""
    return SchemaId("PROTOBUF", 1, None, list(index)).id_to_bytes()[5:]


@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=5), st.binary(max_size=3))
def test_written_and_read_as_by_confluents(index: list[int], rest: bytes) -> None:
    written = write_index(index)
    assert written == confluents(index)
    assert read_index(b"frame" + written + rest, 5) == (tuple(index), 5 + len(written))


def test_the_first_message_is_one_byte() -> None:
    assert write_index((0,)) == b"\x00"
    assert read_index(b"\x02\x00", 0) == ((0,), 2)


@given(st.binary(max_size=12))
def test_any_bytes_have_an_index_or_none(payload: bytes) -> None:
    try:
        index, end = read_index(payload, 0)
    except PayloadError:
        return
    assert index
    assert 0 < end <= len(payload)


@pytest.mark.parametrize("payload", [b"", b"\x80", b"\x04\x00", b"\x01", b"\xff" * 9, b"\xd0\x0f"])
def test_what_is_no_index_is_refused(payload: bytes) -> None:
    with pytest.raises(PayloadError, match="message index"):
        read_index(payload, 0)


def test_confluents_reads_ours() -> None:
    found = SchemaId("PROTOBUF")
    rest = found.from_bytes(io.BytesIO(b"\x00\x00\x00\x00\x01" + write_index((3, 1)) + b"rest"))
    assert found.message_indexes == [3, 1]
    assert rest.read() == b"rest"
