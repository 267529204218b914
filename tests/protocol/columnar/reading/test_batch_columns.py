"""Batches taken together are those that the reference takes one by one."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.reading.batch_columns import BatchColumns, take_batch_columns
from kafka_protocol.columnar.reading.decode import decode_batches
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.batch import read_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.records.fetch_response import (
    PartitionData,
    TakeBatches,
    TakenBatches,
    take_batches,
)
from kafka_protocol.records.transactions import COMMIT
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from tests.fakes.log import batch_of, in_transaction, marker
from tests.protocol.records.batches import overflow, plain
from tests.simulation.kafka.batches import Stored, placed

PARTITION: Final = TopicPartition("t", 0)

AbortedTransaction = PartitionData.AbortedTransaction


take_together = partial(take_batch_columns, min_batches=1)


def outcome(
    take: TakeBatches, data: PartitionData, rest: OffsetRange, *, check_crcs: bool
) -> object:
    """Everything that a caller can see, or the error."""
    try:
        found = take(data, rest, check_crcs=check_crcs)
    except CorruptRecordError as error:
        return str(error)
    return (*found._replace(batches=[*found.batches], misplaced=None), str(found.misplaced))


@st.composite
def logs(draw: st.DrawFn) -> list[Stored]:
    """Batches of one and more records, with gaps, control batches and leader epochs."""
    log: list[Stored] = []
    for _ in range(draw(st.integers(1, 8))):
        values = draw(st.lists(st.binary(max_size=9), min_size=1, max_size=3))
        batch = draw(
            st.sampled_from([batch_of(*values), in_transaction(7, *values), marker(7, COMMIT)])
        )
        end_offset = log[-1].next_offset if log else 0
        log.append(placed(batch, end_offset + draw(st.sampled_from([0, 0, 3])), epoch=0))
    return log


@given(data=st.data(), log=logs(), check_crcs=st.booleans())
def test_equals_the_reference(data: st.DataObject, log: list[Stored], *, check_crcs: bool) -> None:
    """Also for a response that is cut short, and for bytes that are flipped or missing."""
    records, end_offset = bytearray(bytes_of(log)), log[-1].next_offset
    for _ in range(data.draw(st.sampled_from([0, 0, 1, 2]))):
        records[data.draw(st.integers(0, len(records) - 1))] ^= data.draw(st.integers(1, 255))
    if data.draw(st.booleans()):
        del records[data.draw(st.integers(0, len(records))) :]
    start, until = sorted(data.draw(st.tuples(*[st.integers(0, end_offset + 2)] * 2)))
    aborted = data.draw(
        st.sampled_from([None, [], [AbortedTransaction(producer_id=7, first_offset=0)]])
    )
    partition = PartitionData(
        records=bytes(records),
        high_watermark=data.draw(st.integers(-1, end_offset)),
        aborted_transactions=aborted,
    )
    rest = OffsetRange(PARTITION, start, until)
    expected = outcome(take_batches, partition, rest, check_crcs=check_crcs)
    assert outcome(take_together, partition, rest, check_crcs=check_crcs) == expected


def bytes_of(log: list[Stored]) -> bytes:
    return b"".join(each.data for each in log)


def stored(*batches: bytes) -> bytes:
    log: list[Stored] = []
    for batch in batches:
        log.append(placed(batch, log[-1].next_offset if log else 0, epoch=0))
    return bytes_of(log)


def compacted() -> bytes:
    """Offsets 0, 1, 10 and 11."""
    return bytes_of([placed(TWO, 0, epoch=0), placed(TWO, 10, epoch=0)])


TWO = batch_of(b"a", b"b")
PLAIN = stored(TWO, TWO, TWO)


def taken(
    records: bytes, start: int = 0, until: int = 6, high_watermark: int = 6, min_batches: int = 1
) -> TakenBatches:
    data = PartitionData(records=records, high_watermark=high_watermark)
    rest = OffsetRange(PARTITION, start, until)
    return take_batch_columns(data, rest, check_crcs=True, min_batches=min_batches)


@pytest.mark.parametrize(
    ("records", "start", "until", "count"),
    [
        (PLAIN, 0, 6, 3),
        (PLAIN + PLAIN[:70], 0, 6, 3),  # cut short
        (PLAIN + overflow(100), 0, 6, 3),
        (PLAIN, 1, 6, 3),
        (PLAIN, 3, 6, 2),
        (PLAIN, 0, 3, 2),
        (PLAIN, 0, 9, 3),
        (stored(TWO, in_transaction(7, b"c"), marker(7, COMMIT)), 0, 4, 2),
    ],
)
def test_plain_responses_are_taken_together(
    records: bytes, start: int, until: int, count: int
) -> None:
    found = taken(records, start, until)
    assert isinstance(found.batches, BatchColumns)
    assert len(found.batches) == count


@pytest.mark.parametrize(
    "records",
    [
        b"",
        PLAIN[:-1][:130],  # one batch, and one that is cut short
        plain(0, 1) + PLAIN[len(PLAIN) // 3 :],  # an old format
    ],
)
def test_other_responses_are_taken_one_by_one(records: bytes) -> None:
    assert not isinstance(taken(records, min_batches=2).batches, BatchColumns)


def test_compaction_removed_the_rest_of_the_range() -> None:
    """The position is the range's end, and the batch behind it is not taken."""
    found = taken(compacted(), high_watermark=12)
    assert isinstance(found.batches, BatchColumns)
    assert [batch.header.base_offset for batch in found.batches] == [0]
    assert found.position == 6


