"""The options of a write -> one value. Pure: no I/O, no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.partitioners import Partitioner, the_one_of
from kafka_spark_source.options.names import CLIENT_PREFIX, by_key, check_names, client_options
from kafka_spark_source.options.table import Table, Use


@dataclass(frozen=True, slots=True)
class Identity:
    """Who writes exactly once.

    Attributes:
        prefix: Of all its transactional ids; no two writers at a time may have the same.
        commit_log: The topic of its decisions.
    """

    prefix: str
    commit_log: str


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a write was asked for, of a batch or of a stream.

    Attributes:
        topic: For all rows, trimmed; None where a column says it. `schema.check_sink_schema`
            checks it, together with that column.
        partitioner: Where rows go that name no partition.
        exactly_once: Who writes; None for at least once.
        kafka: The client's options without `kafka.`, names in lower case. Secrets: kept from repr.
    """

    topic: str | None
    partitioner: Partitioner
    exactly_once: Identity | None
    kafka: Mapping[str, str] = field(repr=False)


def parse_write_options(options: Mapping[str, str]) -> WriteOptions:
    """Read the options of `df.write`.

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
        partitioner=the_one_of({row.name: row.value_if_in(given) for row in _PARTITIONERS}),
        exactly_once=identity,
        kafka=kafka,
    )


# A micro-batch is one transaction to each task, from its first row until the driver commits, so
# Java's minute is short. This is as long as brokers allow by default.
_TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"
_LONGEST_TRANSACTION_MS: Final = "900000"


def _identity(given: Mapping[str, str]) -> Identity | None:
    """Who writes exactly once; None where that is not asked for."""
    prefix = (Table.TRANSACTIONAL_ID_PREFIX.value_if_in(given) or "").strip()
    if Table.DELIVERY_GUARANTEE.value_in(given):
        if not prefix:
            raise KafkaConfigError(
                "Option 'deliveryGuarantee' is 'exactly_once', which needs the option "
                "'transactionalIdPrefix': a name that this query keeps through its restarts, and "
                "that no other query or job has."
            )
        return Identity(prefix, Table.COMMIT_LOG_TOPIC.value_in(given).strip())
    alone = [row.name for row in _ONLY_EXACTLY_ONCE if row.key in given]
    if alone:
        raise KafkaConfigError(
            f"Option '{alone[0]}' is for exactly-once writes: set the option 'deliveryGuarantee' "
            "to 'exactly_once', or remove it."
        )
    return None


_ONLY_EXACTLY_ONCE: Final = (Table.TRANSACTIONAL_ID_PREFIX, Table.COMMIT_LOG_TOPIC)


_PARTITIONERS: Final = (Table.PARTITIONER, Table.PARTITIONER_CLASS, Table.PARTITIONER_IGNORE_KEYS)
