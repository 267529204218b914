"""Open transactions: their age, the records that readers wait for, and which may be aborted.

A transaction of an exactly-once write that its driver has decided to commit must not be aborted:
its records would be lost, or written again. The commit log says which prefixes have such ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.producer.open_transactions import (
    ONGOING,
    TransactionState,
    fence_all,
    list_open,
    transaction_state,
)
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError, UnsupportedVersionError
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.writing.log_reader import LogView, read_log
from kafka_spark_source.writing.log_state import decided_key

# `<prefix>-<task>-<attempt>`, and the id of a driver.
_OF_A_WRITE: Final = re.compile(r"(.+)-(?:\d+-\d+|driver)")


class TransactionError(KafkaError):
    """A transaction must not be aborted, or is not open."""


class Held(NamedTuple):
    """A partition of an open transaction.

    Attributes:
        last_stable: Where readers of committed records wait, for this transaction or another one.
        latest: The end of the log.
    """

    topic: str
    partition: int
    last_stable: int
    latest: int

    @property
    def waiting(self) -> int:
        """The number of offsets that readers wait for."""
        return max(0, self.latest - self.last_stable)


class OpenTransaction(NamedTuple):
    """A transaction that has begun and not ended.

    Attributes:
        started_ms: When it began, by the coordinator's clock, in ms since 1970.
        timeout_ms: How long after that the coordinator aborts it.
        held: Its partitions.
        is_decided: Whether it may have been decided to commit; None if the commit log cannot be
            read.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    started_ms: int
    timeout_ms: int
    held: tuple[Held, ...]
    is_decided: bool | None


class Listed(NamedTuple):
    """Open transactions, by id, and the errors of transactions that could not be described."""

    transactions: tuple[OpenTransaction, ...]
    errors: tuple[KafkaError, ...]


def list_transactions(cluster: Cluster, prefix: str, commit_log: str, deadline: Deadline) -> Listed:
    """Open transactions whose ids begin with a prefix; all of them for an empty one.

    Raises:
        UnsupportedVersionError: The brokers are older than 3.0.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    # (?s): without it, no pattern with a dot finds an id with a line break.
    opened = list_open(cluster, f"(?s){re.escape(prefix)}.*", deadline)
    errors = [*opened.errors]
    states: dict[str, TransactionState] = {}
    for name in sorted(each for each in opened.ids if each.startswith(prefix)):
        try:
            state = transaction_state(cluster, name, deadline)
        except BrokerError as error:
            errors.append(error)
        else:
            if state.name == ONGOING:
                states[name] = state
    ends = _ends(cluster, {tp for each in states.values() for tp in each.partitions}, errors)
    log = _CommitLog(cluster, commit_log, deadline)
    return Listed(
        tuple(
            OpenTransaction(
                name,
                *state.producer,
                state.started_ms,
                state.timeout_ms,
                tuple(Held(*tp, *ends[tp]) for tp in sorted(state.partitions) if tp in ends),
                log.may_be_decided_or_none(name, errors),
            )
            for name, state in states.items()
        ),
        tuple(dict.fromkeys(errors)),
    )


def check_undecided(
    cluster: Cluster, transactional_id: str, commit_log: str, deadline: Deadline
) -> None:
    """Check that a transaction is open, and may be aborted without a loss.

    Raises:
        TransactionError: It is not open, or its driver has decided to commit it.
        KafkaError: This cannot be found out.
    """
    try:
        state = transaction_state(cluster, transactional_id, deadline).name
    except UnsupportedVersionError:
        state = ONGOING  # brokers below 3.0 cannot describe transactions
    if state != ONGOING:
        raise TransactionError(
            f"Transaction {transactional_id!r} is not open: it is in the state {state}."
        )
    if _CommitLog(cluster, commit_log, deadline).may_be_decided(transactional_id):
        raise TransactionError(
            f"Transaction {transactional_id!r} must not be aborted: its driver may have decided to "
            "commit it. Start its query again, which commits it."
        )


def abort_transaction(cluster: Cluster, transactional_id: str, deadline: Deadline) -> None:
    """Abort an open transaction, and fence its producer, if that is still alive.

    Call `check_undecided` first.

    Raises:
        KafkaError: It may not be aborted, or its coordinator cannot be reached.
    """
    error = fence_all(cluster, [transactional_id], deadline)[transactional_id]
    if error is not None:
        raise error


class _CommitLog:
    """The decisions of exactly-once writes, read once."""

    def __init__(self, cluster: Cluster, topic: str, deadline: Deadline) -> None:
        self._cluster = cluster
        self._topic = topic
        self._deadline = deadline
        self._view = cache(self._read)

    def _read(self) -> LogView | None:
        """None if there is no such topic, so nothing was decided."""
        metadata = self._cluster.settled_topics([self._topic], self._deadline)[self._topic]
        if metadata.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        if metadata.error_code:
            raise BrokerError(metadata.error_code, f"Metadata of the commit log {self._topic!r}")
        return read_log(self._cluster, TopicPartition(self._topic, 0), self._deadline)

    def may_be_decided(self, transactional_id: str) -> bool:
        """Whether the prefix of an id has a decision that may not be carried out yet.

        Raises:
            KafkaError: The log cannot be read.
        """
        match = _OF_A_WRITE.fullmatch(transactional_id)
        view = self._view() if match else None
        if match is None or view is None:
            return False
        prefix = match[1]
        if any(each.key == decided_key(prefix) for each in view.open_records):
            return True
        last = view.state.decision(prefix, f"The last decision about {prefix!r} in {self._topic}")
        return last is not None and not last.is_done

    def may_be_decided_or_none(
        self, transactional_id: str, errors: list[KafkaError]
    ) -> bool | None:
        """The same; None, and an error more, if the log cannot be read."""
        try:
            return self.may_be_decided(transactional_id)
        except KafkaError as error:
            errors.append(error)
            return None


def _ends(
    cluster: Cluster, partitions: Iterable[TopicPartition], errors: list[KafkaError]
) -> Mapping[TopicPartition, tuple[int, int]]:
    """The last stable offset and the end of each log."""
    positions = dict.fromkeys(partitions, LATEST_TIMESTAMP)
    deadline = Deadline.after(cluster.config.api_timeout_ms)
    try:
        stable, latest = (
            _listed(cluster, positions, level, deadline)
            for level in ("read_committed", "read_uncommitted")
        )
    except KafkaError as error:
        errors.append(error)
        return {}
    return {tp: (stable[tp], latest[tp]) for tp in positions}


def _listed(
    cluster: Cluster, positions: Mapping[TopicPartition, int], level: str, deadline: Deadline
) -> dict[TopicPartition, int]:
    own = replace(cluster.config, isolation_level=level)
    with closing(Cluster(own)) as reader:
        return list_offsets(reader, positions, deadline)
