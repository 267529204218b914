"""The configuration of simulated brokers, and the ranges of their delays in ms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_protocol.versions.releases import parse_release, served_by
from kafka_protocol.wire.api_keys import ApiKey
from kafka_protocol.wire.schema import VersionRange
from tests.simulation.kafka.addresses import address_of
from tests.simulation.kafka.services import APACHE, SERVICES, Service

# The first release with these.
_KEEPS_UNKNOWN_PRODUCERS: Final = (2, 5)  # KIP-360
_HAS_KRAFT: Final = (3, 3)
_VERIFIES_TRANSACTIONS: Final = (3, 6)  # KIP-890, first part
_LIMITS_TIMESTAMPS: Final = (3, 6)  # KIP-937
_WAITS_FOR_MIN_ISR: Final = (3, 7)  # KIP-966
_BUMPS_EPOCHS: Final = (4, 0)  # KIP-890, second part
_HAS_MAGIC_1: Final = (0, 10)
_HAS_MAGIC_2: Final = (0, 11)
_TELLS_LAG: Final = (2, 1)  # KIP-207
_HAS_TOPIC_IDS: Final = (2, 8)

# The lowest versions that 4.0 and later serve (KIP-896).
_LOWEST_SINCE_4: Final[Mapping[int, int]] = {
    ApiKey.FETCH: 4,
    ApiKey.LIST_OFFSETS: 1,
    ApiKey.OFFSET_COMMIT: 2,
    ApiKey.OFFSET_FETCH: 1,
    ApiKey.CREATE_TOPICS: 2,
    ApiKey.DELETE_TOPICS: 1,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 2,
    ApiKey.DESCRIBE_CONFIGS: 1,
}


class Delay(NamedTuple):
    """A range of ms; each delay is drawn from it."""

    least: float
    most: float


@dataclass(frozen=True)
class BrokerSettings:
    """What all brokers of a cluster have in common.

    Attributes:
        replication: From an append to the follower's Fetch, and again to the follower's disk.
        metadata: Until a broker hears of the controller's decision.
        markers: Until the leader of a partition gets a transaction's marker.
        loading: How long a new coordinator reads its log.
        request: How long a broker takes for a request.
        deletion: From the news of a topic's end until a broker has deleted its log.
        startup: Until a started broker may lead again.
        session_ms: A broker that is not heard of for so long loses its leaderships.
        replica_lag_ms: A follower that is behind for so long leaves the in-sync replicas.
        checkpoint_ms: How often high watermarks are written to disk.
        keeps_producers_ms: How long an idle producer is remembered (producer.id.expiration.ms).
        service: How they differ from Apache Kafka's.
        racks: The rack of each node; nodes without one have none.
        address_of: Host and port of each node, as its responses tell them.
    """

    replication: Delay = Delay(0.25, 2.5)
    metadata: Delay = Delay(0.5, 20)
    markers: Delay = Delay(0.5, 10)
    loading: Delay = Delay(1, 30)
    request: Delay = Delay(0.05, 0.5)
    startup: Delay = Delay(50, 500)
    deletion: Delay = Delay(0, 20)
    session_ms: float = 9_000
    replica_lag_ms: float = 30_000
    checkpoint_ms: float = 5_000
    keeps_producers_ms: float = 86_400_000
    default_replication: int = 3
    min_insync_replicas: int = 1
    max_message_bytes: int = 1_048_588
    fetch_max_bytes: int = 57_671_680
    max_transaction_timeout_ms: int = 900_000
    transaction_check_ms: float = 10_000
    coordinator_partitions: int = 4
    creates_topics: bool = False
    unclean_elections: bool = False
    cluster_id: str = "simulated-cluster-0001"
    service: Service = SERVICES[APACHE]
    racks: Mapping[int, str] = field(default_factory=dict)
    address_of: Callable[[int], tuple[str, int]] = address_of


_NOW: Final = Delay(0, 0)
IMMEDIATE: Final = BrokerSettings(
    replication=_NOW,
    metadata=_NOW,
    markers=_NOW,
    loading=_NOW,
    request=_NOW,
    startup=_NOW,
    deletion=_NOW,
    transaction_check_ms=0,
)
"""Without delays: for tests in real time."""


class Release:
    """What a release of Kafka does otherwise than others."""

    def __init__(self, name: str) -> None:
        self.name = name
        number = parse_release(name)
        self.number = number
        self.keeps_unknown_producers = number >= _KEEPS_UNKNOWN_PRODUCERS
        self.has_kraft = number >= _HAS_KRAFT
        self.verifies_transactions = number >= _VERIFIES_TRANSACTIONS
        self.limits_timestamps = number >= _LIMITS_TIMESTAMPS
        self.waits_for_min_isr = number >= _WAITS_FOR_MIN_ISR
        self.bumps_epochs = number >= _BUMPS_EPOCHS
        self.tells_lag = number >= _TELLS_LAG
        self.has_topic_ids = number >= _HAS_TOPIC_IDS
        self.magic = 2 if number >= _HAS_MAGIC_2 else 1 if number >= _HAS_MAGIC_1 else 0

    def __repr__(self) -> str:
        return f"<Release {self.name}>"

    def versions(self, service: Service = SERVICES[APACHE]) -> dict[int, VersionRange]:
        """API key -> the versions that it serves, in a service."""
        lowest = _LOWEST_SINCE_4 if self.number >= _BUMPS_EPOCHS else {}
        return {
            key: VersionRange(
                lowest.get(key, served.lowest),
                min(served.highest, service.highest.get(key, served.highest)),
            )
            for key, served in served_by(self.name).items()
            if key not in service.missing
        }
