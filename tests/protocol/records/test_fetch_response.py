"""The batches taken from a Fetch response, without a broker; `test_fetch` has more."""

from __future__ import annotations

import uuid

import pytest

from kafka_protocol.errors import BrokerError, CorruptRecordError, ErrorCode, OutOfStepError
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.records.fetch_response import (
    UNKNOWN_EPOCH,
    PartitionData,
    TakenBatches,
    partition_data,
    take_batches,
)
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.records.transactions import ABORT, COMMIT
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from tests.fakes.log import batch_of, in_transaction, marker
from tests.protocol.records.batches import overflow, plain, wrapped
from tests.simulation.kafka.batches import placed

PARTITION = TopicPartition("t", 0)
ID = uuid.UUID(int=7)

Topic = FetchResponse.FetchableTopicResponse


def stored(*epochs: int) -> bytes:
    """One batch of two records for each epoch."""
    batches = (placed(batch_of(b"a", b"b"), 2 * at, epoch) for at, epoch in enumerate(epochs))
    return b"".join(stored.data for stored in batches)


def taken_from(records: bytes, start: int, until: int, high_watermark: int = 100) -> TakenBatches:
    partition = PartitionData(records=records, high_watermark=high_watermark)
    return take_batches(partition, OffsetRange(PARTITION, start, until), check_crcs=True)


@pytest.mark.parametrize(
    ("start", "until", "position", "epoch", "count"),
    [
        (0, 6, 6, 5, 3),
        (0, 5, 6, 5, 3),
        (0, 4, 4, 4, 2),
        (1, 3, 4, 4, 2),
        (3, 4, 4, 4, 1),
        (4, 100, 6, 5, 1),
    ],
)
def test_the_position_and_epoch_after_the_last_batch(
    start: int, until: int, position: int, epoch: int, count: int
) -> None:
    found = taken_from(stored(1, 4, 5), start, until)
    assert (found.position, found.epoch, len(found.batches)) == (position, epoch, count)
    assert (found.is_empty, found.misplaced) == (False, None)


@pytest.mark.parametrize(("until", "position", "batches"), [(1, 2, 1), (3, 4, 2), (100, 6, 3)])
def test_the_bytes_up_to_the_position(until: int, position: int, batches: int) -> None:
    records = stored(1, 4, 5)
    found = taken_from(records, 0, until)
    assert (found.position, found.size) == (position, batches * len(records) // 3)


@pytest.mark.parametrize("records", [plain(4, 5, 6), wrapped(0, 1, 2, at=6)])
def test_the_bytes_of_old_formats(records: bytes) -> None:
    assert taken_from(records, 4, 7).size == len(records)


def test_fault_20_old_formats_have_no_epochs() -> None:
    found = taken_from(encode_messages([Message(0, 1, None, b"a")], 1), 0, 1)
    assert (found.position, found.epoch) == (1, UNKNOWN_EPOCH)


def test_fault_29_no_complete_batch() -> None:
    whole = stored(1)
    for length in range(len(whole)):
        found = taken_from(whole[:length], 0, 2)
        assert found == TakenBatches([], 0, UNKNOWN_EPOCH, is_empty=True)


def test_fault_29_overflow_behind_down_converted_messages() -> None:
    found = taken_from(plain(4, 5) + overflow(100), 4, 9)
    assert (found.position, len(found.batches)) == (6, 1)
    assert taken_from(overflow(12), 4, 9) == TakenBatches([], 4, UNKNOWN_EPOCH, is_empty=True)


def test_fault_31_a_batch_behind_the_high_watermark_is_an_error_if_it_stays() -> None:
    found = taken_from(stored(1, 1), 0, 4, high_watermark=2)
    assert (found.position, len(found.batches)) == (2, 1)
    assert "of t-0 at offset 2: a batch begins there" in str(found.misplaced)


def test_a_marker_before_the_position_ends_an_aborted_transaction() -> None:
    log = (marker(7, ABORT), in_transaction(7, b"committed"), marker(7, COMMIT))
    records = b"".join(placed(batch, at, epoch=0).data for at, batch in enumerate(log))
    aborted = PartitionData.AbortedTransaction(producer_id=7, first_offset=0)
    data = PartitionData(records=records, high_watermark=3, aborted_transactions=[aborted])
    taken = take_batches(data, OffsetRange(PARTITION, 1, 3), check_crcs=True)
    assert [batch.header.base_offset for batch in taken.batches] == [1]


def at(base_offset: int, *values: bytes) -> bytes:
    return placed(batch_of(*values), base_offset, epoch=0).data


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    "records",
    [
        at(0, b"a", b"b") + at(1, b"c"),
        at(0, b"a") + at(100, b"b"),
        wrapped(0, at=9) + wrapped(0, at=5),
        wrapped(0, at=9) + wrapped(0, at=100),
        plain(0, 1, 2, 3 + (1 << 40)),
    ],
    ids=[
        "overlapping batches",
        "batch behind the high watermark",
        "overlapping wrappers",
        "wrapper behind the high watermark",
        "message behind the high watermark",
    ],
)
def test_fault_31_impossible_base_offsets(records: bytes) -> None:
    with pytest.raises(CorruptRecordError, match=r"of t-0 at offset \d+: a batch begins there"):
        raise taken_from(records, 0, 200).misplaced or AssertionError


