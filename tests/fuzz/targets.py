"""The functions to fuzz: for any bytes, each returns or raises a `KafkaError`.

Any other exception is a finding, and so is too much memory, which the fuzzer measures. Two codecs
must read the same bytes in the same way, and so must two decoders of Avro, and two of Protobuf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import parse_schema
from kafka_formats.errors import SchemaError
from kafka_formats.options.settings import Framing
from kafka_formats.schema_ids.framings import FRAMES
from kafka_protocol.auth.jaas import credentials_of, parse_jaas
from kafka_protocol.auth.oauthbearer import OAuthBearer
from kafka_protocol.auth.scram import Scram
from kafka_protocol.auth.secret import Secret
from kafka_protocol.columnar.reading.decode import decode_batches
from kafka_protocol.errors import CorruptRecordError, KafkaError
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.records.batch import RecordBatch, check_crc, read_batches
from kafka_protocol.records.compression import CompressionCodec, decompress
from kafka_protocol.records.record import Record, decode_records
from kafka_protocol.records.transactions import AbortedTransaction, AbortedTransactions
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_protocol.versions.connection import Connection
from kafka_protocol.wire.codec import read_message
from kafka_protocol.wire.schema import Message, Request, Response
from tests.formats.avro.checks import check, plan_of
from tests.formats.debezium.events import rows_of, stages_with
from tests.formats.protobuf.test_decoder import check_payloads
from tests.protocol.catalogue import EVERY_VERSION

EVERYTHING = OffsetRange(TopicPartition("t", 0), 0, 2**63 - 1)
MAX_UNPACKED_BYTES = 1024 * 1024


RESPONSES = [(cls, version) for cls, version in EVERY_VERSION if issubclass(cls, Response)]


def message(data: bytes) -> Message:
    """Two bytes choose class and version, the rest is the body."""
    cls, version = RESPONSES[int.from_bytes(data[:2], "big") % len(RESPONSES)]
    return read_message(cls, version, memoryview(data)[2:])


SENT: list[tuple[type[Request], int]] = [
    (ApiVersionsRequest, 4),
    (MetadataRequest, 13),
    (FetchRequest, 4),
    (ProduceRequest, 13),
]


def connection(data: bytes) -> None:
    """The responses to four requests; the first byte is the size of the received pieces."""
    client = Connection("fuzz", max_response_bytes=MAX_UNPACKED_BYTES)
    for request, version in SENT:
        client.send(request(), version=version)
    size = 1 + data[0] if data else 1
    for start in range(1, len(data), size):
        client.receive_data(data[start : start + size])
        while client.next_response() is not None:
            pass
        assert client.missing_bytes > 0


def record_batches(data: bytes) -> None:
    """The steps of a Fetch: split, compare checksums, skip aborted batches, and decode twice."""
    batches: list[RecordBatch] = []
    hidden = AbortedTransactions([AbortedTransaction(1, 0), AbortedTransaction(2, 2**40)])
    try:
        for batch in read_batches(memoryview(data)):
            assert batch.header.next_offset >= 0
            with suppress(CorruptRecordError):
                check_crc(batch)  # a fuzzer cannot find the right one
            if not hidden.advance(batch):
                batches.append(batch)
    finally:
        for batch in batches:
            _decode_twice(batch)
        with suppress(KafkaError):
            list(decode_batches([(EVERYTHING, batches)], max_decompressed_bytes=MAX_UNPACKED_BYTES))


def _decode_twice(batch: RecordBatch) -> None:
    """The columns must equal the records of the reference codec."""
    with suppress(KafkaError):
        expected = [_row(record) for record in decode_records(batch, MAX_UNPACKED_BYTES)]
        found = decode_batches([(EVERYTHING, [batch])], max_decompressed_bytes=MAX_UNPACKED_BYTES)
        assert [row for table in found for row in _rows(table)] == expected


def _row(record: Record) -> tuple[Any, ...]:
    headers = [(key.decode(errors="replace"), value) for key, value in record.headers]
    return record.offset, record.timestamp * 1000, record.key, record.value, headers


def _rows(table: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    times = table["timestamp"].cast(pa.int64()).to_pylist()  # some are out of datetime's range
    for row, time in zip(table.drop_columns("timestamp").to_pylist(), times, strict=True):
        headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
        yield row["offset"], time, row["key"], row["value"], headers


def compressed(data: bytes) -> None:
    """The first byte is the codec."""
    codec = data[0] % (len(CompressionCodec) + 1) if data else 0
    unpacked = decompress(codec, memoryview(data)[1:], MAX_UNPACKED_BYTES)
    assert len(unpacked) <= MAX_UNPACKED_BYTES


def jaas(data: bytes) -> None:
    """The text of the option, for each mechanism."""
    entry = parse_jaas(data.decode(errors="surrogateescape"))
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"):
        with suppress(KafkaError):
            credentials_of(entry, mechanism)


def challenges(data: bytes) -> None:
    """A server's challenges, one per line."""
    scram = Scram("sha256", "user", Secret("pencil"), nonce="rOprNGfwEbeRWgbNEkqO")
    for conversation in (scram, OAuthBearer(Secret("token"))):
        conversation.first()
        with suppress(KafkaError):
            for challenge in data.split(b"\n"):
                conversation.respond(challenge)


