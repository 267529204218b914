"""Message indexes are those of Confluent's serializers."""

from __future__ import annotations

import io
import uuid
from collections.abc import Sequence

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry.serde import SchemaId
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import PayloadError
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.compiler import compiled
from kafka_formats.protobuf.format import ProtobufFormat
from kafka_formats.protobuf.indexes import GLUE, read_index, write_index
from kafka_formats.protobuf.names import messages_in
from kafka_formats.schema_ids.frames import GlueVersion


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


# Each message of this schema with id = 5, as `ProtobufWireFormatEncoder` of
# software.amazon.glue:schema-registry-serde:1.1.20 writes it.
SHOP = """
syntax = "proto3";
package shop;
message Order {
  int64 id = 1;
  map<string, int32> tags = 2;
  message Note { int64 id = 1; message Deep { int64 id = 1; } }
  message A { int64 id = 1; }
}
message Customer { int64 id = 1; }
message order { int64 id = 1; }
message Ax { int64 id = 1; }
message A { int64 id = 1; message Z { int64 id = 1; } }
"""
OF_AWS = {
    "shop.Order": "040805",
    "shop.Order.Note": "060805",
    "shop.Order.Note.Deep": "070805",
    "shop.Order.A": "050805",
    "shop.Customer": "030805",
    "shop.order": "090805",
    "shop.Ax": "020805",
    "shop.A": "000805",
    "shop.A.Z": "010805",
}


@pytest.mark.no_cover
@pytest.mark.parametrize("count", [1, 100], ids=["one by one", "at once"])
@pytest.mark.parametrize("name", OF_AWS)
def test_messages_of_awss_serializer(name: str, count: int) -> None:
    schema = SchemaText(SHOP, message=name)
    wanted = pa.struct({"id": pa.int64()})
    decoders = ProtobufFormat().decoder_factory(schema, wanted, lambda _: SchemaText(SHOP))
    decoder = decoders.for_schema(GlueVersion(uuid.UUID(int=1)))
    payloads = [b"frame" + bytes.fromhex(each) for each in OF_AWS.values()] * count
    found = decoder.decode(pa.array(payloads, pa.binary()), 5)
    assert found.is_broken.tolist() == [each != name for each in OF_AWS] * count
    place = [*OF_AWS].index(name)
    assert found.values[place].as_py() == {"id": 5}
    other = next(each for each in OF_AWS if each != name)
    assert str(decoder.explain(bytes.fromhex(OF_AWS[other]))) == f"it is a {other}, not a {name}"


@given(st.integers(0, 2**31 - 1), st.binary(max_size=3))
def test_glues_index_is_one_number(number: int, rest: bytes) -> None:
    written = GLUE.write((number,))
    assert GLUE.read(b"frame" + written + rest, 5) == ((number,), 5 + len(written))


def test_glues_indexes_are_in_the_order_of_names() -> None:
    by_index = GLUE.by_index(messages_in(compiled(SchemaText(SHOP)).own))
    for name, written in OF_AWS.items():
        index, _ = GLUE.read(bytes.fromhex(written), 0)
        assert by_index[index] == name
