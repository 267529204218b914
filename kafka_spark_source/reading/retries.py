"""Retries of planning on the driver, for batches and streams. Knows nothing of the plan itself."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import KafkaError
from kafka_spark_source.options.read import ReadOptions

T = TypeVar("T")

_log = logging.getLogger(__name__)


def with_retries(
    plan: Callable[[Deadline], T],
    cluster: Cluster,
    options: ReadOptions,
    *,
    is_running: bool = False,
) -> T:
    """Plan; after a retriable error wait, and plan again with new connections.

    Fail fast on a new query (wrong address); keep retrying on a running one (broker restart).

    `plan` is called with the deadline of one attempt. It uses `cluster`, whose connections are
    closed after each failed attempt. With `is_running`, retries last `default.api.timeout.ms` at
    least.

    Raises:
        KafkaError: From the last attempt, or not retriable.
    """
    timeout_ms = cluster.config.api_timeout_ms
    patience = Deadline.after(timeout_ms if is_running else 0)
    attempts = 1
    while True:
        try:
            return plan(Deadline.after(timeout_ms))
        except KafkaError as error:
            is_last = attempts >= options.planning_attempts and patience.has_passed
            if is_last or not error.retriable:
                raise
            _log.warning("Planning failed and will be retried: %s", error)
        cluster.close()
        sleep_ms(options.planning_interval_ms)
        attempts += 1
