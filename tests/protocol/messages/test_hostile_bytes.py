"""Invalid bytes: every class and version raises a `KafkaError`."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_protocol.errors import DecodeError, KafkaError
from kafka_protocol.messages.api_versions import ApiVersionsResponse
from kafka_protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafka_protocol.wire.codec import read_message
from kafka_protocol.wire.schema import MAX_ELEMENTS, Message, Response, describe
from tests.protocol.catalogue import MESSAGES, name_of, versions_of
from tests.protocol.strategies import damaged, encode, full, structs

pytestmark = pytest.mark.no_cover


@pytest.mark.parametrize("cls", MESSAGES, ids=name_of)
def test_message_truncated_at_every_byte(cls: type[Message]) -> None:
    for version in versions_of(cls):
        body = memoryview(encode(full(cls, version), version))
        for end in range(len(body)):
            with pytest.raises(DecodeError):
                read_message(cls, version, body[:end])


@pytest.mark.parametrize("cls", MESSAGES, ids=name_of)
@settings(max_examples=settings().max_examples // 4)
@given(data=st.data())
def test_fault_15_arbitrary_bytes_give_a_message_or_a_kafka_error(
    cls: type[Message], data: st.DataObject
) -> None:
    version = data.draw(st.integers(cls.versions.lowest, cls.versions.highest))
    honest = structs(cls, version).map(lambda message: encode(message, version))
    body = data.draw(st.binary(max_size=64) | damaged(honest))
    with suppress(KafkaError):
        read_message(cls, version, memoryview(body))


# Huge lengths, and lengths of just the bytes that follow: int32, int16 and varint.
_BOMBS = [
    b"\x7f\xff\xff\xff",
    b"\x00\x0f\xff\xff",
    b"\x00\x00\x10\x00",
    b"\x7f\xff",
    b"\x0f\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x07",
    b"\x80\x20",
]
_FILLERS = [b"", b"\x00" * 4096, b"\x01" * 4096, b"\x7f" * 4096, b"\xff" * 4096]
# The memory of an error with its causes, and of late imports.
_OVERHEAD_BYTES = 32 * 1024


@pytest.mark.parametrize("cls", MESSAGES, ids=name_of)
@settings(max_examples=settings().max_examples // 20)
@given(data=st.data())
def test_fault_15_huge_lengths_allocate_no_more_than_the_frame(
    cls: type[Message], data: st.DataObject
) -> None:
    for version in versions_of(cls):
        honest = encode(full(cls, version), version)
        start = data.draw(st.integers(0, len(honest)))
        bomb, filler = data.draw(st.sampled_from(_BOMBS)), data.draw(st.sampled_from(_FILLERS))
        body = memoryview(honest[:start] + bomb + filler + honest[start:])
        read_or_refuse(cls, version, body)  # builds the codec
        tracemalloc.start()
        try:
            read_or_refuse(cls, version, body)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < _OVERHEAD_BYTES + 40 * len(body)


def read_or_refuse(cls: type[Message], version: int, body: memoryview) -> None:
    with suppress(DecodeError):
        read_message(cls, version, body)


@pytest.mark.parametrize("cls", [ApiVersionsResponse, SaslHandshakeResponse])
def test_fault_15_arrays_before_authentication_are_limited(cls: type[Response]) -> None:
    arrays = [f for f in cls.__fields__ if describe(f.wire_type).element is not None]
    assert [f.at_most for f in arrays] == [MAX_ELEMENTS] * len(arrays)


def test_fault_15_endless_list_of_apis() -> None:
    many = ApiVersionsResponse(api_keys=[ApiVersionsResponse.ApiVersion()] * (MAX_ELEMENTS + 1))
    with pytest.raises(DecodeError, match="array of 100001 elements, of 100000 at the most"):
        read_message(ApiVersionsResponse, 0, memoryview(encode(many, 0)))