AVRO = plan_of(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "a", "type": ["null", "long", "string"]},
            {"name": "b", "type": {"type": "map", "values": "double"}},
            {"name": "c", "type": {"type": "array", "items": ["null", "bytes"]}},
            {"name": "d", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
            {"name": "e", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20}},
            {"name": "f", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "g", "type": "boolean"},
        ],
    }
)


def avro_payloads(data: bytes) -> None:
    """Some payloads, one per line: together and one by one they are read alike."""
    check(AVRO, data.split(b"\n"))


def avro_schema(data: bytes) -> None:
    """A schema, or two: how the first is read as the second."""
    with suppress(SchemaError):
        first, _, second = data.decode(errors="replace").partition("\n")
        writer = parse_schema(first)
        resolve(writer, parse_schema(second) if second else writer)


def protobuf_payloads(data: bytes) -> None:
    """Some payloads, one per line: all at once they are read as one by one."""
    check_payloads(data.split(b"\n"))


FRAMINGS = (Framing.CONFLUENT, Framing.GLUE, Framing.CONNECT, Framing.APICURIO)


def _pieces(data: bytes) -> list[bytes]:
    """The first byte is the size of the first piece, and so on."""
    found = []
    while data:
        size = 1 + data[0]
        found.append(data[1:size])
        data = data[size:]
    return found


def _framed(framing: Framing, payloads: list[bytes]) -> dict[int, tuple[str, bytes]]:
    """Row -> the schema id, and the payload after its frame."""
    rows = pa.array(payloads, pa.binary())
    frames = FRAMES[framing](rows, None, "")
    unpacked = (rows if frames.unpacked is None else frames.unpacked).to_pylist()
    assert all(frames.why_unframed(payloads[row]) for row in frames.unframed.tolist())
    framed = [(row, group) for group in frames.groups for row in group.rows.tolist()]
    found = {
        row: (str(group.schema_id), unpacked[row][group.frame_bytes :]) for row, group in framed
    }
    # A document of Connect's with null is a null payload.
    present = [row for row, payload in enumerate(unpacked) if payload is not None]
    assert sorted([*found, *frames.unframed.tolist()]) == present
    assert len(found) == len(framed)
    return found


def frames(data: bytes) -> None:
    """The first byte is the framing: payloads have the same frames together and one by one."""
    framing = FRAMINGS[data[0] % len(FRAMINGS)] if data else FRAMINGS[0]
    payloads = _pieces(data[1:])
    together = _framed(framing, payloads)
    for row, payload in enumerate(payloads):
        assert _framed(framing, [payload]).get(0) == together.get(row)


CHANGES = stages_with(
    {
        "value.format": "json",
        "value.schema": "id bigint, name string, price decimal(6, 2), day date, at timestamp",
        "debezium.before": "true",
        "mode": "DROPMALFORMED",
    }
)


def changes(data: bytes) -> None:
    """Events of Debezium, one per line, which are the keys, too: read together and one by one."""
    payloads = data.split(b"\n")
    alone = [row for each in payloads for row in rows_of(CHANGES, [(each, each)])]
    together = rows_of(CHANGES, [(each, each) for each in payloads])
    assert [{**row, "offset": 0} for row in together] == alone


Target = Callable[[bytes], object]

TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        message,
        connection,
        record_batches,
        compressed,
        jaas,
        challenges,
        avro_payloads,
        avro_schema,
        protobuf_payloads,
        frames,
        changes,
    )
}


def feed(data: bytes) -> None:
    """The first byte chooses the target, the others are its data."""
    names = [*TARGETS]
    name = names[data[0] % len(names)] if data else names[0]
    try:
        TARGETS[name](data[1:])
    except KafkaError:
        pass
    except BaseException:
        print(f"\nfound: tests.fuzz.targets.{name}({data[1:]!r})", flush=True)  # noqa: T201
        raise
