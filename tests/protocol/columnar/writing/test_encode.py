"""The reference codec reads the batches of the columnar encoder, record for record."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatch
from kafka.record.memory_records import MemoryRecords

from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from kafka_protocol.columnar.writing.encode import (
    Gathered,
    RecordColumns,
    SizeLimits,
    encode_batches,
    encode_gathered,
)
from kafka_protocol.errors import EncodeError
from kafka_protocol.records.batch import BatchHeader, check_crc, read_batches
from kafka_protocol.records.compression import Compression, CompressionCodec
from kafka_protocol.records.lz4_checksum import with_wrong_checksum
from kafka_protocol.records.message_set import MessageSetHeader
from kafka_protocol.records.record import Header, Record, decode_records
from tests.protocol.records.strategies import NOW, OLD_CODECS, payloads

Row: TypeAlias = "tuple[bytes | None, bytes | None, int, list[dict[str, Any]] | None]"

HEADER = st.fixed_dictionaries({"key": st.text(max_size=5), "value": payloads()})
ROW = st.tuples(
    payloads(),
    payloads(),
    st.integers(NOW - 2**40, NOW + 2**40),
    st.none() | st.lists(HEADER, max_size=4),
)


def columns_of(rows: list[Row]) -> RecordColumns:
    keys, values, timestamps, headers = zip(*rows, strict=True)
    return RecordColumns(
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        np.array(timestamps, dtype=np.int64),
        pa.array(headers, HEADERS_TYPE),
    )


def slice_of(columns: RecordColumns, start: int) -> RecordColumns:
    """Columns whose Arrow arrays have an offset of their own, the values in two arrays."""
    key, value, timestamp, headers = columns
    assert headers is not None
    middle = (start + len(value)) // 2
    values = pa.chunked_array([value[start:middle], value[middle:]])
    return RecordColumns(key[start:], values, timestamp[start:], headers[start:])


def read_back(
    columns: RecordColumns, codec: CompressionCodec, size: int, magic: int = 2
) -> list[list[Record]]:
    batches = []
    for encoded in encode_batches(columns, codec, size, magic=magic):
        read = [*read_batches(memoryview(encoded.data))]
        for batch in read:
            check_crc(batch)
            assert (batch.header.magic, batch.header.codec) == (magic, codec)
        records = [record for batch in read for record in decode_records(batch)]
        assert len(records) == encoded.records_count
        assert [record.offset for record in records] == [*range(len(records))]
        if magic == 2:
            ((header, _),) = read
            assert isinstance(header, BatchHeader)
            assert header.base_timestamp == records[0].timestamp
            assert header.max_timestamp == max(record.timestamp for record in records)
        batches.append(records)
    return batches


@given(
    rows=st.lists(ROW, min_size=1, max_size=30),
    codec=st.sampled_from(CompressionCodec),
    size=st.sampled_from([1, 200, 10_000, 10**6]),
    skip=st.integers(0, 3),
)
def test_reference_codec_reads_it_back(
    rows: list[Row], codec: CompressionCodec, size: int, skip: int
) -> None:
    skip = min(skip, len(rows) - 1)
    columns = slice_of(columns_of(rows), skip)
    records = [record for batch in read_back(columns, codec, size) for record in batch]
    assert [(r.timestamp, r.key, r.value, r.headers) for r in records] == [
        (timestamp, key, value, tuple(Header(h["key"].encode(), h["value"]) for h in headers or ()))
        for key, value, timestamp, headers in rows[skip:]
    ]


@given(
    rows=st.lists(ROW, min_size=1, max_size=30),
    size=st.sampled_from([1, 200, 10**6]),
    data=st.data(),
)
def test_partitions_are_encoded_independently(
    rows: list[Row], size: int, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    inner = data.draw(st.sets(st.integers(1, len(rows) - 1))) if len(rows) > 1 else set()
    starts = [0, *sorted(inner), len(rows)]
    columns = columns_of([(*row[:3], None) for row in rows])
    magics = data.draw(
        st.lists(st.integers(0, 2), min_size=len(inner) + 1, max_size=len(inner) + 1)
    )
    gathered = Gathered(columns, np.array(order, dtype=np.int64), starts)
    limits = SizeLimits(size, size)
    together = encode_gathered(gathered, magics, Compression(CompressionCodec.NONE), limits)
    alone = []
    for number, (start, stop) in enumerate(pairwise(starts)):
        own = columns_of([(*rows[row][:3], None) for row in order[start:stop]])
        batches = encode_batches(own, CompressionCodec.NONE, size, magic=magics[number])
        alone += [(number, batch) for batch in batches]
    assert [*together] == alone


def test_without_a_headers_column() -> None:
    columns = columns_of([(b"k", b"v", NOW, None)] * 3)._replace(headers=None)
    ((*records,),) = read_back(columns, CompressionCodec.NONE, 10**6)
    assert [(r.key, r.value, r.headers) for r in records] == [(b"k", b"v", ())] * 3


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_no_records_give_no_batches(magic: int) -> None:
    nothing = pa.array([], pa.binary())
    columns = RecordColumns(nothing, nothing, np.array([], dtype=np.int64))
    assert not [*encode_batches(columns, CompressionCodec.NONE, magic=magic)]


@pytest.mark.parametrize("magic", [1, 2])
def test_only_a_large_record_exceeds_the_batch_size(magic: int) -> None:
    rows: list[Row] = [(None, bytes(size), NOW, None) for size in (400, 400, 400, 5000, 10)]
    encoded = [*encode_batches(columns_of(rows), CompressionCodec.NONE, 1000, magic=magic)]
    assert [batch.records_count for batch in encoded] == [2, 1, 1, 1]
    assert all(len(batch.data) <= 1000 + 61 for batch in encoded if batch.records_count > 1)


@given(
    noise=st.lists(st.integers(0, 300), min_size=1, max_size=60),
    codec=st.sampled_from(OLD_CODECS),
    magic=st.sampled_from([0, 1, 2]),
    inner=st.integers(0, 60),
    estimated=st.sampled_from([500, 3_000, 100_000]),
    sent=st.sampled_from([100, 500, 3_000]),
)
def test_batches_that_compress_badly_are_cut_again(
    noise: list[int], codec: CompressionCodec, magic: int, inner: int, estimated: int, sent: int
) -> None:
    chance = random.Random(1)
    rows: list[Row] = [(None, chance.randbytes(each) + bytes(300), NOW, None) for each in noise]
    starts = [0, inner, len(rows)] if 0 < inner < len(rows) else [0, len(rows)]
    magics = [magic] * (len(starts) - 1)
    gathered = Gathered(columns_of(rows), np.arange(len(rows)), starts)
    limits = SizeLimits(estimated, sent)
    values: list[bytes | None] = []
    for number, batch in encode_gathered(gathered, magics, Compression(codec), limits):
        assert starts[number] <= len(values) < starts[number + 1]
        if batch.records_count > 1:
            assert batch.estimated_bytes <= max(estimated, sent)
            assert min(batch.sent_bytes, batch.estimated_bytes) <= sent
        for each in read_batches(memoryview(batch.data)):
            values += [record.value for record in decode_records(each)]
    assert values == [value for _, value, *_ in rows]


@pytest.mark.parametrize("header", [{"key": None, "value": b"v"}, None], ids=["no key", "null"])
def test_header_without_a_key_is_rejected(header: Any) -> None:
    columns = columns_of([(b"k", b"v", NOW, [header])])
    with pytest.raises(EncodeError, match="header has no key"):
        [*encode_batches(columns, CompressionCodec.NONE)]


@given(
    rows=st.lists(ROW, min_size=1, max_size=30),
    codec=st.sampled_from(OLD_CODECS),
    size=st.sampled_from([1, 200, 10_000, 10**6]),
    skip=st.integers(0, 3),
    magic=st.sampled_from([0, 1]),
)
def test_fault_37_reference_codec_reads_message_sets_back(
    rows: list[Row], codec: CompressionCodec, size: int, skip: int, magic: int
) -> None:
    rows = [(*row[:3], None) for row in rows]
    skip = min(skip, len(rows) - 1)
    columns = slice_of(columns_of(rows), skip)
    records = [record for batch in read_back(columns, codec, size, magic) for record in batch]
    assert [(r.key, r.value, r.timestamp) for r in records] == [
        (key, value, timestamp if magic else -1) for key, value, timestamp, _ in rows[skip:]
    ]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP])
def test_kafka_python_reads_message_sets(magic: int, codec: CompressionCodec) -> None:
    rows: list[Row] = [
        (b"k", b"v", NOW, None),
        (None, b"", NOW - 5, None),
        (b"", None, NOW + 5, None),
    ]
    (encoded,) = encode_batches(columns_of(rows), codec, magic=magic)
    found = []
    batches = MemoryRecords(encoded.data)
    while batch := batches.next_batch():
        assert isinstance(batch, LegacyRecordBatch)
        assert batch.validate_crc()
        for record in batch:
            assert record.validate_crc()
            found.append((record.offset, record.key, record.value, record.timestamp))
    assert found == [
        (number, key, value, timestamp if magic else None)
        for number, (key, value, timestamp, _) in enumerate(rows)
    ]


def test_wrapper_has_the_last_offset_and_the_max_timestamp() -> None:
    rows: list[Row] = [(None, b"v", NOW + extra, None) for extra in (0, 9, 3)]
    (encoded,) = encode_batches(columns_of(rows), CompressionCodec.SNAPPY, magic=1)
    ((header, _),) = read_batches(memoryview(encoded.data))
    assert isinstance(header, MessageSetHeader)
    assert (header.last_offset, header.timestamp) == (2, NOW + 9)


def test_lz4_of_magic_0_has_the_wrong_checksum_of_old_brokers() -> None:
    columns = columns_of([(None, b"v" * 50, NOW, None)])
    frames = []
    for magic, front in ((0, 18), (1, 26)):
        (encoded,) = encode_batches(columns, CompressionCodec.LZ4, magic=magic)
        frames.append(encoded.data[front + 8 :])
    assert with_wrong_checksum(frames[1])[6] == frames[0][6] != frames[1][6]


@pytest.mark.parametrize("headers_type", [HEADERS_TYPE, pa.map_(pa.string(), pa.binary())])
@pytest.mark.parametrize("magic", [0, 1])
def test_headers_need_magic_2(magic: int, headers_type: pa.DataType) -> None:
    def columns_with(headers: list[list[tuple[str, None]]]) -> RecordColumns:
        rows = columns_of([(b"k", b"v", NOW, None) for _ in headers])
        as_map = pa.array(headers, pa.map_(pa.string(), pa.binary()))
        return rows._replace(headers=as_map.cast(headers_type))

    without = columns_with([[], []])
    assert [*encode_batches(without, CompressionCodec.NONE, magic=magic)]
    columns = columns_with([[], [("h", None)]])
    with pytest.raises(EncodeError, match=r"headers .*Kafka 0\.11 or newer"):
        [*encode_batches(columns, CompressionCodec.NONE, magic=magic)]


@pytest.mark.parametrize("magic", [0, 1])
def test_zstd_needs_magic_2(magic: int) -> None:
    with pytest.raises(EncodeError, match=r"zstd .*Kafka 2\.1 or newer"):
        [*encode_batches(columns_of([(b"k", b"v", NOW, None)]), CompressionCodec.ZSTD, magic=magic)]
