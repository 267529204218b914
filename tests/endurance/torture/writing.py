"""Carries out plans, with librdkafka. Every wait has a deadline."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.admin import SOON_SECONDS, Admin
from tests.endurance.torture import segments
from tests.endurance.torture.ledger import Ledger
from tests.endurance.torture.messages import acknowledged_row
from tests.endurance.torture.records import NewRecord, records_of
from tests.endurance.torture.rows import Row
from tests.endurance.torture.topics import (
    NO_LIMIT,
    RETENTION_BYTES,
    AddPartitions,
    Compact,
    DeleteRecords,
    Recreate,
    Retain,
    Step,
    TopicPlan,
    Transaction,
    Write,
)

MESSAGE_MAX_BYTES = 4_194_304
"""The brokers' limit of a batch."""

# Room for what a codec adds to a batch that does not compress.
_PRODUCER_MAX_BYTES = 4_000_000
_FILES_SECONDS = 60


class Writer:
    """Makes, writes and changes the topic of a plan.

    Attributes:
        partitions: How many the topic has now.
        ledger: What was acknowledged.
    """

    def __init__(
        self,
        kafka: KafkaCluster,
        servers: str,
        admin: Admin,
        plan: TopicPlan,
        partitions: int = 0,
        ledger: Ledger | None = None,
    ) -> None:
        self._kafka = kafka
        self._servers = servers
        self._admin = admin
        self._plan = plan
        self.partitions = partitions
        self.ledger = ledger or Ledger()

    def write(self) -> None:
        """Makes the topic, and carries out all steps of the plan."""
        self._create(self._plan.partitions)
        for step in self._plan.steps:
            self.carry_out(step)

    def carry_out(self, step: Step) -> None:
        """Carries out one step, and waits until nothing of it is under way."""
        match step:
            case Write():
                self._write(step)
            case Transaction(write, committed):
                self._write_transaction(write, committed)
            case DeleteRecords(shares):
                self._delete(shares)
            case AddPartitions(partitions):
                self.partitions = max(self.partitions, partitions)
                self._admin.add_partitions(self._plan.topic, self.partitions)
            case Recreate(partitions):
                self._admin.delete(self._plan.topic)
                self.ledger.forget()
                self._create(partitions)
            case Compact():
                self._wait_for("compaction", self._is_compacted)
            case Retain(share):
                self._retain(share)
        self._wait_for("the end of transactions", self._is_stable)

    def _create(self, partitions: int) -> None:
        self._admin.create(self._plan.topic, partitions, self._plan.config)
        self.partitions = partitions

    def _write(self, write: Write) -> None:
        producer = Producer(self._options(write))
        self._produce(producer, write, committed=True)

    def _write_transaction(self, write: Write, committed: bool) -> None:
        transactional = {"transactional.id": f"{self._plan.topic} {uuid.uuid4().hex}"}
        options = self._options(write) | transactional
        producer = Producer(options | {"enable.idempotence": True})
        producer.init_transactions(SOON_SECONDS)
        producer.begin_transaction()
        # Aborted records must be in the log to be worth anything: they are acknowledged here.
        self._produce(producer, write, committed=committed)
        end = producer.commit_transaction if committed else producer.abort_transaction
        end(SOON_SECONDS)

    def _options(self, write: Write) -> dict[str, str | int | bool]:
        producing = write.producing
        # Without sequence numbers a batch that is sent again would come after a later one.
        in_flight = 5 if producing.idempotent else 1
        return {
            "bootstrap.servers": self._servers,
            "acks": "all",
            "enable.idempotence": producing.idempotent,
            "max.in.flight.requests.per.connection": in_flight,
            "compression.type": producing.codec,
            "batch.size": producing.batch_size,
            "linger.ms": producing.linger_ms,
            "message.max.bytes": _PRODUCER_MAX_BYTES,
            "delivery.timeout.ms": SOON_SECONDS * 1_000,
            "log_level": 2,
        }

    def _produce(self, producer: Producer, write: Write, *, committed: bool) -> None:
        rows: list[Row] = []
        errors: list[KafkaError] = []
        for record in records_of(write, self.partitions):
            producer.produce(
                self._plan.topic,
                record.value,
                record.key,
                record.partition,
                on_delivery=partial(_acknowledged, record, rows, errors),
                timestamp=record.timestamp,
                headers=list(record.headers),
            )
            producer.poll(0)
        left = producer.flush(SOON_SECONDS)
        if errors:
            raise KafkaException(errors[0])
        if left:
            raise TimeoutError(f"{self._plan.topic}: {left} records are not acknowledged")
        self.ledger.add(rows, committed=committed)

    def _delete(self, shares: tuple[float, ...]) -> None:
        topic, partitions = self._plan.topic, self.partitions
        starts = self._admin.starts(topic, partitions)
        ends = self._admin.ends(topic, partitions)
        before = {
            partition: starts[partition] + int(share * (ends[partition] - starts[partition]))
            for partition, share in enumerate(shares[:partitions])
        }
        self._admin.delete_records(topic, before)

    def _retain(self, share: float) -> None:
        topic = self._plan.topic
        sizes = [sum(each.size for each in replica) for replica in self._replicas()]
        limit = int(share * max(sizes, default=0))
        self._admin.set_config(topic, RETENTION_BYTES, str(limit))
        try:
            self._wait_for("retention", lambda: self._is_retained(limit))
        finally:
            self._admin.set_config(topic, RETENTION_BYTES, NO_LIMIT)
        # Each replica deletes for itself. The log would begin elsewhere with another leader.
        firsts = {
            partition: segments.last_first_offset(self._kafka, topic, partition)
            for partition in range(self.partitions)
        }
        starts = self._admin.starts(topic, self.partitions)
        behind = {each: first for each, first in firsts.items() if first > starts[each]}
        self._admin.delete_records(topic, behind)

    def _replicas(self) -> list[list[segments.Segment]]:
        return list(segments.replicas(self._kafka, self._plan.topic, self.partitions))

    def _is_retained(self, limit: int) -> bool:
        return all(segments.is_retained(replica, limit) for replica in self._replicas())

    def _is_compacted(self) -> bool:
        return segments.is_compacted(self._kafka, self._plan.topic, self.partitions)

    def _is_stable(self) -> bool:
        """Whether the markers of all transactions are written and replicated."""
        topic, partitions = self._plan.topic, self.partitions
        stable = self._admin.stable_ends(topic, partitions)
        return stable == self._admin.ends(topic, partitions)

    def _wait_for(self, what: str, condition: Callable[[], bool]) -> None:
        if not Deadline(_FILES_SECONDS).wait_for(condition):
            raise TimeoutError(f"{self._plan.topic}: no {what} in {_FILES_SECONDS} s")


def _acknowledged(
    record: NewRecord,
    rows: list[Row],
    errors: list[KafkaError],
    error: KafkaError | None,
    message: Message,
) -> None:
    if error is None:
        rows.append(acknowledged_row(record, message))
    else:
        errors.append(error)
