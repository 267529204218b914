"""Finds the transactions of a prefix that no driver will end, and ends them.

An attempt that was killed leaves its transaction open, and so does a copy that lost (speculation).
Readers of committed records wait for each, until kafka.transaction.timeout.ms has passed. Never
decides which transactions commit: that is `exactly_once`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import shared_cluster
from kafka_protocol.client.producer.open_transactions import (
    EMPTY,
    fence_all,
    list_open,
    transaction_state,
)
from kafka_protocol.client.producer.transactions import Transaction, TransactionFencedError
from kafka_protocol.errors import KafkaError, UnsupportedVersionError
from kafka_spark_source.options.write import Identity

_log = logging.getLogger(__name__)

# How long the driver tries. The next driver ends the other transactions.
_END_MS: Final = 5_000

# How many attempts of a task are fenced at brokers below 3.0: the default of
# spark.task.maxFailures.
_ATTEMPTS: Final = 4


def end_stale(
    config: ClientConfig,
    identity: Identity,
    driver: Transaction,
    tasks: Collection[int],
) -> None:
    """End every open transaction of the tasks of a prefix. No task may need its transaction now.

    Does nothing where another driver has claimed the prefix since. A transaction that cannot be
    ended now is logged: it delays readers, and no record is lost. `tasks` are numbers of tasks that
    may have written, for brokers below 3.0, which cannot list transactions.
    """
    cluster = shared_cluster(config)
    deadline = Deadline.after(_END_MS)
    try:
        ids = _open_ids(cluster, identity, driver, deadline)
    except UnsupportedVersionError:
        ids = {identity.task_id(task, each) for task in tasks for each in range(_ATTEMPTS)}
    except KafkaError as error:
        _warn(identity, error)
        return
    if not ids:
        return
    for name, failure in fence_all(cluster, ids, deadline).items():
        if failure is not None:
            _log.warning("Transaction %r is not rolled back yet: %s", name, failure)


def _open_ids(
    cluster: Cluster, identity: Identity, driver: Transaction, deadline: Deadline
) -> set[str]:
    pattern = rf"{re.escape(identity.prefix)}-[0-9]+-[0-9]+"
    listing = list_open(cluster, pattern, deadline)
    for error in listing.errors:
        _warn(identity, error)
    ids = {each for each in listing.ids if re.fullmatch(pattern, each)}
    if not ids:
        return ids
    state = transaction_state(cluster, driver.transactional_id, deadline)
    # Otherwise they belong to another driver's tasks.
    return ids if state.producer == driver.producer else set()


def _warn(identity: Identity, error: KafkaError) -> None:
    _log.warning(
        "Open transactions of prefix %r cannot be listed now; brokers roll them back after "
        "kafka.transaction.timeout.ms: %s",
        identity.prefix,
        error,
    )


def check_undecided(config: ClientConfig, driver: Transaction) -> None:
    """Check in a task that its transaction can still be of use.

    The driver ends open transactions when it has decided, so the task must end a transaction that
    it begins later. Brokers below 3.0 cannot describe transactions: nothing is checked.

    Raises:
        TransactionFencedError: The micro-batch is decided, or another driver has the prefix.
        KafkaError: The coordinator of the driver's id cannot be reached.
    """
    deadline = Deadline.after(config.max_block_ms)
    try:
        state = transaction_state(shared_cluster(config), driver.transactional_id, deadline)
    except UnsupportedVersionError:
        return
    if state.producer != driver.producer:
        why = "another driver has claimed the prefix"
    elif state.name != EMPTY:
        why = "its driver has decided which transactions commit"
    else:
        return
    raise TransactionFencedError(
        f"This attempt is too late: {why} ({driver}, {state.name}). Its rows are rolled back",
        may_have_timed_out=False,
    )
