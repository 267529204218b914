"""Checks on the driver, before a task begins, that a write reaches its topic and may write to it.

Spark shows an error of a task with its stack in the JVM, an error of the driver as one sentence.
Rows that name their topics in a column are not looked at here. Never imports pyspark.
"""

from __future__ import annotations

import hashlib
import logging

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.rights import check_may_write
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import shared_cluster
from kafka_protocol.errors import BrokerConnectionError, BrokerError, KafkaTimeoutError
from kafka_spark_source.worker.worker import has_session_mark, set_session_mark

_log = logging.getLogger(__name__)


def check_write(config: ClientConfig, topic: str | None) -> None:
    """Connect, and look for the topic of the option `topic`; None if a column has the topics.

    Once a session has reached its brokers, they may be down for a while: tasks wait for them for
    longer than a driver should.

    Raises:
        KafkaError: No broker can be reached, within seconds; the brokers refuse the credentials; or
            the topic does not exist, is not created by them, or may not be written to.
    """
    deadline = Deadline.after(config.max_block_ms)
    servers = ",".join(map(str, config.bootstrap_servers))
    reached = f"reached-{hashlib.sha256(servers.encode()).hexdigest()[:16]}"
    try:
        _check_topic(shared_cluster(config), topic, deadline)
    except (BrokerConnectionError, KafkaTimeoutError) as error:
        if not has_session_mark(reached):
            raise
        _log.warning("The write begins, though its brokers do not respond now: %s", error)
    else:
        set_session_mark(reached)


def _check_topic(cluster: Cluster, name: str | None, deadline: Deadline) -> None:
    if name is None:
        cluster.topics([], deadline)
        return
    # A broker creates a missing topic if it may, as it would for a task.
    topic = cluster.settled_topics([name], deadline, create=True)[name]
    if topic.error_code:
        raise BrokerError(topic.error_code, f"Cannot write to topic {name!r}")
    check_may_write(cluster, name, deadline)
