"""The outcome of a transaction, from the logs that it wrote to, where its coordinator forgot it.

A coordinator knows the end of a transaction until the next one begins under the same id, or until
transactional.id.expiration.ms has passed. The records show for longer whether they are committed.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.errors import OffsetOutOfRangeError, TopicGoneError
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.client.producer.transactions import OutcomeUnknownError, Transaction
from kafka_protocol.records.batch import BatchHeader, RecordBatch
from kafka_protocol.topic_partition import OffsetRange, TopicPartition


class Views(NamedTuple):
    """One cluster with both isolation levels, read_committed and read_uncommitted."""

    committed: Cluster
    uncommitted: Cluster


def was_committed(
    views: Views,
    transaction: Transaction,
    topic_partition: TopicPartition,
    offset: int | None,
    deadline: Deadline,
) -> bool:
    """Whether a transaction was committed; otherwise it was aborted. Waits for its end.

    `offset` is the offset of one of its records in the partition; None if no broker returned one.

    Raises:
        OutcomeUnknownError: The record no longer exists, or its offset is not known.
        KafkaTimeoutError: An open transaction, this or another one, hides the record.
        KafkaError: The partition cannot be read.
    """
    if offset is None:
        raise OutcomeUnknownError(
            f"The outcome of {transaction} is unknown: no broker returned an offset of its records"
        )
    wanted = OffsetRange(topic_partition, offset, offset + 1)
    if _has_record(views.committed, transaction, wanted, deadline):  # point: forgotten-outcome
        return True
    if _has_record(views.uncommitted, transaction, wanted, deadline):
        return False
    raise _gone(transaction, wanted)


def _has_record(
    cluster: Cluster, transaction: Transaction, wanted: OffsetRange, deadline: Deadline
) -> bool:
    """Whether a read finds a record of the transaction at the offset."""
    try:
        return any(
            _is_of(batch, transaction, wanted.from_offset)
            for fetched in fetch_range(cluster, wanted, int(deadline.remaining_ms))
            for batch in fetched.batches
        )
    except (OffsetOutOfRangeError, TopicGoneError) as error:
        raise _gone(transaction, wanted) from error


def _is_of(batch: RecordBatch, transaction: Transaction, offset: int) -> bool:
    header = batch.header
    return (
        isinstance(header, BatchHeader)
        # Compaction leaves headers of aborted batches too, without a mark.
        and not header.is_empty
        and header.base_offset <= offset < header.next_offset
        and (header.producer_id, header.producer_epoch) == transaction.producer
    )


def _gone(transaction: Transaction, wanted: OffsetRange) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"The outcome of {transaction} is unknown: its record at offset {wanted.from_offset} of "
        f"{wanted.topic_partition} no longer exists (retention, compaction, or a topic that was "
        "deleted)"
    )
