"""The columnar decoder gives the same rows and errors as the reference codec."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE, RECORD_SCHEMA, record_schema
from kafka_protocol.columnar.reading import decode
from kafka_protocol.columnar.reading.decode import decode_batches, target_bytes_of
from kafka_protocol.columnar.reading.parts import RecordPart
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.errors import CorruptRecordError, DecodeError
from kafka_protocol.records.batch import RecordBatch, check_crc, read_batches
from kafka_protocol.records.compression import Compression, CompressionCodec, compress
from kafka_protocol.records.message import Message, encode_messages, wrap_messages
from kafka_protocol.records.record import Header, Record, decode_records, encode_records
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from tests.arrow_owners import borrowed_bytes
from tests.protocol.records.batches import IMPOSSIBLE_RECORDS, batch_of, plain, wrapped
from tests.protocol.records.strategies import (
    OLD_CODECS,
    MessageSetSample,
    batches,
    header_of,
    message_sets,
    wrapper_of,
)

PARTITION = TopicPartition("orders", 3)
EVERYTHING = OffsetRange(PARTITION, 0, 2**62)
ALL_COLUMNS = tuple(RECORD_SCHEMA.names)


def read_all(pieces: Iterable[bytes]) -> list[RecordBatch]:
    batches = [batch for data in pieces for batch in read_batches(memoryview(data))]
    for batch in batches:
        check_crc(batch)
    return batches


def decoded(
    batches: Sequence[RecordBatch],
    window: OffsetRange = EVERYTHING,
    columns: Sequence[str] = ALL_COLUMNS,
    **options: int,
) -> list[dict[str, Any]]:
    schema = record_schema(columns)
    arrow = [*decode_batches([(window, batches)], columns, **options)]
    assert all(batch.schema.equals(schema) and batch.num_rows for batch in arrow)
    for batch in arrow:
        batch.validate(full=True)
    rows: list[dict[str, Any]] = pa.Table.from_batches(arrow, schema).to_pylist()
    return rows


def row_of(record: Record, timestamp_type: int = 0) -> dict[str, Any]:
    """A record as a row of Spark's connector."""
    headers = [
        {"key": header.key.decode("utf-8", "replace"), "value": header.value}
        for header in record.headers
    ]
    return {
        "key": record.key,
        "value": record.value,
        "topic": PARTITION.topic,
        "partition": PARTITION.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": timestamp_type,
        "headers": headers or None,
    }


def reference_rows(batches: Iterable[RecordBatch]) -> list[dict[str, Any]]:
    """The rows of batches, by the reference codec."""
    return [
        row_of(record, batch.header.timestamp_type)
        for batch in batches
        for record in decode_records(batch)
    ]


