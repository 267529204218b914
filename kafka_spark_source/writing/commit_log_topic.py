"""The topic of a commit log: created, and checked once in a process.

Knows nothing of its records.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Final, NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic, topic_config
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import request_metadata
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import shared_cluster
from kafka_protocol.errors import BrokerError, ErrorCode, UnsupportedVersionError
from kafka_spark_source.options.write import Identity
from kafka_spark_source.writing.decision_format import MAX_PART_BYTES, CommitLogError

_log = logging.getLogger(__name__)

# Small segments are compacted soon, and markers of transactions are of no use for long.
_TOPIC_CONFIGS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1024 * 1024),
    "delete.retention.ms": str(60 * 60 * 1000),
}

_REPLICAS: Final = 3

# The part of a decision, and more than the bytes that its record batch adds.
_MIN_MESSAGE_BYTES: Final = MAX_PART_BYTES + 20_000


class _Size(NamedTuple):
    brokers: int
    replicas: int  # of the topic's partition; 0 where there is none


def ensure_topic(cluster: Cluster, identity: Identity, deadline: Deadline) -> None:
    """Create the topic if it is missing; otherwise check once that it can keep decisions.

    Raises:
        CommitLogError: Brokers would delete decisions, or refuse large ones, or it cannot be
            created.
        KafkaError: Brokers cannot be reached, or do not describe the topic.
    """
    topic = identity.commit_log
    known = cluster.topics([topic], deadline)[topic]
    if not known.error_code:
        _check(cluster.config, topic)
        return
    if known.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise BrokerError(known.error_code, f"Cannot read the commit log, topic {topic!r}")
    replicas = identity.replication_factor or min(
        _REPLICAS, _size(cluster, topic, deadline).brokers
    )
    try:
        create_topic(cluster, NewTopic(topic, 1, replicas, _TOPIC_CONFIGS), deadline)
    except BrokerError as error:
        if error.error is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise CommitLogError(
                f"{error}. Option 'commitLogTopic' names the topic that exactly-once writes "
                f"keep their decisions in. Create it with 1 partition and "
                f"cleanup.policy=compact, or grant CREATE on it"
            ) from None


@cache
def _check(config: ClientConfig, topic: str) -> None:
    """Check once in a process: if a decision is deleted, its rows are written twice."""
    cluster = shared_cluster(config)
    deadline = Deadline.after(config.max_block_ms)
    size = _size(cluster, topic, deadline)
    if size.replicas == 1 < size.brokers:
        _log.warning(
            "Topic %r, which keeps the decisions of exactly-once writes, has one replica on a "
            "cluster of %d brokers: without its broker no such write can begin or commit, and if "
            "it loses its disk, micro-batches may be written twice. Give it three replicas",
            topic,
            size.brokers,
        )
    try:
        policy = topic_config(cluster, topic, "cleanup.policy", deadline)
        max_bytes = topic_config(cluster, topic, "max.message.bytes", deadline)
    except (BrokerError, UnsupportedVersionError) as error:
        _log.warning("Topic %r must be compacted; its configuration is not known: %s", topic, error)
        return
    if policy != "compact":
        raise CommitLogError(
            f"Topic {topic!r} must keep the decisions of exactly-once writes, but brokers would "
            f"delete them, since it has cleanup.policy={policy}: set it to compact, or name "
            "another topic in the option 'commitLogTopic'"
        )
    if max_bytes is not None and int(max_bytes) < _MIN_MESSAGE_BYTES:
        raise CommitLogError(
            f"Topic {topic!r} must keep the decisions of exactly-once writes, and it has "
            f"max.message.bytes={max_bytes}, too little for a decision about many tasks: set it "
            f"to {_MIN_MESSAGE_BYTES} or more, or name another topic in the option "
            "'commitLogTopic'"
        )


def _size(cluster: Cluster, topic: str, deadline: Deadline) -> _Size:
    response = cluster.with_any_broker(
        lambda broker, setup: request_metadata(broker, [topic], setup), deadline
    )
    replicas = [
        len(partition.replica_nodes)
        for each in response.topics
        if not each.error_code
        for partition in each.partitions
    ]
    return _Size(len(response.brokers), min(replicas, default=0))
