"""What an answer is to a read, without anybody who sends it; more of it is in `test_fetch`."""

from __future__ import annotations

import uuid

import pytest

from kafka_protocol.client.consumer.fetch_response import (
    UNKNOWN_EPOCH,
    Cut,
    PartitionData,
    cut,
    partition_data,
)
from kafka_protocol.errors import BrokerError, CorruptRecordError, ErrorCode, OutOfStepError
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from tests.fakes.log import Log, batch_of

PARTITION = TopicPartition("t", 0)
ID = uuid.UUID(int=7)

Topic = FetchResponse.FetchableTopicResponse


def stored(*epochs: int) -> bytes:
    """One batch of two records for each epoch."""
    log = Log()
    for epoch in epochs:
        log.append(batch_of(b"a", b"b"), epoch)
    return log.read(0, log.end_offset, 10_000, first_whole=True)


def cut_of(records: bytes, start: int, until: int, **data: int) -> Cut:
    data = {"high_watermark": 100} | data
    answer = PartitionData(records=records, **data)  # type: ignore[arg-type]
    return cut(answer, OffsetRange(PARTITION, start, until), check_crcs=True)


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
def test_a_read_goes_on_behind_the_last_batch_and_knows_its_epoch(
    start: int, until: int, position: int, epoch: int, count: int
) -> None:
    found = cut_of(stored(1, 4, 5), start, until)
    assert (found.position, found.epoch, len(found.batches)) == (position, epoch, count)
    assert (found.is_empty, found.doubt) == (False, None)


def test_fault_20_old_formats_know_no_epochs() -> None:
    found = cut_of(encode_messages([Message(0, 1, None, b"a")], 1), 0, 1)
    assert (found.position, found.epoch) == (1, UNKNOWN_EPOCH)


def test_fault_29_nothing_whole() -> None:
    whole = stored(1)
    for length in range(len(whole)):
        found = cut_of(whole[:length], 0, 2)
        assert found == Cut([], 0, UNKNOWN_EPOCH, is_empty=True)


def test_fault_31_what_may_pass_and_what_may_not() -> None:
    found = cut_of(stored(1, 1), 0, 4, high_watermark=2)
    assert (found.position, len(found.batches)) == (2, 1)
    assert "of t-0 at offset 2: a batch begins there" in str(found.doubt)
    with pytest.raises(CorruptRecordError, match="of t-0 at offset 0: a batch begins there"):
        cut_of(stored(1) * 2, 0, 4)


def answer_of(*topics: FetchResponse.FetchableTopicResponse, **fields: int) -> FetchResponse:
    return FetchResponse(responses=[*topics], **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "topic",
    [
        Topic(topic="u", topic_id=ID, partitions=[PartitionData()]),
        Topic(topic_id=uuid.UUID(int=8), partitions=[PartitionData()]),
        Topic(topic="t", partitions=[PartitionData(partition_index=1)]),
    ],
)
def test_fault_39_what_was_not_asked_for_is_no_answer(topic: Topic) -> None:
    with pytest.raises(OutOfStepError, match="the question: the answer lacks the partition"):
        partition_data(answer_of(topic), PARTITION, ID, "the question")
    data = PartitionData(high_watermark=5)
    found = answer_of(topic, Topic(topic_id=ID, partitions=[data]))
    assert partition_data(found, PARTITION, ID, "the question") is data


def test_fault_40_errors_of_the_whole_and_of_the_part() -> None:
    refusal = int(ErrorCode.KAFKA_STORAGE_ERROR)
    part = Topic(topic="t", partitions=[PartitionData(error_code=refusal)])
    for answer in (answer_of(part), answer_of(error_code=refusal)):
        with pytest.raises(BrokerError, match=r"the question: .*KAFKA_STORAGE_ERROR"):
            partition_data(answer, PARTITION, ID, "the question")


def test_fault_41_nothing_at_all_over_quota() -> None:
    assert not partition_data(answer_of(throttle_time_ms=1), PARTITION, ID, "").records
