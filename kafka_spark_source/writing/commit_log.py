"""The commit log: a compacted topic that keeps the last decision of each transactionalIdPrefix.

A decision lists the transactions to commit. The driver writes it in a transaction of its own, so a
driver that was replaced is fenced and decides nothing. Once that transaction has committed, the
decision is final, whatever process dies. A second record says that the decision was carried out.

Carries nothing out: that is `exactly_once`. Never imports pyspark.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, NamedTuple

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.admin import NewTopic, create_topic, topic_config
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.client.consumer.log_bounds import list_log_bounds
from kafka_protocol.client.pool import shared_cluster, shared_producer
from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import Transaction, begin
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError, UnsupportedVersionError
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.options.write import Identity

_log = logging.getLogger(__name__)

_FORMAT: Final = 1

# A reader waits for open transactions of other writers. One takes about as long as a request, so
# one that a dead driver left open may be aborted soon.
_TRANSACTION_TIMEOUT_MS: Final = 10_000

# Small segments are compacted soon, so a reader has little to read.
_TOPIC_CONFIGS: Final = {"cleanup.policy": "compact", "segment.bytes": str(1024 * 1024)}


class MicroBatch(NamedTuple):
    """A micro-batch: the id of its query, which the checkpoint keeps, and its number."""

    query: str
    number: int


class TaskWrite(NamedTuple):
    """What one task wrote. The fields and their order are a stored format.

    Attributes:
        partition: The number of the task.
        records: The number of records.
        transaction: The transaction that contains them; None if the task wrote none.
        joined: A topic partition of the transaction.
        offset: The offset of one of its records there; None if no broker returned one.
    """

    partition: int
    records: int
    transaction: Transaction | None = None
    joined: TopicPartition | None = None
    offset: int | None = None


def transactions_of(writes: Iterable[TaskWrite]) -> dict[Transaction, TaskWrite]:
    """The transactions of the tasks that wrote any records."""
    return {write.transaction: write for write in writes if write.transaction is not None}


@dataclass(frozen=True, slots=True)
class Decision:
    """The transactions that commit.

    Attributes:
        claim: The driver's transaction that contains this decision.
        micro_batch: The micro-batch that they wrote; None for a batch query.
        writes: One for each task.
    """

    claim: Transaction
    micro_batch: MicroBatch | None
    writes: tuple[TaskWrite, ...]

    @property
    def transactions(self) -> dict[Transaction, TaskWrite]:
        """The transactions of the tasks that wrote any records."""
        return transactions_of(self.writes)

    def to_json(self) -> bytes:
        """The value of its record: a stored format. Named tuples become lists."""
        return _json(
            {
                "version": _FORMAT,
                "claim": self.claim,
                "micro_batch": self.micro_batch,
                "writes": self.writes,
            }
        )

    @classmethod
    def from_json(cls, text: bytes, where: str) -> Decision:
        """Parse the value of a record.

        Raises:
            CommitLogError: It is no decision, or one of a newer version of this project.
        """
        try:
            found = json.loads(text)
            if found["version"] > _FORMAT:
                raise CommitLogError(
                    f"{where} is of version {found['version']}, and this release of pykafka knows "
                    f"{_FORMAT}: use the newer release that wrote it"
                )
            batch = found["micro_batch"]
            return cls(
                Transaction(*found["claim"]),
                batch and MicroBatch(*batch),
                tuple(_write(*each) for each in found["writes"]),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise CommitLogError(f"{where} is no decision of pykafka's: {error!r}") from None


class LoggedDecision(NamedTuple):
    """The last decision of a prefix, and whether the log says that it was carried out."""

    decision: Decision
    is_done: bool


class CommitLogError(KafkaError):
    """The commit log, or what it decided, cannot be relied on."""


class CommitLog:
    """The decisions of one prefix. Many prefixes share a topic; it is created if missing."""

    def __init__(self, config: ClientConfig, identity: Identity) -> None:
        self._uncommitted_reader = shared_cluster(config)
        committed = replace(
            config,
            isolation_level="read_committed",
            transaction_timeout_ms=min(config.transaction_timeout_ms, _TRANSACTION_TIMEOUT_MS),
        )
        self._committed_reader = shared_cluster(committed)
        self._partition = TopicPartition(identity.commit_log, 0)
        self._identity = identity
        self._decided = f"decided {identity.prefix}".encode()
        self._done = f"done {identity.prefix}".encode()

    def claim(self) -> Transaction:
        """Take the prefix over, and fence the driver that had it: it can decide nothing more.

        Returns:
            The transaction for the next decision.

        Raises:
            KafkaError: As from `transactions.begin`.
        """
        return begin(self._committed_reader, self._identity.driver_id, self._deadline())

    def last_decision(self) -> LoggedDecision | None:
        """The last decision; None if there is none yet. Call `claim` first.

        Raises:
            CommitLogError: The record cannot be parsed, or brokers would delete decisions.
            KafkaError: The log cannot be read; KafkaTimeoutError, while a transaction of another
                writer is open.
        """
        self._create_topic_if_missing()
        values = dict(self._records())  # the newest value of each key
        decided = values.get(self._decided)
        if decided is None:
            return None
        where = f"The last decision about {self._identity.prefix!r} in {self._partition}"
        decision = Decision.from_json(decided, where)
        return LoggedDecision(decision, values.get(self._done) == _identity(decision))

    def decide(self, decision: Decision) -> None:
        """Write a decision. Once this returns, it is final.

        Raises:
            TransactionFencedError: Another driver has claimed the prefix. Nothing is decided.
            OutcomeUnknownError: It may be decided: read `last_decision` after the next `claim`.
            KafkaError: Nothing is decided.
        """
        producer = Producer(self._committed_reader, decision.claim)
        try:
            self._write(producer, self._decided, decision.to_json())
        except BaseException:
            producer.abandon()
            raise
        end(self._committed_reader, decision.claim, committed=True, deadline=self._deadline())

    def note_done(self, decision: Decision) -> None:
        """Write that a decision was carried out, so that no later run does it again.

        Raises:
            KafkaError: It may not be written.
        """
        with shared_producer(self._uncommitted_reader.config) as producer:
            self._write(producer, self._done, _identity(decision))

    def _deadline(self) -> Deadline:
        return Deadline.after(self._committed_reader.config.max_block_ms)

    def _write(self, producer: Producer, key: bytes, value: bytes) -> None:
        # Imported late: an import of this module must not load Arrow.
        import numpy as np  # noqa: PLC0415
        import pyarrow as pa  # noqa: PLC0415

        from kafka_protocol.columnar.encode import RecordColumns, encode_batches  # noqa: PLC0415

        now = np.array([now_ms()])
        record = RecordColumns(pa.array([key]), pa.array([value]), now, None)
        for batch in encode_batches(record, CompressionCodec.LZ4):
            producer.add(self._partition, batch.data)
        producer.flush()

    def _records(self) -> Iterator[tuple[bytes, bytes]]:
        """The key and value of each committed record, up to the high watermark now."""
        from kafka_protocol.columnar.decode import decode_batches  # noqa: PLC0415

        config = self._committed_reader.config
        for fetched in fetch_range(self._committed_reader, self._range(), config.api_timeout_ms):
            for batch in decode_batches(
                fetched.batches,
                fetched.window,
                ["key", "value"],
                max_decompressed_bytes=config.max_decompressed_bytes,
            ):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _range(self) -> OffsetRange:
        # The high watermark, not the last stable offset: our decision may follow the open
        # transaction of another writer, and the read must wait for it.
        bounds = list_log_bounds(self._uncommitted_reader, self._partition, self._deadline())
        return OffsetRange(self._partition, *bounds)

    def _create_topic_if_missing(self) -> None:
        topic = self._partition.topic
        known = self._uncommitted_reader.topics([topic], self._deadline())[topic]
        if not known.error_code:
            _check_compacted(self._uncommitted_reader.config, topic)
            return
        if known.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise BrokerError(known.error_code, f"Cannot read the commit log, topic {topic!r}")
        try:
            _create_topic(self._uncommitted_reader, topic, self._deadline())
        except BrokerError as error:
            if error.error is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise CommitLogError(
                    f"{error}. Option 'commitLogTopic' names the topic that exactly-once writes "
                    f"keep their decisions in. Create it with 1 partition and "
                    f"cleanup.policy=compact, or grant CREATE on it"
                ) from None


@cache
def _check_compacted(config: ClientConfig, topic: str) -> None:
    """Check once in a process: if a decision is deleted, its rows are written twice."""
    deadline = Deadline.after(config.max_block_ms)
    try:
        policy = topic_config(shared_cluster(config), topic, "cleanup.policy", deadline)
    except (BrokerError, UnsupportedVersionError) as error:
        _log.warning("Topic %r must be compacted. Whether it is, is not known: %s", topic, error)
        return
    if policy != "compact":
        raise CommitLogError(
            f"Topic {topic!r} is to keep the decisions of exactly-once writes, but brokers would "
            f"delete them, since it has cleanup.policy={policy}: set it to compact, or name "
            "another topic in the option 'commitLogTopic'"
        )


def _create_topic(cluster: Cluster, topic: str, deadline: Deadline) -> None:
    """Create the topic with the brokers' default replication factor, where they support one."""
    new = NewTopic(topic, replication_factor=-1, configs=_TOPIC_CONFIGS)
    try:
        create_topic(cluster, new, deadline)
    except (BrokerError, UnsupportedVersionError) as error:
        if isinstance(error, BrokerError) and error.error not in _NO_DEFAULT:
            raise
        create_topic(cluster, new._replace(replication_factor=_OLD_REPLICAS), deadline)


# The errors of brokers below 2.4 for a replication factor of -1 (KIP-464).
_NO_DEFAULT: Final = (ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.INVALID_REQUEST)
_OLD_REPLICAS: Final = 3


def _write(
    partition: int,
    records: int,
    transaction: list[Any] | None,
    joined: list[Any] | None,
    offset: int | None,
) -> TaskWrite:
    return TaskWrite(
        partition,
        records,
        Transaction(*transaction) if transaction else None,
        TopicPartition(*joined) if joined else None,
        offset,
    )


def _identity(decision: Decision) -> bytes:
    return _json([decision.claim.producer_id, decision.claim.epoch])


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
