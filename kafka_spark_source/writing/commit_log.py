"""What exactly-once writes have decided, in a compacted topic: one decision for each prefix.

A decision names the transactions that commit. It is written in a transaction of the driver's own,
so a driver that another one has replaced cannot decide any more; and once that has committed, the
decision stands, whatever dies. What is decided is carried out by `exactly_once`.

Only the last decision of a prefix counts, and a record beside it says that it was carried out.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic, topic_config
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.client.consumer.list_offsets import list_positions
from kafka_protocol.client.pool import shared_cluster, shared_producer
from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import Transaction, begin
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError, UnsupportedVersionError
from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.options.write import Identity

log = logging.getLogger(__name__)

_FORMAT: Final = 1

# A reader waits for the transactions of others, which are as short as a request: one that a
# driver left open is to be gone soon.
_TRANSACTION_TIMEOUT_MS: Final = 10_000

# Small segments are compacted soon, so that there is little to read.
_TOPIC_CONFIGS: Final = {"cleanup.policy": "compact", "segment.bytes": str(1024 * 1024)}


class MicroBatch(NamedTuple):
    """A micro-batch: the id of its query, which the checkpoint keeps, and its number."""

    query: str
    number: int


class TaskWrite(NamedTuple):
    """What one task wrote.

    Attributes:
        partition: Which of the tasks it was.
        records: How many records.
        transaction: In which transaction; None where it wrote none.
        joined: A partition that has joined it.
        offset: Of a record of it there; None where brokers told none.
    """

    partition: int
    records: int
    transaction: Transaction | None = None
    joined: TopicPartition | None = None
    offset: int | None = None


def transactions_of(writes: Iterable[TaskWrite]) -> dict[Transaction, TaskWrite]:
    """Those of the tasks that wrote anything."""
    return {write.transaction: write for write in writes if write.transaction is not None}


@dataclass(frozen=True, slots=True)
class Decision:
    """Which transactions commit.

    Attributes:
        claim: The driver's transaction in which this is written.
        micro_batch: What they wrote; None for a batch query.
        writes: All tasks.
    """

    claim: Transaction
    micro_batch: MicroBatch | None
    writes: tuple[TaskWrite, ...]

    @property
    def transactions(self) -> dict[Transaction, TaskWrite]:
        """Those of the tasks that wrote anything."""
        return transactions_of(self.writes)

    def to_json(self) -> bytes:
        """As it stands in the topic."""
        # Named tuples become lists.
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
        """Read it back.

        Raises:
            CommitLogError: It is not one, or of a newer version of this project.
        """
        try:
            found = json.loads(text)
            if found["version"] > _FORMAT:
                raise CommitLogError(
                    f"{where} is of version {found['version']}, and this release of pykafka knows "
                    f"{_FORMAT}: use the newer release that has written it"
                )
            batch = found["micro_batch"]
            return cls(
                Transaction(*found["claim"]),
                batch and MicroBatch(*batch),
                tuple(_write(*each) for each in found["writes"]),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise CommitLogError(f"{where} is no decision of pykafka's: {error!r}") from None


class CommitLogError(KafkaError):
    """The log of decisions cannot be relied on."""


class CommitLog:
    """The decisions of one writer.

    Args:
        config: How to talk to the cluster.
        identity: Whose decisions, and in which topic. That is shared by many, and is created where
            it is missing.
    """

    def __init__(self, config: ClientConfig, identity: Identity) -> None:
        self._everything = shared_cluster(config)
        committed = replace(
            config,
            isolation_level="read_committed",
            transaction_timeout_ms=min(config.transaction_timeout_ms, _TRANSACTION_TIMEOUT_MS),
        )
        self._committed = shared_cluster(committed)
        self._partition = TopicPartition(identity.commit_log, 0)
        self._prefix = identity.prefix
        self._decided = f"decided {identity.prefix}".encode()
        self._done = f"done {identity.prefix}".encode()

    def claim(self) -> Transaction:
        """Take the prefix over: who had it before can decide nothing more.

        Returns:
            The transaction in which the next decision is written.

        Raises:
            KafkaError: As from `transactions.begin`.
        """
        return begin(self._committed, f"{self._prefix}-driver", self._soon())

    def last(self) -> tuple[Decision | None, bool]:
        """The last decision, and whether it was carried out. Call `claim` first.

        Raises:
            CommitLogError: What stands there cannot be understood.
            KafkaError: The log cannot be read; KafkaTimeoutError, while a transaction of another
                writer's is open.
        """
        self._create()
        found = dict(self._records())  # of each key the newest value
        decided = found.get(self._decided)
        if decided is None:
            return None, True
        where = f"The last decision about {self._prefix!r} in {self._partition}"
        decision = Decision.from_json(decided, where)
        return decision, found.get(self._done) == _identity(decision)

    def decide(self, decision: Decision) -> None:
        """Write a decision. Once this returns, it stands.

        Raises:
            TransactionFencedError: Another driver has claimed the prefix. Nothing is decided.
            OutcomeUnknownError: It may stand, or not; the next `claim` and `last` tell.
            KafkaError: Nothing is decided.
        """
        producer = Producer(self._committed, decision.claim)
        try:
            self._write(producer, self._decided, decision.to_json())
        except BaseException:
            producer.abandon()
            raise
        end(self._committed, decision.claim, committed=True, deadline=self._soon())

    def note_done(self, decision: Decision) -> None:
        """Write that a decision was carried out, so that nobody does it again.

        Raises:
            KafkaError: It is not written.
        """
        with shared_producer(self._everything.config) as producer:
            self._write(producer, self._done, _identity(decision))

    def _soon(self) -> Deadline:
        return Deadline.after(self._committed.config.max_block_ms)

    def _write(self, producer: Producer, key: bytes, value: bytes) -> None:
        # Only who writes needs Arrow.
        import numpy as np  # noqa: PLC0415
        import pyarrow as pa  # noqa: PLC0415

        from kafka_protocol.columnar.encode import RecordColumns, encode_batches  # noqa: PLC0415

        now = np.array([time.time_ns() // 1_000_000])
        record = RecordColumns(pa.array([key]), pa.array([value]), now, None)
        for batch in encode_batches(record, CompressionCodec.LZ4):
            producer.add(self._partition, batch.data)
        producer.flush()

    def _records(self) -> Iterator[tuple[bytes, bytes]]:
        """All that is committed, up to what anybody has written by now."""
        from kafka_protocol.columnar.decode import decode_batches  # noqa: PLC0415

        config = self._committed.config
        for fetched in fetch_range(self._committed, self._range(), config.api_timeout_ms):
            for batch in decode_batches(
                fetched.batches,
                fetched.window,
                ["key", "value"],
                max_decompressed_bytes=config.max_decompressed_bytes,
            ):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _range(self) -> OffsetRange:
        # The high watermark, not the last stable offset: a decision of ours may stand behind the
        # open transaction of another writer's, and is to be waited for.
        ends = (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP)
        found = list_positions(self._everything, {self._partition: ends}, self._soon())
        first, until = (found[self._partition][each] for each in ends)
        return OffsetRange(self._partition, first, until)

    def _create(self) -> None:
        topic = self._partition.topic
        known = self._everything.topics([topic], self._soon())[topic]
        if not known.error_code:
            _check_compacted(self._everything.config, topic)
            return
        if known.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise BrokerError(known.error_code, f"Cannot read the commit log, topic {topic!r}")
        try:
            _create_topic(self._everything, topic, self._soon())
        except BrokerError as error:
            if error.error is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise CommitLogError(
                    f"{error}. Option 'commitLogTopic' names the topic that exactly-once writes "
                    f"keep their decisions in. Create it with 1 partition and "
                    f"cleanup.policy=compact, or grant CREATE on it"
                ) from None


@cache
def _check_compacted(config: ClientConfig, topic: str) -> None:
    """Once in a process: a decision that is deleted is forgotten, and its rows written again."""
    deadline = Deadline.after(config.max_block_ms)
    try:
        policy = topic_config(shared_cluster(config), topic, "cleanup.policy", deadline)
    except (BrokerError, UnsupportedVersionError) as error:
        log.warning("Whether topic %r is compacted, as it must be, is not known: %s", topic, error)
        return
    if policy != "compact":
        raise CommitLogError(
            f"Topic {topic!r}, which is to keep the decisions of exactly-once writes, has "
            f"cleanup.policy={policy}, so that brokers will delete them: set it to compact, or "
            "name another topic in the option 'commitLogTopic'"
        )


def _create_topic(cluster: Cluster, topic: str, deadline: Deadline) -> None:
    """With as many replicas as the brokers think right, which only newer ones can be left."""
    new = NewTopic(topic, replication_factor=-1, configs=_TOPIC_CONFIGS)
    try:
        create_topic(cluster, new, deadline)
    except (BrokerError, UnsupportedVersionError) as error:
        if isinstance(error, BrokerError) and error.error not in _NO_DEFAULT:
            raise
        create_topic(cluster, new._replace(replication_factor=_OLD_REPLICAS), deadline)


# What brokers below 2.4 say to -1 (KIP-464).
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
