"""Which release of Apache Kafka first served which version of each API, as one table.

Error texts say with it which broker would do, and `broker.version.fallback` which versions an old
broker speaks that cannot be asked. What a broker that can be asked answers always counts more. No
I/O here, and no decisions: `negotiation` draws them. The suite over real brokers compares the
table with what each of them answers (tests/integration/test_brokers.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from kafka_protocol.schema import VersionRange


class Step(NamedTuple):
    """A release that brought a new highest version of an API."""

    release: tuple[int, ...]
    highest: int

    @property
    def name(self) -> str:
        """The release as people write it."""
        return ".".join(map(str, self.release))


# API key: each release that brought a new highest version, oldest first, as "release:version".
# What only brokers and controllers say to each other (keys 52-54, 56, 58, ...) is left out.
_HISTORY: Final = {
    0: (  # Produce
        "0.8.0:0 0.9:1 0.10.0:2 0.11:3 1.0:5 2.0:6 2.1:7 2.4:8 2.8:9 3.7:10 3.8:11 4.0:12 4.1:13"
    ),
    1: (  # Fetch
        "0.8.0:0 0.9:1 0.10.0:2 0.10.1:3 0.11:5 1.0:6 1.1:7 2.0:8 "
        "2.1:10 2.3:11 2.7:12 3.1:13 3.5:15 3.7:16 3.9:17 4.1:18"
    ),
    2: (  # ListOffsets
        "0.8.0:0 0.10.1:1 0.11:2 2.0:3 2.1:4 2.2:5 2.8:6 3.0:7 3.5:8 3.9:9 4.0:10 4.2:11"
    ),
    3: (  # Metadata
        "0.8.0:0 0.10.0:1 0.10.1:2 0.11:4 1.0:5 2.0:6 2.1:7 2.3:8 2.4:9 2.8:11 3.1:12 4.0:13"
    ),
    4: "0.8.0:0 1.0:1 2.2:2 2.4:4 2.8:5 3.2:6 3.4:7",  # LeaderAndIsr
    5: "0.8.0:0 2.2:1 2.4:2 2.6:3 3.4:4",  # StopReplica
    6: "0.8.0:0 0.9:1 0.10.0:2 0.10.2:3 1.0:4 2.2:5 2.4:6 2.8:7 3.4:8",  # UpdateMetadata
    7: "0.8.0:0 0.9:1 2.2:2 2.4:3",  # ControlledShutdown
    8: "0.8.1:0 0.8.2:1 0.9:2 0.11:3 2.0:4 2.1:6 2.3:7 2.4:8 3.7:9 4.2:10",  # OffsetCommit
    9: "0.8.1:0 0.8.2:1 0.10.2:2 0.11:3 2.0:4 2.1:5 2.4:6 2.5:7 3.0:8 3.7:9 4.2:10",  # OffsetFetch
    10: "0.8.2:0 0.11:1 2.0:2 2.4:3 3.0:4 3.8:5 3.9:6",  # FindCoordinator
    11: "0.9:0 0.10.1:1 0.11:2 2.0:3 2.2:4 2.3:5 2.4:6 2.5:7 3.2:9",  # JoinGroup
    12: "0.9:0 0.11:1 2.0:2 2.3:3 2.4:4",  # Heartbeat
    13: "0.9:0 0.11:1 2.0:2 2.4:4 3.2:5",  # LeaveGroup
    14: "0.9:0 0.11:1 2.0:2 2.3:3 2.4:4 2.5:5",  # SyncGroup
    15: "0.9:0 0.11:1 2.0:2 2.3:3 2.4:5 4.0:6",  # DescribeGroups
    16: "0.9:0 0.11:1 2.0:2 2.4:3 2.6:4 3.8:5",  # ListGroups
    17: "0.10.0:0 1.0:1",  # SaslHandshake
    18: "0.10.0:0 0.11:1 2.0:2 2.4:3 3.9:4",  # ApiVersions
    19: "0.10.1:0 0.10.2:1 0.11:2 2.0:3 2.4:5 2.7:6 2.8:7",  # CreateTopics
    20: "0.10.1:0 0.11:1 2.0:2 2.1:3 2.4:4 2.7:5 2.8:6",  # DeleteTopics
    21: "0.11:0 2.0:1 2.6:2",  # DeleteRecords
    22: "0.11:0 2.0:1 2.4:2 2.5:3 2.7:4 3.8:5",  # InitProducerId
    23: "0.11:0 2.0:1 2.1:2 2.3:3 2.8:4",  # OffsetForLeaderEpoch
    24: "0.11:0 2.0:1 2.7:2 2.8:3 3.6:4 3.8:5",  # AddPartitionsToTxn
    25: "0.11:0 2.0:1 2.7:2 2.8:3 3.8:4",  # AddOffsetsToTxn
    26: "0.11:0 2.0:1 2.7:2 2.8:3 3.8:4 4.0:5",  # EndTxn
    27: "0.11:0 2.8:1 4.2:2",  # WriteTxnMarkers
    28: "0.11:0 2.0:1 2.1:2 2.5:3 3.8:4 4.0:5",  # TxnOffsetCommit
    29: "0.11:0 2.0:1 2.5:2 3.3:3",  # DescribeAcls
    30: "0.11:0 2.0:1 2.5:2 3.3:3",  # CreateAcls
    31: "0.11:0 2.0:1 2.5:2 3.3:3",  # DeleteAcls
    32: "0.11:0 1.1:1 2.0:2 2.6:3 2.8:4",  # DescribeConfigs
    33: "0.11:0 2.0:1 2.8:2",  # AlterConfigs
    34: "1.0:0 2.0:1 2.8:2",  # AlterReplicaLogDirs
    35: "1.0:0 2.0:1 2.6:2 3.2:3 3.3:4 4.3:5",  # DescribeLogDirs
    36: "1.0:0 2.2:1 2.5:2",  # SaslAuthenticate
    37: "1.0:0 2.0:1 2.5:2 2.7:3",  # CreatePartitions
    38: "1.1:0 2.0:1 2.4:2 3.3:3",  # CreateDelegationToken
    39: "1.1:0 2.0:1 2.5:2",  # RenewDelegationToken
    40: "1.1:0 2.0:1 2.5:2",  # ExpireDelegationToken
    41: "1.1:0 2.0:1 2.5:2 3.3:3",  # DescribeDelegationToken
    42: "1.1:0 2.0:1 2.4:2",  # DeleteGroups
    43: "2.2:0 2.4:2",  # ElectLeaders
    44: "2.3:0 2.4:1",  # IncrementalAlterConfigs
    45: "2.4:0 4.1:1",  # AlterPartitionReassignments
    46: "2.4:0",  # ListPartitionReassignments
    47: "2.4:0",  # OffsetDelete
    48: "2.6:0 2.8:1",  # DescribeClientQuotas
    49: "2.6:0 2.8:1",  # AlterClientQuotas
    50: "2.7:0",  # DescribeUserScramCredentials
    51: "2.7:0",  # AlterUserScramCredentials
    55: "3.3:1 4.0:2",  # DescribeQuorum
    57: "2.7:0 3.3:1 4.0:2",  # UpdateFeatures
    60: "2.8:0 3.7:1 4.0:2",  # DescribeCluster
    61: "2.8:0",  # DescribeProducers
    64: "4.0:0",  # UnregisterBroker
    65: "3.0:0",  # DescribeTransactions
    66: "3.0:0 3.8:1 4.1:2",  # ListTransactions
    68: "3.7:0 4.0:1",  # ConsumerGroupHeartbeat
    69: "3.8:0 4.0:1",  # ConsumerGroupDescribe
    71: "3.7:0",  # GetTelemetrySubscriptions
    72: "3.7:0",  # PushTelemetry
    74: "4.0:0 4.1:1",  # ListConfigResources
    75: "4.0:0",  # DescribeTopicPartitions
    76: "4.1:1",  # ShareGroupHeartbeat
    77: "4.1:1",  # ShareGroupDescribe
    78: "4.1:1 4.2:2",  # ShareFetch
    79: "4.1:1 4.2:2",  # ShareAcknowledge
    80: "4.0:0 4.2:1",  # AddRaftVoter
    81: "4.0:0",  # RemoveRaftVoter
    88: "4.2:0",  # StreamsGroupHeartbeat
    89: "4.2:0",  # StreamsGroupDescribe
    90: "4.1:0 4.2:1",  # DescribeShareGroupOffsets
    91: "4.1:0",  # AlterShareGroupOffsets
    92: "4.1:0",  # DeleteShareGroupOffsets
}


def parse_release(text: str) -> tuple[int, ...]:
    """`"0.8.2.2"` as `(0, 8, 2, 2)`, which compares as releases do.

    Raises:
        ValueError: It is no release.
    """
    return tuple(int(part) for part in text.strip().split("."))


@cache
def _steps(api_key: int) -> tuple[Step, ...]:
    pairs = (step.partition(":") for step in _HISTORY.get(api_key, "").split())
    return tuple(Step(parse_release(release), int(highest)) for release, _, highest in pairs)


def first_release(api_key: int, version: int = 0) -> str | None:
    """The first release that serves a version of an API; None where the table knows of none."""
    return next((step.name for step in _steps(api_key) if step.highest >= version), None)


def served_by(release: str) -> Mapping[int, VersionRange]:
    """What a release serves: API key to versions, from 0 on.

    Kafka 4.0 dropped old versions (KIP-896), which this does not tell: its brokers answer
    ApiVersions, so nobody has to guess.

    Raises:
        ValueError: `release` is no release.
    """
    wanted = parse_release(release)
    served = {}
    for api_key in _HISTORY:
        reached = [step.highest for step in _steps(api_key) if step.release <= wanted]
        if reached:
            served[api_key] = VersionRange(0, reached[-1])
    return served
