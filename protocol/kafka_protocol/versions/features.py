"""The features of a cluster and the API versions that each needs (KIP-35).

A feature can be used if every broker that takes part in it serves these versions;
`negotiation.common_versions` combines the versions of several brokers. No request is sent or
declared here: an API is its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_protocol.versions.negotiation import BrokerVersions
from kafka_protocol.versions.releases import first_release
from kafka_protocol.wire.api_keys import ApiKey


class Feature(NamedTuple):
    """A feature that a cluster may have, and the lowest version of each API that it needs."""

    name: str
    needs: Mapping[ApiKey, int]

    def missing(self, versions: BrokerVersions) -> list[str]:
        """The missing API versions, one text each; empty if the feature can be used."""
        return [
            f"{key.name} v{lowest} (Kafka {first_release(key, lowest)} or newer)"
            for key, lowest in self.needs.items()
            if key not in versions.ranges or versions.ranges[key].highest < lowest
        ]

    def is_usable(self, versions: BrokerVersions) -> bool:
        """Whether brokers with these versions support it."""
        return not self.missing(versions)


FEATURES: Final = (
    Feature("offsets kept by the brokers", {ApiKey.OFFSET_COMMIT: 1, ApiKey.OFFSET_FETCH: 1}),
    Feature("record timestamps", {ApiKey.PRODUCE: 2, ApiKey.FETCH: 2}),  # KIP-32
    Feature("offsets by timestamp", {ApiKey.LIST_OFFSETS: 1}),  # KIP-79
    Feature("creating and deleting topics", {ApiKey.CREATE_TOPICS: 0, ApiKey.DELETE_TOPICS: 0}),
    Feature("record headers", {ApiKey.PRODUCE: 3, ApiKey.FETCH: 4}),  # KIP-82
    Feature("idempotent writes", {ApiKey.PRODUCE: 3, ApiKey.INIT_PRODUCER_ID: 0}),  # KIP-98
    Feature(  # KIP-98
        "transactions",
        {
            ApiKey.PRODUCE: 3,
            ApiKey.INIT_PRODUCER_ID: 0,
            ApiKey.ADD_PARTITIONS_TO_TXN: 0,
            ApiKey.END_TXN: 0,
        },
    ),
    Feature("reading committed records only", {ApiKey.FETCH: 4, ApiKey.LIST_OFFSETS: 2}),
    Feature("re-authentication", {ApiKey.SASL_AUTHENTICATE: 1}),  # KIP-368
    Feature("zstd", {ApiKey.PRODUCE: 7, ApiKey.FETCH: 10}),  # KIP-110
    Feature("fetching from the closest replica", {ApiKey.FETCH: 11}),  # KIP-392
    Feature("topic ids", {ApiKey.METADATA: 10, ApiKey.FETCH: 13}),  # KIP-516
)
