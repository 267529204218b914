"""Checks the options of a write, and returns them as one frozen value. Pure: no I/O, no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_formats.options.formats import WriteFormatOptions, parse_write_formats
from kafka_formats.options.option import Use
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.partitioners import Partitioner, single_partitioner
from kafka_spark_source.options.names import (
    CLIENT_PREFIX,
    argument_in,
    by_key,
    check_names,
    client_options,
)
from kafka_spark_source.options.table import Table


@dataclass(frozen=True, slots=True)
class Identity:
    """Who an exactly-once write is, and where it keeps its decisions.

    Attributes:
        prefix: The beginning of its transactional ids. Two writes at a time must not share it.
        commit_log: The topic of its commit log.
        replication_factor: The replicas of that topic when it is created; None for three, or as
            many as there are brokers.
        retention_ms: When a prefix without writes is forgotten.
    """

    prefix: str
    commit_log: str
    replication_factor: int | None = None
    retention_ms: int = 30 * 24 * 60 * 60 * 1000

    @property
    def driver_id(self) -> str:
        """The transactional id of the driver."""
        return f"{self.prefix}-driver"

    def task_id(self, partition: int, attempt: int) -> str:
        """The transactional id of an attempt of a task."""
        return f"{self.prefix}-{partition}-{attempt}"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a batch write or a streaming write.

    Attributes:
        topic: The topic of all rows, trimmed; None for the column `topic`.
            `schema.check_sink_schema` checks that there is one of them.
        partitioner: Chooses the partition of rows without one.
        exactly_once: The identity of an exactly-once write; None for at least once.
        formats: The formats of encoded columns; None if no column is encoded.
        argument: The argument of save() or start(), without effect, if it could name topics; else
            None.
        kafka: The client's options without `kafka.`, names in lower case. Secrets: kept from repr.
    """

    topic: str | None
    partitioner: Partitioner
    exactly_once: Identity | None
    formats: WriteFormatOptions | None
    argument: str | None
    kafka: Mapping[str, str] = field(repr=False)


def parse_write_options(options: Mapping[str, str]) -> WriteOptions:
    """Check the options of `df.write`.

    Raises:
        KafkaConfigError: An option is missing, unknown, contradictory or has an unusable value.
    """
    given = by_key(options)
    check_names(given, Use.WRITE)
    kafka = client_options(given, Use.WRITE)
    for row in _PARTITIONERS:
        kafka.pop(row.key.removeprefix(CLIENT_PREFIX), None)
    identity = _identity(given)
    if identity is not None:
        kafka = {_TRANSACTION_TIMEOUT: _LONGEST_TRANSACTION_MS} | kafka
    return WriteOptions(
        topic=Table.TOPIC.value_if_in(given),
        partitioner=single_partitioner({row.name: row.value_if_in(given) for row in _PARTITIONERS}),
        exactly_once=identity,
        formats=parse_write_formats(given),
        argument=argument_in(given),
        kafka=kafka,
    )


# Each task of a micro-batch has one transaction, from its first row until the driver commits. That
# can be longer than Java's default of a minute; this is the longest that brokers allow by default.
_TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"
_LONGEST_TRANSACTION_MS: Final = "900000"


def _identity(given: Mapping[str, str]) -> Identity | None:
    """The identity of an exactly-once write; None for at least once."""
    prefix = (Table.TRANSACTIONAL_ID_PREFIX.value_if_in(given) or "").strip()
    if Table.DELIVERY_GUARANTEE.value_in(given):
        if not prefix:
            raise KafkaConfigError(
                "Option 'deliveryGuarantee' is 'exactly_once', which needs the option "
                "'transactionalIdPrefix': a name that this query keeps through its restarts, and "
                "that no other query or job uses."
            )
        return Identity(
            prefix,
            Table.COMMIT_LOG_TOPIC.value_in(given),
            Table.COMMIT_LOG_REPLICATION_FACTOR.value_if_in(given),
            Table.COMMIT_LOG_RETENTION.value_in(given),
        )
    unused = [row.name for row in _ONLY_EXACTLY_ONCE if row.key in given]
    if unused:
        raise KafkaConfigError(
            f"Option '{unused[0]}' is for exactly-once writes: set the option 'deliveryGuarantee' "
            "to 'exactly_once', or remove it."
        )
    return None


_ONLY_EXACTLY_ONCE: Final = (
    Table.TRANSACTIONAL_ID_PREFIX,
    Table.COMMIT_LOG_TOPIC,
    Table.COMMIT_LOG_REPLICATION_FACTOR,
    Table.COMMIT_LOG_RETENTION,
)


_PARTITIONERS: Final = (Table.PARTITIONER, Table.PARTITIONER_CLASS, Table.PARTITIONER_IGNORE_KEYS)