def with_ms(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for row in rows:
        row["timestamp"] = pa.scalar(row["timestamp"], pa.timestamp("us", "UTC")).value // 1000
    return rows


ANY_BATCH = batches().map(lambda piece: piece[0]) | message_sets().map(lambda sample: sample.data)
SAMPLES = message_sets() | batches().map(lambda piece: MessageSetSample(*piece, timestamp_type=0))


@pytest.mark.no_cover
@pytest.mark.many_inputs
@given(
    pieces=st.lists(ANY_BATCH, min_size=1, max_size=6),
    are_joined=st.booleans(),
    target=st.sampled_from([1, 500, 10**6]),
)
def test_fault_37_equals_the_reference_codec(
    pieces: list[bytes], are_joined: bool, target: int
) -> None:
    """Batches of all formats in several frames, or in one with an incomplete last batch."""
    read = read_all([b"".join(pieces)[:-1]] if are_joined else pieces)
    assert with_ms(decoded(read, target_bytes=target)) == reference_rows(read)


EDGE = st.integers(-5, 45) | st.integers(-5, 20_005)


@given(sample=SAMPLES, edges=st.tuples(EDGE, EDGE))
def test_fault_37_keeps_only_the_window(sample: MessageSetSample, edges: tuple[int, int]) -> None:
    first = sample.records[0].offset
    start, stop = (first + edge for edge in sorted(edges))
    rows = decoded(read_all([sample.data]), OffsetRange(PARTITION, start, stop))
    expected = [r.offset for r in sample.records if start <= r.offset < stop]
    assert [row["offset"] for row in rows] == expected


def test_relative_offsets_where_compaction_removed_the_first_messages() -> None:
    rows = decoded(read_all([wrapped(2, 4, at=9)]), columns=["offset"])
    assert [row["offset"] for row in rows] == [7, 9]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_fault_37_a_window_within_a_batch(magic: int) -> None:
    count = 5
    values = pa.array([b"%d" % number for number in range(count)], pa.binary())
    columns = RecordColumns(values, values, np.zeros(count, dtype=np.int64), None)
    (batch,) = encode_batches(columns, CompressionCodec.NONE, magic=magic)
    rows = decoded(read_all([batch.data]), OffsetRange(PARTITION, 1, 3))
    assert [(row["offset"], row["value"]) for row in rows] == [(1, b"1"), (2, b"2")]


@pytest.mark.no_cover
@pytest.mark.many_inputs
@pytest.mark.parametrize("name", ALL_COLUMNS)
@given(sample=SAMPLES)
def test_fault_37_projection_of_one_column(name: str, sample: MessageSetSample) -> None:
    rows = decoded(read_all([sample.data]), columns=[name])
    if name == "timestamp":
        rows = with_ms(rows)
    assert rows == [
        {name: row_of(record, sample.timestamp_type)[name]} for record in sample.records
    ]


@st.composite
def dense_batches(draw: st.DrawFn) -> tuple[RecordBatch, list[int]]:
    """A batch with at most one gap, and its offsets; without a gap, the records are garbage."""
    base, count, missing = draw(st.tuples(st.integers(0, 50), st.integers(1, 20), st.booleans()))
    offsets = [base + number for number in range(count + missing) if not missing or number != 1]
    records = [Record(offset, 0, b"key", None) for offset in offsets]
    payload = encode_records(records, base, 0) if missing else b"?" * 7 * count
    codec = draw(st.sampled_from([CompressionCodec.NONE, CompressionCodec.LZ4]))
    header = header_of(
        base_offset=base,
        attributes=int(codec) | draw(st.sampled_from([0, 8])),
        last_offset_delta=max(count - 1, offsets[-1] - base),
        records_count=len(offsets),
    )
    packed = compress(codec, payload) if missing else payload
    return RecordBatch(header, memoryview(packed)), offsets


@given(
    pieces=st.lists(dense_batches(), min_size=1, max_size=6),
    edges=st.tuples(st.integers(0, 70), st.integers(0, 70)),
    target=st.sampled_from([1, 100, 10**6]),
)
def test_offsets_without_gaps_come_from_the_headers(
    pieces: list[tuple[RecordBatch, list[int]]], edges: tuple[int, int], target: int
) -> None:
    """Nothing is decompressed."""
    start, stop = sorted(edges)
    rows = decoded(
        [batch for batch, _ in pieces],
        OffsetRange(PARTITION, start, stop),
        ["timestampType", "offset", "topic"],
        target_bytes=target,
    )
    assert rows == [
        {"timestampType": batch.header.timestamp_type, "offset": offset, "topic": PARTITION.topic}
        for batch, offsets in pieces
        for offset in offsets
        if start <= offset < stop
    ]


@pytest.mark.no_cover
@pytest.mark.many_inputs
@pytest.mark.parametrize("max_batch_bytes", [500, 5_000, 50_000, 500_000])
def test_many_records_equal_the_reference_codec(max_batch_bytes: int) -> None:
    random = np.random.default_rng(3)
    noise = random.integers(0, 256, 2_000, dtype=np.uint8).tobytes()
    sizes = random.integers(0, 140, 5_000).tolist()
    headers = [[("h", noise[:5])] * (size % 4) for size in sizes]
    columns = RecordColumns(
        pa.array([noise[: size % 9] if size % 5 else None for size in sizes], pa.binary()),
        pa.array([noise[size : 2 * size] if size % 7 else None for size in sizes], pa.binary()),
        1_700_000_000_000 + random.integers(0, 10**6, len(sizes)),
        pa.array(headers, HEADERS_TYPE),
    )
    encoded = encode_batches(columns, CompressionCodec.NONE, max_batch_bytes)
    batches = read_all([b"".join(batch.data for batch in encoded)])
    assert with_ms(decoded(batches)) == reference_rows(batches)


def test_projection_keeps_the_order_of_the_columns() -> None:
    batch = RecordBatch(header_of(records_count=1), memoryview(b"\x0c\x00\x00\x00\x01\x01\x00"))
    assert list(decoded([batch], columns=["offset", "key"])[0]) == ["offset", "key"]


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("magic", [1, 2])
def test_arrow_owns_the_columns(magic: int, partitions: int) -> None:
    """No thread needs Python to drop them (docs/upstream)."""
    time, header = 1_700_000_000_000, (Header(b"kind", b"test"),)
    if magic == 2:
        pieces = [batch_of(*(Record(i, time, b"k", b"v", header) for i in range(5_000)))]
    else:
        pieces = [encode_messages([Message(i, time, b"k", b"v") for i in range(5_000)], magic)]
    windows = [
        OffsetRange(TopicPartition("orders", number), 0, 2**62) for number in range(partitions)
    ]
    fetched = [(window, read_all(pieces)) for window in windows]
    assert borrowed_bytes(lambda: next(decode_batches(fetched, ALL_COLUMNS))) == 0
    assert borrowed_bytes(lambda: next(decode_batches(fetched, ["offset", "partition"]))) == 0


def test_rows_of_several_partitions_have_their_own() -> None:
    batch = RecordBatch(header_of(records_count=1), memoryview(MINIMAL))
    other = TopicPartition("returns", 1)
    chunks = [(EVERYTHING, [batch]), (OffsetRange(other, 0, 2**62), [batch, batch])]
    (arrow,) = decode_batches(chunks, ("topic", "partition"))
    found = [TopicPartition(row["topic"], row["partition"]) for row in arrow.to_pylist()]
    assert found == [PARTITION, other, other]


MINIMAL = b"\x0c\x00\x08\x00\x01\x01\x00"  # timestamp delta 4, all else null


@pytest.mark.parametrize("columns", [("offset", "timestampType"), ("offset", "value")])
def test_a_batch_around_the_window_can_have_no_record_in_it(columns: tuple[str, ...]) -> None:
    """As compaction leaves it."""
    records = [Record(0, 5, None, b"a"), Record(9, 5, None, b"b")]
    header = header_of(records_count=2, last_offset_delta=9)
    batch = RecordBatch(header, memoryview(encode_records(records, 0, 5)))
    assert not decoded([batch], OffsetRange(PARTITION, 3, 6), columns)


def test_what_cannot_be_decoded_together_is_decoded_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    locate = decode._LOCATE[RecordPart]

    def locate_one(parts: Sequence[RecordPart]) -> object:
        if len(parts) > 1:
            raise DecodeError("too many")
        return locate(parts)

    monkeypatch.setitem(decode._LOCATE, RecordPart, locate_one)
    payload = encode_records([Record(0, 5, None, b"a")], 0, 5)
    batches = [RecordBatch(header_of(records_count=1), memoryview(payload))]
    fetched = [(OffsetRange(TopicPartition("t", n), 0, 1), batches) for n in (3, 5)]
    arrow = decode_batches(fetched, ("partition", "value"))
    assert [each.to_pylist() for each in arrow] == [
        [{"partition": 3, "value": b"a"}],
        [{"partition": 5, "value": b"a"}],
    ]


def test_control_and_empty_batches_are_skipped() -> None:
    batches = [
        RecordBatch(header_of(records_count=1, attributes=0x20), memoryview(MINIMAL)),
        RecordBatch(header_of(records_count=0, last_offset_delta=5), memoryview(b"")),
    ]
    assert decoded(batches) == []


def test_log_append_time() -> None:
    header = header_of(records_count=1, attributes=0x08, base_timestamp=1, max_timestamp=77)
    (row,) = with_ms(decoded([RecordBatch(header, memoryview(MINIMAL))]))
    assert (row["timestamp"], row["timestampType"]) == (77, 1)


def test_no_timestamp_is_one_ms_before_1970() -> None:
    header = header_of(records_count=1, base_timestamp=-5)
    (row,) = with_ms(decoded([RecordBatch(header, memoryview(MINIMAL))]))
    assert row["timestamp"] == -1


@pytest.mark.parametrize("base_timestamp", [2**62, -(2**63)])
def test_timestamps_beyond_microseconds(base_timestamp: int) -> None:
    header = header_of(base_offset=9, records_count=1, base_timestamp=base_timestamp)
    batch = RecordBatch(header, memoryview(b"\x0c\x00\x00\x00\x01\x01\x00"))
    with pytest.raises(CorruptRecordError, match="KAFKA_MALFORMED_RECORD_TIMESTAMP"):
        decoded([batch])
    assert len(decoded([batch], columns=["value"])) == 1


@pytest.mark.parametrize("payload", [payload for payload, _ in IMPOSSIBLE_RECORDS])
def test_fault_32_impossible_records(payload: bytes) -> None:
    batch = RecordBatch(header_of(base_offset=40, records_count=1), memoryview(payload))
    with pytest.raises(CorruptRecordError, match="of orders-3 at offset 40: "):
        decoded([batch])


@pytest.mark.parametrize(
    "fields",
    [
        b"\x01\x00",  # a header key of -1 bytes
        b"\x08a\x01",  # a header key beyond the record
        b"\x00\x03",  # a header value of -2 bytes
        b"\x00\x08",  # a header value beyond the record
        b"\x00\x01\x00",  # a byte after the headers
    ],
    ids=["key of -1", "key too long", "value of -2", "value too long", "more bytes"],
)
def test_fault_32_impossible_headers_of_many_records(fields: bytes) -> None:
    """From 16 records on the headers of all are decoded together."""
    body = b"\x00\x00%c\x01\x01\x02" + fields
    records = [bytes([2 * (len(body) - 1)]) + body % (2 * number) for number in range(20)]
    header = header_of(base_offset=40, records_count=20, last_offset_delta=19)
    with pytest.raises(CorruptRecordError, match="of orders-3 at offset 40: "):
        decoded([RecordBatch(header, memoryview(b"".join(records)))])


def test_fault_32_offsets_must_ascend() -> None:
    header = header_of(base_offset=40, records_count=2, last_offset_delta=1)
    with pytest.raises(CorruptRecordError, match="do not ascend"):
        decoded([RecordBatch(header, memoryview(MINIMAL * 2))])


def test_fault_32_error_names_the_broken_batch() -> None:
    good = RecordBatch(header_of(base_offset=1, records_count=1), memoryview(MINIMAL))
    bad = RecordBatch(header_of(base_offset=2, records_count=1), memoryview(MINIMAL + b"\x00"))
    with pytest.raises(CorruptRecordError, match="of orders-3 at offset 2: "):
        decoded([good, bad, good])


def test_fault_33_size_limit_names_partition_and_offset() -> None:
    batch = RecordBatch(header_of(base_offset=40, records_count=1), memoryview(MINIMAL))
    with pytest.raises(CorruptRecordError, match=r"of orders-3 at offset 40: .*more than 6 bytes"):
        decoded([batch], max_decompressed_bytes=6)


def test_fault_32_more_records_than_bytes() -> None:
    packed = compress(CompressionCodec.ZSTD, bytes(100_000))
    header = header_of(
        base_offset=40,
        attributes=int(CompressionCodec.ZSTD),
        records_count=2**31 - 1,
        last_offset_delta=2**31 - 2,
    )
    with pytest.raises(CorruptRecordError, match="at offset 40: 2147483647 records are announced"):
        decoded([RecordBatch(header, memoryview(packed))])


@pytest.mark.no_cover
def test_one_record_with_very_many_headers() -> None:
    headers = tuple(Header(b"h", b"%d" % number) for number in range(20_000))
    records = [Record(0, 5, None, None, headers), Record(1, 5, None, None)]
    header = header_of(records_count=2, last_offset_delta=1, base_timestamp=5)
    rows = decoded([RecordBatch(header, memoryview(encode_records(records, 0, 5)))])
    assert rows[0]["headers"] == row_of(records[0])["headers"]
    assert rows[1]["headers"] is None


def check_as_reference(
    batches: list[RecordBatch], columns: Sequence[str] = ALL_COLUMNS, match: str = "at offset"
) -> None:
    """Both codecs raise an error, or both give the same rows."""
    try:
        expected = reference_rows(batches)
    except CorruptRecordError:
        with pytest.raises(CorruptRecordError, match=match):
            decoded(batches, columns=columns)
        return
    rows = decoded(batches, columns=columns)
    if "timestamp" in columns:
        rows = with_ms(rows)
    assert rows == [{name: row[name] for name in columns} for row in expected]


WITHOUT_TIMESTAMP = [name for name in ALL_COLUMNS if name != "timestamp"]


@given(payload=st.binary(max_size=120), count=st.integers(1, 5))
def test_fault_32_garbage_in_a_batch(payload: bytes, count: int) -> None:
    header = header_of(base_offset=40, records_count=count, last_offset_delta=count - 1)
    check_as_reference([RecordBatch(header, memoryview(payload))], WITHOUT_TIMESTAMP)


@pytest.mark.no_cover
@given(sample=message_sets(), data=st.data())
def test_fault_31_flipped_byte_of_a_message_set(
    sample: MessageSetSample, data: st.DataObject
) -> None:
    """Offsets and sizes have no checksum: a flip may lose messages, but never change one."""
    raw = bytearray(sample.data)
    pos = data.draw(st.integers(8, len(raw) - 1))
    raw[pos] ^= 1 << data.draw(st.integers(0, 7))
    expected = [row_of(record, sample.timestamp_type) for record in sample.records]
    try:
        rows = with_ms(decoded(read_all([bytes(raw)])))
    except CorruptRecordError:
        return
    # The flip may have changed the offset of a message after the first one.
    known = {row["offset"]: row for row in expected}
    assert all(row == known[row["offset"]] for row in rows if row["offset"] in known)


@given(
    magics=st.lists(st.sampled_from([0, 1]), min_size=1, max_size=4),
    offsets=st.lists(st.integers(-1, 5), min_size=4, max_size=4),
    magic=st.sampled_from([0, 1]),
    at=st.sampled_from([0, 4, 9]),
    attributes=st.sampled_from([0, 8]),
)
def test_fault_37_any_magics_and_offsets_in_a_wrapper(
    magics: list[int], offsets: list[int], magic: int, at: int, attributes: int
) -> None:
    """Behind a good message set."""
    inner = b"".join(
        encode_messages([Message(offset, 50 + offset, b"key", b"value")], inner_magic)
        for inner_magic, offset in zip(magics, offsets, strict=False)
    )
    packed = Message(at, 99, None, bytes(compress(CompressionCodec.GZIP, inner)))
    wrapper = encode_messages([packed], magic, CompressionCodec.GZIP | attributes)
    read = read_all([plain(3, magic=0), wrapper])
    check_as_reference(read, match=f"of orders-3 at offset {at}: ")


@given(
    inner=st.binary(max_size=150),
    magic=st.sampled_from([0, 1]),
    codec=st.sampled_from(OLD_CODECS[1:]),
)
def test_fault_32_garbage_in_a_wrapper(inner: bytes, magic: int, codec: CompressionCodec) -> None:
    """A valid message before the garbage passes more checks."""
    message = encode_messages([Message(0, 5, b"key", b"value")], magic)
    mixed = message + message[: len(inner) % 30] + inner
    data = wrap_messages(mixed, Compression(codec), magic, 9, 5)
    check_as_reference(read_all([data]), match="of orders-3 at offset 9: ")


@pytest.mark.parametrize("magic", [0, 1])
@given(data=st.data())
def test_fault_32_a_changed_byte_in_a_wrapper(magic: int, data: st.DataObject) -> None:
    messages = [Message(offset, 5 + offset, b"key", b"value") for offset in range(3)]
    plain = bytearray(encode_messages(messages, magic))
    plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    read = read_all([wrap_messages(plain, Compression(CompressionCodec.GZIP), magic, 9, 5)])
    check_as_reference(read, WITHOUT_TIMESTAMP, match="of orders-3 at offset 9: ")


def test_fault_33_bomb_in_a_wrapper_names_partition_and_offset() -> None:
    messages = [Message(0, 5, None, bytes(1_000_000))]
    (batch,) = read_all([wrapper_of(messages, 1, CompressionCodec.LZ4, 40)])
    with pytest.raises(CorruptRecordError, match=r"of orders-3 at offset 40: .*more than 5000 b"):
        decoded([batch], max_decompressed_bytes=5_000)


def test_fault_32_error_names_the_broken_message_set() -> None:
    good, bad, last = read_all(
        wrapper_of([Message(inner, 5, None, None)], 1, CompressionCodec.GZIP, outer)
        for inner, outer in ((0, 3), (9, 4), (0, 5))
    )
    with pytest.raises(CorruptRecordError, match="of orders-3 at offset 4: the offsets"):
        decoded([good, bad, last])


MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("fetch_bytes", "expected"), [(1, 4), (4 * MIB, 4), (8 * MIB, 8), (50 * MIB, 16)]
)
def test_an_arrow_batch_is_a_fetch_response_within_limits(fetch_bytes: int, expected: int) -> None:
    assert target_bytes_of(fetch_bytes) == expected * MIB


@pytest.mark.parametrize(("value_bytes", "rows"), [(10, 10), (300, 3)])
def test_a_small_row_counts_as_a_larger_one(value_bytes: int, rows: int) -> None:
    """Numpy takes memory for each row, however small it is."""
    batches = read_all(
        batch_of(Record(0, 5, None, bytes(value_bytes)), base_offset=offset) for offset in range(20)
    )
    arrow = decode_batches([(EVERYTHING, batches)], target_bytes=1_000)
    assert next(iter(arrow)).num_rows == rows