def test_fault_31_a_damaged_last_offset_hides_no_batch() -> None:
    """Its last offset delta is before the position, and its checksum is wrong."""
    damaged = bytearray(at(10, *[b"a"] * 10))
    damaged[23:27] = (2).to_bytes(4, "big")  # last offset delta
    damaged[57:61] = (3).to_bytes(4, "big")  # records count
    with pytest.raises(CorruptRecordError, match="of t-0 at offset 10: the CRC-32C"):
        taken_from(bytes(damaged) + at(20, *[b"b"] * 5), 15, 25)


@pytest.mark.parametrize(
    ("records", "until", "crc"),
    [(at(0, b"a") + flipped(at(1, b"b")), 1, "CRC-32C"), (flipped(plain(0, 1, 2)), 2, "CRC-32 ")],
    ids=["batch", "message"],
)
def test_fault_31_damage_behind_the_range_is_ignored(records: bytes, until: int, crc: str) -> None:
    assert taken_from(records, 0, until).position == until
    with pytest.raises(CorruptRecordError, match=f"of t-0 at offset {until}: the {crc}"):
        taken_from(records, 0, until + 1)


@pytest.mark.parametrize(
    ("records", "start", "until", "spans"),
    [
        (plain(0, 1) + wrapped(0, 1, at=3) + at(4, b"a", b"b"), 0, 6, [(0, 2), (0, 4), (4, 6)]),
        # The first offset of a wrapper is known only after decompression.
        (wrapped(5, 6, 7, at=17) + wrapped(0, at=18), 10, 16, [(0, 18)]),
    ],
    ids=["all formats", "a wrapper around the end"],
)
def test_fault_37_old_message_formats(
    records: bytes, start: int, until: int, spans: list[tuple[int, int]]
) -> None:
    found = taken_from(records, start, until)
    headers = [batch.header for batch in found.batches]
    assert [(header.base_offset, header.next_offset) for header in headers] == spans


@pytest.mark.parametrize(
    "topic",
    [
        Topic(topic="u", topic_id=ID, partitions=[PartitionData()]),
        Topic(topic_id=uuid.UUID(int=8), partitions=[PartitionData()]),
        Topic(topic="t", partitions=[PartitionData(partition_index=1)]),
    ],
    ids=["another name", "another id", "another partition"],
)
def test_fault_39_unrequested_and_repeated_partitions_are_ignored(topic: Topic) -> None:
    with pytest.raises(OutOfStepError, match="Fetch: the response lacks the partition"):
        partition_data(FetchResponse(responses=[topic]), PARTITION, ID, "Fetch")
    data = PartitionData(high_watermark=5)
    twice = [Topic(topic_id=ID, partitions=[data, PartitionData()])] * 2
    found = FetchResponse(responses=[topic, *twice])
    assert partition_data(found, PARTITION, ID, "Fetch") is data


def test_fault_40_errors_of_the_response_and_of_the_partition() -> None:
    refusal = int(ErrorCode.KAFKA_STORAGE_ERROR)
    part = Topic(topic="t", partitions=[PartitionData(error_code=refusal)])
    for response in (FetchResponse(responses=[part]), FetchResponse(error_code=refusal)):
        with pytest.raises(BrokerError, match=r"Fetch: .*KAFKA_STORAGE_ERROR"):
            partition_data(response, PARTITION, ID, "Fetch")


def test_fault_41_an_empty_response_over_a_quota() -> None:
    data = partition_data(FetchResponse(throttle_time_ms=1), PARTITION, ID, "")
    assert not data.records
    assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (-1, -1, -1)


def test_fault_41_an_unknown_high_watermark_is_no_bound() -> None:
    found = taken_from(stored(1, 4), 0, 4, high_watermark=-1)
    assert (found.position, len(found.batches), found.misplaced) == (4, 2, None)
