"""A table: the release of Apache Kafka that first served each version of each API.

Error texts name the needed release with it, and `broker.version.fallback` takes the versions of
brokers without ApiVersions from it; a broker's own ApiVersions response always has priority. No
I/O and no decisions here; `negotiation` makes them. tests/integration/test_brokers.py compares the
table with real brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from kafka_protocol.wire.api_keys import ApiKey
from kafka_protocol.wire.schema import VersionRange


class Step(NamedTuple):
    """A release that brought a new highest version of an API."""

    release: tuple[int, ...]
    highest: int

    @property
    def name(self) -> str:
        """The release, such as "0.8.2"."""
        return ".".join(map(str, self.release))


# Each release that brought a new highest version of an API, oldest first, as "release:version".
# Without the APIs that only brokers and controllers use among themselves.
_HISTORY: Final[Mapping[int, str]] = {
    ApiKey.PRODUCE: (
        "0.8.0:0 0.9:1 0.10.0:2 0.11:3 1.0:5 2.0:6 2.1:7 2.4:8 2.8:9 3.7:10 3.8:11 4.0:12 4.1:13"
    ),
    ApiKey.FETCH: (
        "0.8.0:0 0.9:1 0.10.0:2 0.10.1:3 0.11:5 1.0:6 1.1:7 2.0:8 "
        "2.1:10 2.3:11 2.7:12 3.1:13 3.5:15 3.7:16 3.9:17 4.1:18"
    ),
    ApiKey.LIST_OFFSETS: (
        "0.8.0:0 0.10.1:1 0.11:2 2.0:3 2.1:4 2.2:5 2.8:6 3.0:7 3.5:8 3.9:9 4.0:10 4.2:11"
    ),
    ApiKey.METADATA: (
        "0.8.0:0 0.10.0:1 0.10.1:2 0.11:4 1.0:5 2.0:6 2.1:7 2.3:8 2.4:9 2.8:11 3.1:12 4.0:13"
    ),
    ApiKey.LEADER_AND_ISR: "0.8.0:0 1.0:1 2.2:2 2.4:4 2.8:5 3.2:6 3.4:7",
    ApiKey.STOP_REPLICA: "0.8.0:0 2.2:1 2.4:2 2.6:3 3.4:4",
    ApiKey.UPDATE_METADATA: "0.8.0:0 0.9:1 0.10.0:2 0.10.2:3 1.0:4 2.2:5 2.4:6 2.8:7 3.4:8",
    ApiKey.CONTROLLED_SHUTDOWN: "0.8.0:0 0.9:1 2.2:2 2.4:3",
    ApiKey.OFFSET_COMMIT: "0.8.1:0 0.8.2:1 0.9:2 0.11:3 2.0:4 2.1:6 2.3:7 2.4:8 3.7:9 4.2:10",
    ApiKey.OFFSET_FETCH: (
        "0.8.1:0 0.8.2:1 0.10.2:2 0.11:3 2.0:4 2.1:5 2.4:6 2.5:7 3.0:8 3.7:9 4.2:10"
    ),
    ApiKey.FIND_COORDINATOR: "0.8.2:0 0.11:1 2.0:2 2.4:3 3.0:4 3.8:5 3.9:6",
    ApiKey.JOIN_GROUP: "0.9:0 0.10.1:1 0.11:2 2.0:3 2.2:4 2.3:5 2.4:6 2.5:7 3.2:9",
    ApiKey.HEARTBEAT: "0.9:0 0.11:1 2.0:2 2.3:3 2.4:4",
    ApiKey.LEAVE_GROUP: "0.9:0 0.11:1 2.0:2 2.4:4 3.2:5",
    ApiKey.SYNC_GROUP: "0.9:0 0.11:1 2.0:2 2.3:3 2.4:4 2.5:5",
    ApiKey.DESCRIBE_GROUPS: "0.9:0 0.11:1 2.0:2 2.3:3 2.4:5 4.0:6",
    ApiKey.LIST_GROUPS: "0.9:0 0.11:1 2.0:2 2.4:3 2.6:4 3.8:5",
    ApiKey.SASL_HANDSHAKE: "0.10.0:0 1.0:1",
    ApiKey.API_VERSIONS: "0.10.0:0 0.11:1 2.0:2 2.4:3 3.9:4 4.4:5",
    ApiKey.CREATE_TOPICS: "0.10.1:0 0.10.2:1 0.11:2 2.0:3 2.4:5 2.7:6 2.8:7",
    ApiKey.DELETE_TOPICS: "0.10.1:0 0.11:1 2.0:2 2.1:3 2.4:4 2.7:5 2.8:6",
    ApiKey.DELETE_RECORDS: "0.11:0 2.0:1 2.6:2",
    ApiKey.INIT_PRODUCER_ID: "0.11:0 2.0:1 2.4:2 2.5:3 2.7:4 3.8:5",
    ApiKey.OFFSET_FOR_LEADER_EPOCH: "0.11:0 2.0:1 2.1:2 2.3:3 2.8:4",
    ApiKey.ADD_PARTITIONS_TO_TXN: "0.11:0 2.0:1 2.7:2 2.8:3 3.6:4 3.8:5",
    ApiKey.ADD_OFFSETS_TO_TXN: "0.11:0 2.0:1 2.7:2 2.8:3 3.8:4",
    ApiKey.END_TXN: "0.11:0 2.0:1 2.7:2 2.8:3 3.8:4 4.0:5",
    ApiKey.WRITE_TXN_MARKERS: "0.11:0 2.8:1 4.2:2",
    ApiKey.TXN_OFFSET_COMMIT: "0.11:0 2.0:1 2.1:2 2.5:3 3.8:4 4.0:5 4.4:6",
    ApiKey.DESCRIBE_ACLS: "0.11:0 2.0:1 2.5:2 3.3:3",
    ApiKey.CREATE_ACLS: "0.11:0 2.0:1 2.5:2 3.3:3",
    ApiKey.DELETE_ACLS: "0.11:0 2.0:1 2.5:2 3.3:3",
    ApiKey.DESCRIBE_CONFIGS: "0.11:0 1.1:1 2.0:2 2.6:3 2.8:4",
    ApiKey.ALTER_CONFIGS: "0.11:0 2.0:1 2.8:2",
    ApiKey.ALTER_REPLICA_LOG_DIRS: "1.0:0 2.0:1 2.8:2",
    ApiKey.DESCRIBE_LOG_DIRS: "1.0:0 2.0:1 2.6:2 3.2:3 3.3:4 4.3:5",
    ApiKey.SASL_AUTHENTICATE: "1.0:0 2.2:1 2.5:2",
    ApiKey.CREATE_PARTITIONS: "1.0:0 2.0:1 2.5:2 2.7:3",
    ApiKey.CREATE_DELEGATION_TOKEN: "1.1:0 2.0:1 2.4:2 3.3:3",
    ApiKey.RENEW_DELEGATION_TOKEN: "1.1:0 2.0:1 2.5:2",
    ApiKey.EXPIRE_DELEGATION_TOKEN: "1.1:0 2.0:1 2.5:2",
    ApiKey.DESCRIBE_DELEGATION_TOKEN: "1.1:0 2.0:1 2.5:2 3.3:3",
    ApiKey.DELETE_GROUPS: "1.1:0 2.0:1 2.4:2 4.4:3",
    ApiKey.ELECT_LEADERS: "2.2:0 2.4:2",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "2.3:0 2.4:1",
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: "2.4:0 4.1:1",
    ApiKey.LIST_PARTITION_REASSIGNMENTS: "2.4:0",
    ApiKey.OFFSET_DELETE: "2.4:0",
    ApiKey.DESCRIBE_CLIENT_QUOTAS: "2.6:0 2.8:1",
    ApiKey.ALTER_CLIENT_QUOTAS: "2.6:0 2.8:1",
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: "2.7:0",
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: "2.7:0",
    ApiKey.DESCRIBE_QUORUM: "3.3:1 3.9:2",
    ApiKey.UPDATE_FEATURES: "2.7:0 3.3:1 4.0:2",
    ApiKey.DESCRIBE_CLUSTER: "2.8:0 3.7:1 4.0:2",
    ApiKey.DESCRIBE_PRODUCERS: "2.8:0",
    ApiKey.UNREGISTER_BROKER: "3.3:0",
    ApiKey.DESCRIBE_TRANSACTIONS: "3.0:0",
    ApiKey.LIST_TRANSACTIONS: "3.0:0 3.8:1 4.1:2",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "3.7:0 4.0:1",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "3.8:0 4.0:1",
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: "3.7:0",
    ApiKey.PUSH_TELEMETRY: "3.7:0",
    ApiKey.LIST_CONFIG_RESOURCES: "3.7:0 4.1:1",
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: "3.8:0",
    ApiKey.SHARE_GROUP_HEARTBEAT: "4.1:1",
    ApiKey.SHARE_GROUP_DESCRIBE: "4.1:1",
    ApiKey.SHARE_FETCH: "4.1:1 4.2:2",
    ApiKey.SHARE_ACKNOWLEDGE: "4.1:1 4.2:2",
    ApiKey.ADD_RAFT_VOTER: "3.9:0 4.2:1",
    ApiKey.REMOVE_RAFT_VOTER: "3.9:0",
    ApiKey.STREAMS_GROUP_HEARTBEAT: "4.2:0 4.4:1",
    ApiKey.STREAMS_GROUP_DESCRIBE: "4.2:0 4.4:1",
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: "4.1:0 4.2:1",
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: "4.1:0",
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: "4.1:0",
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: "4.4:0",
    ApiKey.UNREGISTER_CONTROLLER: "4.4:0",
}


def parse_release(text: str) -> tuple[int, ...]:
    """`"0.8.2.2"` as `(0, 8, 2, 2)`, to compare releases.

    Raises:
        ValueError: The text is not a release.
    """
    return tuple(int(part) for part in text.strip().split("."))


@cache
def _steps(api_key: int) -> tuple[Step, ...]:
    pairs = (step.partition(":") for step in _HISTORY.get(api_key, "").split())
    return tuple(Step(parse_release(release), int(highest)) for release, _, highest in pairs)


def first_release(api_key: int, version: int = 0) -> str | None:
    """The first release that serves a version of an API; None if the table has no such release."""
    return next((step.name for step in _steps(api_key) if step.highest >= version), None)


def served_by(release: str) -> Mapping[int, VersionRange]:
    """The versions that a release serves, each range from 0 on, by API key.

    Does not know the versions (KIP-896) and ZooKeeper APIs that Kafka 4.0 removed: use the
    ApiVersions response of these brokers.

    Raises:
        ValueError: `release` is not a release.
    """
    wanted = parse_release(release)
    served = {}
    for api_key in _HISTORY:
        reached = [step.highest for step in _steps(api_key) if step.release <= wanted]
        if reached:
            served[api_key] = VersionRange(0, reached[-1])
    return served


def release_of(served: Mapping[int, VersionRange]) -> str | None:
    """The oldest release that has all these versions, by API key: the likely one of a broker.

    None if the table knows no such release. A newer broker looks like the last release.
    """
    steps = (_step_to(api_key, versions.highest) for api_key, versions in served.items())
    reached = [step.release for step in steps if step is not None]
    return ".".join(map(str, max(reached))) if reached else None


def _step_to(api_key: int, version: int) -> Step | None:
    """The first release with a version of an API; its last step for a newer version."""
    steps = _steps(api_key)
    return next((step for step in steps if step.highest >= version), steps[-1] if steps else None)
