"""Valid bytes for each target, from the encoders, as the start of the corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kafka_formats.schema_ids.confluent import id_frame
from kafka_protocol.records.batch import BatchContents, Producer, build_batch
from kafka_protocol.records.compression import CompressionCodec, compress
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.records.record import Header, Record, encode_records
from tests.fakes.frames import encode_response
from tests.formats.debezium.events import connect_envelope, dumped, event, wrapped
from tests.formats.protobuf.all_types import All
from tests.formats.schema_ids.test_glue import HEADER, OF_AWS, framed
from tests.fuzz.targets import RESPONSES, SENT, TARGETS
from tests.protocol.strategies import encode, full

NOW = 1_700_000_000_000
RECORDS = [
    Record(0, NOW, b"key", b"value"),
    Record(1, NOW + 1, None, b"", (Header(b"h", b"1"), Header(b"", None))),
    Record(3, NOW - 5, b"", None),
]
OLD = [Message(number, NOW, b"key", b"value %d" % number) for number in range(3)]


def seeds() -> Iterator[bytes]:
    """Complete inputs: the byte that chooses the target, and its data."""
    for number, name in enumerate(TARGETS):
        for data in _SEEDS[name]():
            yield bytes([number]) + data


def _messages() -> Iterator[bytes]:
    for number, (cls, version) in enumerate(RESPONSES):
        yield number.to_bytes(2, "big") + encode(full(cls, version), version)


def _connections() -> Iterator[bytes]:
    responses = [
        encode_response(full(request.response, version), version, number)
        for number, (request, version) in enumerate(SENT)
    ]
    for end in range(1, len(responses) + 1):
        yield b"\xff" + b"".join(responses[:end])
    yield b"\x00" + responses[0]


def _batch(codec: CompressionCodec, records: list[Record], producer: Producer) -> bytes:
    return build_batch(
        BatchContents(
            payload=compress(codec, encode_records(records, 0, NOW)),
            codec=codec,
            records_count=len(records),
            base_timestamp=NOW,
            max_timestamp=NOW + 1,
            producer=producer,
        )
    )


def _record_batches() -> Iterator[bytes]:
    dense = RECORDS[:2]
    for codec in CompressionCodec:
        yield _batch(codec, dense, Producer())
    transactional = Producer(1, 0, 0, is_transactional=True)
    data = _batch(CompressionCodec.NONE, dense, transactional)
    marker = bytearray(
        _batch(CompressionCodec.NONE, [Record(0, NOW, b"\0\0\0\0", bytes(6))], transactional)
    )
    marker[22] |= 0x20  # a control batch
    yield data + bytes(marker) + data
    yield from _message_sets()


def _message_sets() -> Iterator[bytes]:
    for magic in (0, 1):
        plain = encode_messages(OLD, magic)
        yield plain
        for codec in (CompressionCodec.GZIP, CompressionCodec.SNAPPY, CompressionCodec.LZ4):
            wrapper = Message(2, NOW, None, bytes(compress(codec, plain)))
            yield encode_messages([wrapper], magic, int(codec))


def _compressed() -> Iterator[bytes]:
    for codec in CompressionCodec:
        for data in (b"", b"some text, some text, some text", bytes(100_000)):
            yield bytes([codec]) + bytes(compress(codec, data))


def _jaas() -> Iterator[bytes]:
    yield b"org.apache.kafka.common.security.plain.PlainLoginModule required"
    yield b'a.B required username="u" password="p\\"\\101\\n" /* c */ x=\'y\'; // end\n'


def _challenges() -> Iterator[bytes]:
    # The example of RFC 7677.
    yield (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096\n"
        b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    )
    yield b"e=invalid-proof"
    yield b'{"status":"invalid_token","scope":"s"}'


def _avro_payloads() -> Iterator[bytes]:
    a = (b"\x00", b"\x02\x54", b"\x04\x06abc")
    rest = b"\x02\x02k" + bytes(8) + b"\x00\x03\x08\x00\x02\x02x\x00" + b"\x02\x04\x01\x00\x54\x01"
    yield b"\n".join(each + rest for each in a)


def _avro_schemas() -> Iterator[bytes]:
    old = [{"name": "a", "type": "int"}]
    new = [*old, {"name": "b", "type": ["null", "string"], "default": None, "aliases": ["c"]}]
    for fields in (old, new):
        schemas = [{"type": "record", "name": "R", "fields": each} for each in (old, fields)]
        yield "\n".join(map(json.dumps, schemas)).encode()
    enum = {"type": "enum", "name": "E", "symbols": ["A"], "default": "A"}
    yield json.dumps({"type": "map", "values": {"type": "array", "items": enum}}).encode()


def _protobuf_payloads() -> Iterator[bytes]:
    parts = [All.Part(x=5, y="a"), All.Part(zs=[1, 300])]
    some = All(plain_int32=-1, list_sint64=[1, -2], loose_fixed32=[3], parts=parts, e=7)
    more = All(optional_string="", plain_double=-0.0, two=parts[1], map_bytes={"k": b"v"})
    more.places[-3].CopyFrom(parts[0])
    yield b"\n".join(each.SerializeToString() for each in (some, more, All()))


def _frames() -> Iterator[bytes]:
    confluent = [id_frame(7) + b"\x02", id_frame(8), b"\x01" + bytes(range(20)), b"\x00", b""]
    glue = [*OF_AWS.values(), framed(b"more", packed=True), HEADER, HEADER + b"x"]
    schema = {"type": "struct", "fields": [{"type": "int8", "field": "a"}]}
    connect = [wrapped(schema, {"a": 1}), wrapped(schema, None), wrapped(None, 1), b'{"schema":']
    apicurio = [bytes(8) + b"\7\2", bytes(9), b"\0" + b"\xff" * 8, b"\0"]
    for number, payloads in enumerate((confluent, glue, connect, apicurio)):
        yield bytes([number]) + b"".join(bytes([len(each)]) + each for each in payloads)


def _changes() -> Iterator[bytes]:
    row = {"id": 1, "name": "x", "price": "fQ==", "day": 1, "at": "2026-01-02T03:04:05Z"}
    events = [event("c", after=row), event("d", row), event("d"), event("t"), {"ts_ms": 1}]
    schema = connect_envelope({"id": "int32", "name": "string"})
    yield b"\n".join(map(dumped, events))
    yield wrapped(schema, event("u", row, row))


_SEEDS = {
    "message": _messages,
    "connection": _connections,
    "record_batches": _record_batches,
    "compressed": _compressed,
    "jaas": _jaas,
    "challenges": _challenges,
    "avro_payloads": _avro_payloads,
    "avro_schema": _avro_schemas,
    "protobuf_payloads": _protobuf_payloads,
    "frames": _frames,
    "changes": _changes,
}
