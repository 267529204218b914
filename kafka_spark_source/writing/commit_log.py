"""The commit log: a compacted topic that keeps the last decision of each transactionalIdPrefix.

A decision lists the transactions to commit. The driver writes it in a transaction of its own, so a
driver that was replaced is fenced and decides nothing. Once that transaction has committed, the
decision is final, whatever process dies. A second record says that the decision was carried out.

Carries nothing out: that is `exactly_once`. Never imports pyspark.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import shared_cluster, shared_producer
from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import Transaction, begin
from kafka_protocol.errors import KafkaError
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.write import Identity
from kafka_spark_source.writing.commit_log_topic import ensure_topic
from kafka_spark_source.writing.decision_format import (
    MAX_PART_BYTES,
    CommitLogError,
    Decision,
    DecisionHead,
    to_json,
)
from kafka_spark_source.writing.log_reader import (
    SNAPSHOT_AFTER_RECORDS,
    LogView,
    read_log,
    read_records,
)
from kafka_spark_source.writing.log_state import (
    SNAPSHOT_KEY,
    LoggedDecision,
    decided_key,
    done_key,
    part_key,
)

_log = logging.getLogger(__name__)

# A transaction of the log takes about as long as a request, so one that a dead driver left open may
# be aborted soon.
_TRANSACTION_TIMEOUT_MS: Final = 10_000

# Above every part of a decision, whatever the rows of the query may be.
_MIN_REQUEST_BYTES: Final = 2 * MAX_PART_BYTES


class CommitLog:
    """The decisions of one prefix. Many prefixes share a topic; it is created if missing."""

    def __init__(self, config: ClientConfig, identity: Identity) -> None:
        own = replace(
            config,
            isolation_level="read_uncommitted",  # point: commit-log-end
            transaction_timeout_ms=min(config.transaction_timeout_ms, _TRANSACTION_TIMEOUT_MS),
            max_request_bytes=max(config.max_request_bytes, _MIN_REQUEST_BYTES),
        )
        self._cluster = shared_cluster(own)
        self._partition = TopicPartition(identity.commit_log, 0)
        self._identity = identity

    def take_over(self) -> Transaction:
        """Take the prefix over, and fence the driver that had it: it can decide nothing more.

        Returns:
            The transaction for the next decision.

        Raises:
            KafkaError: As from `transactions.begin`.
        """
        return begin(self._cluster, self._identity.driver_id, self._deadline())

    def last_decision(self) -> LoggedDecision | None:
        """The last decision; None if there is none yet. Call `take_over` first.

        Raises:
            CommitLogError: The record cannot be parsed, or brokers would delete decisions.
            KafkaError: The log cannot be read.
        """
        ensure_topic(self._cluster, self._identity, self._deadline())
        view = read_log(self._cluster, self._partition, self._deadline())
        if any(record.key == self._key for record in view.open_records):
            raise CommitLogError(f"{self._where} is in an open transaction: start again")
        last = view.state.decision(self._identity.prefix, self._where)
        if view.folded_records > SNAPSHOT_AFTER_RECORDS:
            self._write_snapshot(view)
        return last

    def read(self, logged: LoggedDecision) -> Decision:
        """The whole of a decision.

        Raises:
            CommitLogError: It is not there, or cannot be parsed.
            KafkaError: The log cannot be read.
        """
        records = read_records(
            self._cluster, self._partition, logged.first_offset, logged.last_offset
        )
        heads = [each for each in records.get(self._key, []) if each.offset == logged.last_offset]
        if not heads:
            raise CommitLogError(
                f"{self._where} should be at offset {logged.last_offset}, and is not there: "
                "another program wrote to the topic, or an unclean leader election truncated it"
            )
        head = DecisionHead.from_json(heads[0].value or b"", self._where)
        parts = [records.get(part_key(self._identity.prefix, n), []) for n in range(head.parts)]
        return head.with_parts([each[-1].value or b"" for each in parts if each], self._where)

    def decide(self, decision: Decision) -> None:
        """Write a decision. Once this returns, it is final.

        Raises:
            TransactionFencedError: Another driver has claimed the prefix. Nothing is decided.
            OutcomeUnknownError: It may be decided: read `last_decision` after the next `take_over`.
            KafkaError: Nothing is decided.
        """
        *parts, head = decision.to_json()
        producer = Producer(self._cluster, decision.driver_transaction)
        try:
            for number, part in enumerate(parts):
                self._write(producer, part_key(self._identity.prefix, number), part)
            self._write(producer, self._key, head)
        except BaseException:
            producer.abandon()
            raise
        end(self._cluster, decision.driver_transaction, committed=True, deadline=self._deadline())

    def note_done(self, decision: Decision) -> None:
        """Write that a decision was carried out, so that no later run does it again.

        Raises:
            KafkaError: It may not be written.
        """
        producer_id = to_json([*decision.driver_transaction.producer])
        with shared_producer(self._cluster.config) as producer:
            self._write(producer, done_key(self._identity.prefix), producer_id)

    @property
    def _key(self) -> bytes:
        return decided_key(self._identity.prefix)

    @property
    def _where(self) -> str:
        return f"The last decision about {self._identity.prefix!r} in {self._partition}"

    def _deadline(self) -> Deadline:
        return Deadline.after(self._cluster.config.max_block_ms)

    def _write_snapshot(self, view: LogView) -> None:
        """Shorten the next read, of any prefix. It may fail: then another driver does it."""
        try:
            snapshot = view.state.snapshot(view.until, now_ms(), self._identity.retention_ms)
            with shared_producer(self._cluster.config) as producer:
                self._write(producer, SNAPSHOT_KEY, snapshot.to_json())
        except KafkaError as error:
            _log.info("Cannot write a snapshot of the commit log %s: %s", self._partition, error)

    def _write(self, producer: Producer, key: bytes, value: bytes) -> None:
        # Imported late: an import of this module must not load Arrow.
        import numpy as np  # noqa: PLC0415

        from kafka_protocol.columnar.arrays.arrow_memory import array_of_bytes  # noqa: PLC0415
        from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches  # noqa: PLC0415

        now = np.array([now_ms()])
        record = RecordColumns(array_of_bytes([key]), array_of_bytes([value]), now, None)
        for batch in encode_batches(record, CompressionCodec.LZ4):
            producer.add(self._partition, batch.data)
        producer.flush()
