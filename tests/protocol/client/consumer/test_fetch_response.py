"""The batches taken from a Fetch response, without a broker; `test_fetch` has more."""

from __future__ import annotations

import uuid

import pytest

from kafka_protocol.client.consumer.fetch_response import (
    UNKNOWN_EPOCH,
    PartitionData,
    TakenBatches,
    partition_data,
    take_batches,
)
from kafka_protocol.errors import BrokerError, CorruptRecordError, ErrorCode, OutOfStepError
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from tests.fakes.log import Log, batch_of
from tests.protocol.records.batches import overflow, plain

PARTITION = TopicPartition("t", 0)
ID = uuid.UUID(int=7)

Topic = FetchResponse.FetchableTopicResponse


def stored(*epochs: int) -> bytes:
    """One batch of two records for each epoch."""
    log = Log()
    for epoch in epochs:
        log.append(batch_of(b"a", b"b"), epoch)
    return log.read(0, log.end_offset, 10_000, first_whole=True)


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


def test_fault_31_misplaced_batches_are_an_error_now_or_later() -> None:
    found = taken_from(stored(1, 1), 0, 4, high_watermark=2)
    assert (found.position, len(found.batches)) == (2, 1)
    assert "of t-0 at offset 2: a batch begins there" in str(found.misplaced)
    with pytest.raises(CorruptRecordError, match="of t-0 at offset 0: a batch begins there"):
        taken_from(stored(1) * 2, 0, 4)


@pytest.mark.parametrize(
    "topic",
    [
        Topic(topic="u", topic_id=ID, partitions=[PartitionData()]),
        Topic(topic_id=uuid.UUID(int=8), partitions=[PartitionData()]),
        Topic(topic="t", partitions=[PartitionData(partition_index=1)]),
    ],
    ids=["another name", "another id", "another partition"],
)
def test_fault_39_other_topics_and_partitions_are_ignored(topic: Topic) -> None:
    with pytest.raises(OutOfStepError, match="Fetch: the response lacks the partition"):
        partition_data(FetchResponse(responses=[topic]), PARTITION, ID, "Fetch")
    data = PartitionData(high_watermark=5)
    found = FetchResponse(responses=[topic, Topic(topic_id=ID, partitions=[data])])
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
