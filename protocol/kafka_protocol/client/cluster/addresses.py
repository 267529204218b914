"""The addresses of the cluster's brokers in Metadata responses. Opens no connection."""

from __future__ import annotations

import logging

from kafka_protocol.auth.mechanism import shown
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.messages.metadata import MetadataResponse

_log = logging.getLogger(__name__)


class Addresses:
    """The advertised addresses of one cluster.

    Attributes:
        by_node_id: The address of each broker.
        cluster_id: The cluster's id, from Kafka 0.10.1 on.
        are_wrong: Whether one of them led to another broker since the last update (KIP-1242).
    """

    def __init__(self) -> None:
        self.by_node_id: dict[int, Address] = {}
        self.cluster_id: str | None = None
        self.are_wrong = False

    def update(self, response: MetadataResponse) -> bool:
        """Take over the addresses in a response; returns whether they are another cluster's."""
        is_other = None not in (self.cluster_id, response.cluster_id) and (
            self.cluster_id != response.cluster_id
        )
        if is_other:
            _log.warning(
                "kafka.bootstrap.servers lead to cluster %s, and led to cluster %s before",
                shown(str(response.cluster_id)),
                shown(str(self.cluster_id)),
            )
        self.cluster_id = response.cluster_id
        if response.brokers:  # a broker that is starting lists no brokers
            self.by_node_id = {b.node_id: Address(b.host, b.port) for b in response.brokers}
            self.are_wrong = False
        return is_other
