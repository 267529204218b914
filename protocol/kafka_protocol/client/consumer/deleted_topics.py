"""Whether topics were deleted, according to every broker of the cluster.

A broker may not have heard of a topic yet, so one response proves nothing. It is different for a
topic whose id was seen before: it existed, and brokers hear of a new topic within a second or so of
each other. When every broker lacks it for longer than that, it was deleted. A topic of which only
the name is known, or a broker that cannot be asked, has to be waited for
(topic.metadata.propagation.max.ms); not here.
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
from kafka_protocol.schema import VersionRange

# How long every broker must lack a topic: as long as another topic id must be seen.
_DELETED_AFTER_MS: Final = 1_000

# How long brokers may take for one round of requests. A silent one is not waited for.
_ROUND_MS: Final = 2_000

# The first version with topic ids (KIP-516); older brokers may confuse old and new topics.
_WITH_TOPIC_IDS: Final = VersionRange(10, MetadataRequest.versions.highest)


class DeletedTopics:
    """Asks every broker for topics, again and again, until all have lacked them for a while."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._believed_at: dict[str, Deadline] = {}  # topics that every broker lacks

    def __repr__(self) -> str:
        return f"<DeletedTopics: every broker lacks {len(self._believed_at)} topics>"

    def deleted_among(self, topics: Collection[str]) -> set[str]:
        """Send a request to every broker, unless there are no topics.

        Args:
            topics: Topics whose ids were known, and which a broker lacks now.

        Returns:
            Those that every broker has lacked, in each call, for a second.
        """
        lacked = self._lacked_by_all(topics) if topics else set()
        later = Deadline.after(_DELETED_AFTER_MS)
        self._believed_at = {name: self._believed_at.get(name, later) for name in lacked}
        return {name for name, at in self._believed_at.items() if at.has_passed}

    def _lacked_by_all(self, topics: Collection[str]) -> set[str]:
        """The topics that no broker has; none of them if a broker cannot be asked."""
        deadline = Deadline.after(_ROUND_MS)
        node_ids = self._cluster.node_ids
        named = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(topics)]

        def send(node_id: int) -> SentRequest:
            request = MetadataRequest(topics=named, allow_auto_topic_creation=False)
            broker = self._cluster.broker(node_id, deadline)
            return broker.send(request, deadline, _WITH_TOPIC_IDS)

        responses = exchange(node_ids, send, MetadataResponse, deadline).responses.values()
        lacked = set(topics) if node_ids and len(responses) == len(node_ids) else set()
        for _, response in responses:
            lacked &= _lacked_in(response, node_ids)
        return lacked


def _lacked_in(response: MetadataResponse, node_ids: AbstractSet[int]) -> set[str]:
    """The topics that a broker does not know, if it knows of no other brokers than `node_ids`."""
    listed = {broker.node_id for broker in response.brokers}
    if not listed or not listed <= node_ids:
        return set()  # a broker that is starting lists none, and others may have the topic
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return {topic.name or "" for topic in response.topics if topic.error_code == unknown}
