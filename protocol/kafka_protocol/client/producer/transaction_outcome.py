"""What became of a transaction by the logs that it wrote to, when its coordinator tells no more.

A coordinator knows the end of a transaction until another one begins under the same id, or until
transactional.id.expiration.ms has passed. Its records say for longer whether they are committed.
"""

from __future__ import annotations

from dataclasses import replace

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.errors import OffsetOutOfRangeError, TopicGoneError
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.client.pool import shared_cluster
from kafka_protocol.client.producer.transactions import OutcomeUnknownError, Transaction
from kafka_protocol.records.batch import BatchHeader, RecordBatch
from kafka_protocol.topic_partition import OffsetRange, TopicPartition


def was_committed(
    config: ClientConfig,
    transaction: Transaction,
    topic_partition: TopicPartition,
    offset: int | None,
    deadline: Deadline,
) -> bool:
    """Whether a transaction was committed, or else aborted.

    Args:
        config: How to talk to the cluster.
        transaction: Which. If it is open, or is still being ended, this waits for its end.
        topic_partition: A partition that it wrote to.
        offset: Of a record that it wrote there; None where brokers told none.
        deadline: When to give up.

    Raises:
        OutcomeUnknownError: There is no such record any more, or it is not known where.
        KafkaTimeoutError: An open transaction, this or another one, hides that record.
        KafkaError: The partition cannot be read.
    """
    if offset is None:
        raise OutcomeUnknownError(
            f"What became of {transaction} is not known: no broker told where its records are"
        )
    wanted = OffsetRange(topic_partition, offset, offset + 1)
    for isolation_level, is_committed in (("read_committed", True), ("read_uncommitted", False)):
        if _is_there(
            replace(config, isolation_level=isolation_level), transaction, wanted, deadline
        ):
            return is_committed
    raise _gone(transaction, wanted)


def _is_there(
    config: ClientConfig, transaction: Transaction, wanted: OffsetRange, deadline: Deadline
) -> bool:
    """Whether who reads in this way finds a record of the transaction at an offset."""
    cluster = shared_cluster(config)
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
        # The cleaner leaves headers of aborted batches too, without a sign of that.
        and not header.is_empty
        and header.base_offset <= offset < header.next_offset
        and (header.producer_id, header.producer_epoch) == transaction.producer
    )


def _gone(transaction: Transaction, wanted: OffsetRange) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"What became of {transaction} is not known: its record at offset {wanted.from_offset} of "
        f"{wanted.topic_partition} is not there any more (the retention time, compaction, or a "
        "topic that was deleted)"
    )
