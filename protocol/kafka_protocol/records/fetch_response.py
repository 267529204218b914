"""A Fetch response -> the batches of the requested range, and the next position of the read.

Everything is checked first: batches may be of another partition, incomplete, misplaced, damaged or
of an aborted transaction. No I/O, no retries, no decompression.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from kafka_protocol.errors import BrokerError, CorruptRecordError, OutOfStepError
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.records.batch import BatchHeader, RecordBatch, check_crc, read_batches
from kafka_protocol.records.transactions import AbortedTransaction, AbortedTransactions
from kafka_protocol.topic_partition import OffsetRange, TopicPartition

PartitionData: TypeAlias = FetchResponse.FetchableTopicResponse.PartitionData

UNKNOWN_EPOCH: Final = -1
UNKNOWN_OFFSET: Final = -1


class Fetched(NamedTuple):
    """The batches of one response, and the offsets of their records that are new (`window`).

    The first batch can begin before the window, and the last one can end after it.
    """

    window: OffsetRange
    batches: Sequence[RecordBatch]


class TakenBatches(NamedTuple):
    """The batches taken from one Fetch response, and where to continue."""

    batches: Sequence[RecordBatch]  # each holds a part of the range
    position: int  # the next offset of the read
    epoch: int  # the leader epoch of the last batch; UNKNOWN_EPOCH in the old formats
    is_empty: bool  # whether the response has no complete batch
    # The error to raise if a batch stays at or above the high watermark.
    misplaced: CorruptRecordError | None = None
    size: int = 0  # the bytes of the response up to `position`


def partition_data(
    response: FetchResponse, topic_partition: TopicPartition, topic_id: uuid.UUID, context: str
) -> PartitionData:
    """The data of one partition in a response; where a quota was exceeded, empty and all unknown.

    From v13 on responses have topic ids and no names. `context` is API, partition and broker.

    Raises:
        BrokerError: The response, or the data, has an error code.
        OutOfStepError: The response lacks the partition.
    """
    if response.error_code:
        raise BrokerError(response.error_code, context)
    if response.throttle_time_ms > 0 and not response.responses:  # point: throttled-response
        # As brokers since 2.0 respond over a quota (KIP-219). It says nothing about the log.
        return PartitionData(high_watermark=UNKNOWN_OFFSET)
    partitions = [
        data
        for topic in response.responses
        if (topic.topic == topic_partition.topic if topic.topic else topic.topic_id == topic_id)
        for data in topic.partitions
        if data.partition_index == topic_partition.partition
    ]
    if not partitions:
        raise OutOfStepError(f"{context}: the response lacks the partition")
    if partitions[0].error_code:
        raise BrokerError(partitions[0].error_code, context)
    return partitions[0]


class TakeBatches(Protocol):
    """How the batches of a range are taken from a response; payloads stay compressed."""

    def __call__(self, data: PartitionData, rest: OffsetRange, *, check_crcs: bool) -> TakenBatches:
        """Take them, from the position of the read on.

        Raises:
            CorruptRecordError: A batch is damaged. Nothing of the response may be used.
        """


def take_batches(data: PartitionData, rest: OffsetRange, *, check_crcs: bool) -> TakenBatches:
    """Take the batches with records for the reader: no control batches, and no aborted ones."""
    hidden = AbortedTransactions(
        AbortedTransaction(aborted.producer_id, aborted.first_offset)
        for aborted in data.aborted_transactions or ()
    )
    return _take(data, rest, hidden.advance, check_crcs=check_crcs)


def take_all_batches(data: PartitionData, rest: OffsetRange, *, check_crcs: bool) -> TakenBatches:
    """Take every batch, control batches too."""
    return _take(data, rest, lambda _: False, check_crcs=check_crcs)


def _take(
    data: PartitionData,
    rest: OffsetRange,
    is_hidden: Callable[[RecordBatch], bool],
    *,
    check_crcs: bool,
) -> TakenBatches:
    try:
        return _take_batches(data, rest, is_hidden, check_crcs=check_crcs)
    except CorruptRecordError as error:
        raise CorruptRecordError(
            error.reason, offset=error.offset, topic_partition=rest.topic_partition
        ) from error


def _take_batches(
    data: PartitionData,
    rest: OffsetRange,
    is_hidden: Callable[[RecordBatch], bool],
    *,
    check_crcs: bool,
) -> TakenBatches:
    position, epoch = rest.from_offset, UNKNOWN_EPOCH
    wanted: list[RecordBatch] = []
    is_empty, misplaced, size = True, None, 0
    for batch in read_batches(memoryview(data.records or b""), rest.until_offset):
        is_empty = False
        header = batch.header
        # No checksum covers the offset of a batch, so it is compared with other known offsets.
        if rest.from_offset < position and header.stated_offset < position:
            raise _misplaced(header.stated_offset, data, rest, position)
        if UNKNOWN_OFFSET < data.high_watermark <= header.stated_offset:
            # Brokers read the high watermark before the log: the next response has a later one.
            # point: old-high-watermark
            misplaced = _misplaced(header.stated_offset, data, rest, position)
            break
        if header.base_offset >= rest.until_offset:
            # Compaction removed the rest of the range.
            position = rest.until_offset  # point: offset-gaps
            break
        if check_crcs:
            check_crc(batch)
        size += batch.batch_bytes
        # point: aborted-records
        hides = is_hidden(batch)  # for each batch: a marker before the position counts
        if header.next_offset <= position:
            continue
        if not hides:
            wanted.append(batch)
        position = header.next_offset
        epoch = header.partition_leader_epoch if isinstance(header, BatchHeader) else UNKNOWN_EPOCH
        if position >= rest.until_offset:
            # Batches after the range can be newer than the high watermark of the response.
            break
    return TakenBatches(wanted, position, epoch, is_empty, misplaced, size)


def _misplaced(
    offset: int, data: PartitionData, rest: OffsetRange, position: int
) -> CorruptRecordError:
    return CorruptRecordError(
        f"a batch begins there, while the read is at offset {position} and the high watermark at "
        f"{data.high_watermark}",
        offset=offset,
        topic_partition=rest.topic_partition,
    )