def test_batches_before_the_range_alone_are_left_to_the_reference() -> None:
    found = taken(compacted(), 3, 6, 12)
    assert not isinstance(found.batches, BatchColumns)
    assert (len(found.batches), found.position) == (0, 6)


def changed(at: int, new: bytes) -> bytes:
    """With other bytes in the header of the second batch."""
    at += len(PLAIN) // 3
    return PLAIN[:at] + new + PLAIN[at + len(new) :]


@pytest.mark.parametrize(
    ("records", "high_watermark"),
    [
        (changed(0, b"\xff"), 6),  # a negative offset
        (changed(7, b"\x01"), 6),  # the offset of the first batch's last record
        (changed(8, bytes(4)), 6),  # no length
        (changed(16, b"\x03"), 6),  # an unknown magic
        (changed(17, b"\x00"), 6),  # another checksum
        (changed(23, b"\xff"), 6),  # a negative last offset
        (changed(57, b"\x7f"), 6),  # more records than offsets
        (PLAIN, 4),  # a batch at the high watermark
    ],
)
def test_fault_31_the_reference_handles_what_is_not_plain(
    records: bytes, high_watermark: int
) -> None:
    data = PartitionData(records=records, high_watermark=high_watermark)
    rest = OffsetRange(PARTITION, 0, 6)
    expected = outcome(take_batches, data, rest, check_crcs=True)
    assert outcome(take_together, data, rest, check_crcs=True) == expected


def test_the_elements_are_record_batches() -> None:
    found = taken(PLAIN).batches
    expected = [*read_batches(memoryview(PLAIN))]
    assert [*found] == expected
    assert found[1] == expected[1]
    assert found[-1] == expected[-1]
    assert found[1:] == expected[1:]
    with pytest.raises(IndexError):
        found[3]


def test_fault_29_an_impossible_size_at_the_end_is_an_error() -> None:
    tail = (9).to_bytes(8, "big") + (-5).to_bytes(4, "big", signed=True)
    with pytest.raises(CorruptRecordError):
        taken(stored(batch_of(b"a"), batch_of(b"b")) + tail)


# --- Decoding ------------------------------------------------------------------------------------


def compressed(codec: CompressionCodec, *values: bytes) -> bytes:
    columns = RecordColumns(
        pa.nulls(len(values), pa.binary()),
        pa.array(values, pa.binary()),
        np.full(len(values), 7, dtype=np.int64),
    )
    (batch,) = encode_batches(columns, codec)
    return batch.data


@pytest.mark.parametrize("columns", [("offset", "value"), ("offset", "timestampType")])
@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.LZ4])
@pytest.mark.parametrize("window", [(0, 6), (2, 3), (6, 7)])
@pytest.mark.parametrize("target_bytes", [1, 1_000_000])
def test_decoded_as_single_batches_are(
    columns: tuple[str, ...], codec: CompressionCodec, window: tuple[int, int], target_bytes: int
) -> None:
    batches = [compressed(codec, b"%d" % number, b"more" * number) for number in range(3)]
    log = stored(*batches)
    found = []
    for batches_of_log in (taken(log).batches, [*read_batches(memoryview(log))]):
        fetched = [(OffsetRange(PARTITION, *window), batches_of_log)]
        decoded = decode_batches(fetched, columns, target_bytes=target_bytes)
        found.append([row for each in decoded for row in each.to_pylist()])
    assert found[0] == found[1]
    assert [row["offset"] for row in found[0]] == [*range(window[0], min(window[1], 6))]


def many(*batches: bytes) -> BatchColumns:
    found = taken(stored(*batches), until=1_000, high_watermark=1_000).batches
    assert isinstance(found, BatchColumns)
    return found


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("codec", [CompressionCodec.GZIP, CompressionCodec.LZ4])
def test_many_small_payloads(codec: CompressionCodec, start: int) -> None:
    """The first of them may be of another codec, or not in the window."""
    values = [b"value %d" % number for number in range(150)]
    first, *others = values
    batches = [
        compressed(codec, first),
        *(compressed(CompressionCodec.LZ4, each) for each in others),
    ]
    fetched = [(OffsetRange(PARTITION, start, 1_000), many(*batches))]
    (decoded,) = decode_batches(fetched, ("value",))
    assert decoded["value"].to_pylist() == values[start:]


def test_fault_33_the_damaged_one_of_many_small_payloads_is_named() -> None:
    batches = [bytearray(compressed(CompressionCodec.LZ4, b"value")) for _ in range(150)]
    batches[77][-1] = 1  # the end of the frame
    batches[77][17:21] = crc32c(batches[77][21:]).to_bytes(4, "big")
    fetched = [(OffsetRange(PARTITION, 0, 1_000), many(*map(bytes, batches)))]
    with pytest.raises(CorruptRecordError, match="at offset 77"):
        next(decode_batches(fetched, ("value",)))


def test_a_damaged_partition_is_named_among_others() -> None:
    """The records of those before it are yielded."""
    good = taken(stored(batch_of(b"a"))).batches
    damaged = bytearray(stored(batch_of(b"b")))
    damaged[61] = 0x02  # the record's length
    bad = [*read_batches(memoryview(bytes(damaged)))]
    ranges = [OffsetRange(TopicPartition("t", number), 0, 1) for number in (3, 5)]
    decoded = decode_batches([*zip(ranges, [good, bad], strict=True)], ("partition", "value"))
    assert next(decoded).to_pylist() == [{"partition": 3, "value": b"a"}]
    with pytest.raises(CorruptRecordError, match="t-5"):
        next(decoded)
