"""Which topics no broker of the cluster knows.

For a topic whose id was seen before this means that it was deleted: it existed, and brokers hear of
a new topic within a second or so of each other. `topic_watch` decides how often they must say it.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import Final

from kafka_protocol.client.broker.broker import SentRequest
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.exchange import exchange
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.wire.schema import VersionRange

# How long brokers may take for their responses. A silent one is not waited for.
_ROUND_MS: Final = 2_000

# The first version with topic ids (KIP-516); older brokers may confuse old and new topics.
_WITH_TOPIC_IDS: Final = VersionRange(10, MetadataRequest.versions.highest)


def unknown_to_all(cluster: Cluster, topics: Collection[str]) -> set[str]:
    """Send a request to every broker, unless there are no topics.

    Returns:
        The topics that no broker knows; empty if a broker does not respond.
    """
    if not topics:
        return set()
    deadline = Deadline.after(_ROUND_MS)
    node_ids = cluster.node_ids
    named = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(topics)]

    def send(node_id: int) -> SentRequest:
        request = MetadataRequest(topics=named, allow_auto_topic_creation=False)
        return cluster.broker(node_id, deadline).send(request, deadline, _WITH_TOPIC_IDS)

    responses = exchange(node_ids, send, MetadataResponse, deadline).responses.values()
    unknown = set(topics) if node_ids and len(responses) == len(node_ids) else set()
    for _, response in responses:
        unknown &= _unknown_in(response, node_ids)
    return unknown


def _unknown_in(response: MetadataResponse, node_ids: AbstractSet[int]) -> set[str]:
    """The topics that a broker does not know, if it knows of no other brokers than `node_ids`."""
    listed = {broker.node_id for broker in response.brokers}
    if not listed or not listed <= node_ids:
        return set()  # a broker that is starting lists no topics, and others may have it
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return {topic.name or "" for topic in response.topics if topic.error_code == unknown}
