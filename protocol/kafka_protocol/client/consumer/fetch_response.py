"""The answer to a Fetch -> the batches that are wanted of it, and where the read goes on.

Nothing in an answer is believed before it is checked: its parts may be those of another partition,
cut short, misplaced, damaged or rolled back. No I/O, no retries, and nothing is unpacked.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from kafka_protocol.errors import BrokerError, CorruptRecordError, OutOfStepError
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.records.batch import BatchHeader, RecordBatch, check_crc, read_batches
from kafka_protocol.records.transactions import AbortedTransaction, AbortedTransactions
from kafka_protocol.topic_partition import OffsetRange, TopicPartition

PartitionData: TypeAlias = FetchResponse.FetchableTopicResponse.PartitionData

UNKNOWN_EPOCH: Final = -1


class Cut(NamedTuple):
    """What an answer is to a read.

    Attributes:
        batches: Those that hold a part of the range.
        position: The next offset of the read.
        epoch: The leader's, of the last batch; UNKNOWN_EPOCH where it does not say.
        is_empty: Whether not one whole batch came.
        doubt: An error to raise if it happens again and again.
    """

    batches: Sequence[RecordBatch]
    position: int
    epoch: int
    is_empty: bool
    doubt: CorruptRecordError | None = None


def partition_data(
    response: FetchResponse, topic_partition: TopicPartition, topic_id: uuid.UUID, context: str
) -> PartitionData:
    """The part of an answer that is about a partition; an empty one where a quota was exceeded.

    Args:
        response: The answer.
        topic_partition: What was asked for.
        topic_id: Likewise; from v13 on answers have no names.
        context: What was asked of whom, for errors.

    Raises:
        BrokerError: The answer, or that part, is an error.
        OutOfStepError: It is not there.
    """
    if response.error_code:
        raise BrokerError(response.error_code, context)
    if response.throttle_time_ms > 0 and not response.responses:
        return PartitionData()  # brokers since 2.0 hand out nothing at all then (KIP-219)
    answers = [
        data
        for topic in response.responses
        if (topic.topic == topic_partition.topic if topic.topic else topic.topic_id == topic_id)
        for data in topic.partitions
        if data.partition_index == topic_partition.partition
    ]
    if not answers:
        raise OutOfStepError(f"{context}: the answer lacks the partition")
    if answers[0].error_code:
        raise BrokerError(answers[0].error_code, context)
    return answers[0]


def cut(data: PartitionData, rest: OffsetRange, *, check_crcs: bool) -> Cut:
    """Take the batches out of an answer, and leave what is in them packed.

    Args:
        data: What came.
        rest: What is left of the range; it begins where the read stands.
        check_crcs: Whether to verify checksums.

    Raises:
        CorruptRecordError: A batch is damaged. Nothing of the answer is to be used then.
    """
    try:
        return _cut(data, rest, check_crcs=check_crcs)
    except CorruptRecordError as error:
        raise CorruptRecordError(
            error.reason, offset=error.offset, topic_partition=rest.topic_partition
        ) from error


def _cut(data: PartitionData, rest: OffsetRange, *, check_crcs: bool) -> Cut:
    position, epoch = rest.from_offset, UNKNOWN_EPOCH
    wanted: list[RecordBatch] = []
    is_empty, doubt = True, None
    hidden = AbortedTransactions(
        AbortedTransaction(aborted.producer_id, aborted.first_offset)
        for aborted in data.aborted_transactions or ()
    )
    for batch in read_batches(memoryview(data.records or b""), rest.until_offset):
        is_empty = False
        header = batch.header
        doubt = _refuse_misplaced(header.stated_offset, data, rest, position)
        if doubt is not None:
            break
        if header.base_offset >= rest.until_offset:
            # Compaction took what was left of the range; what follows nobody asked for.
            position = rest.until_offset
            break
        if check_crcs:
            check_crc(batch)
        is_hidden = hidden.hides(batch)
        if header.next_offset <= position:
            continue
        if not is_hidden:
            wanted.append(batch)
        position = header.next_offset
        epoch = header.partition_leader_epoch if isinstance(header, BatchHeader) else UNKNOWN_EPOCH
        if position >= rest.until_offset:
            # What follows can be newer than the high watermark that the answer states.
            break
    return Cut(wanted, position, epoch, is_empty, doubt)


def _refuse_misplaced(
    offset: int, data: PartitionData, rest: OffsetRange, position: int
) -> CorruptRecordError | None:
    """No checksum covers a batch's offset, so it is held against what is known otherwise.

    Returns:
        An error to raise if it happens again and again: a broker notes its high watermark before
        it reads its log, so the next answer has a later one.
    """
    goes_back = position > rest.from_offset and offset < position
    if not goes_back and offset < data.high_watermark:
        return None
    error = CorruptRecordError(
        f"a batch begins there, while the read is at offset {position} and the high watermark at "
        f"{data.high_watermark}",
        offset=offset,
        topic_partition=rest.topic_partition,
    )
    if goes_back:
        raise error
    return error
