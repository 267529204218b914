"""The features of brokers of some releases."""

from __future__ import annotations

import pytest

from kafka_protocol.versions.features import FEATURES
from kafka_protocol.versions.negotiation import BrokerVersions, assumed_versions, common_versions
from kafka_protocol.versions.releases import served_by

NAMED = {feature.name: feature for feature in FEATURES}


def usable(release: str) -> set[str]:
    versions = BrokerVersions(served_by(release), release)
    return {feature.name for feature in FEATURES if feature.is_usable(versions)}


@pytest.mark.parametrize(
    ("release", "features"),
    [
        ("0.8.2.2", {"offsets kept by the brokers"}),
        ("0.9.0.1", {"offsets kept by the brokers"}),
        ("0.10.0.1", {"offsets kept by the brokers", "record timestamps"}),
        (
            "0.10.2.2",
            {
                "offsets kept by the brokers",
                "record timestamps",
                "offsets by timestamp",
                "creating and deleting topics",
            },
        ),
        (
            "1.1.1",
            set(NAMED)
            - {"re-authentication", "zstd", "topic ids"}
            - {"fetching from the closest replica"},
        ),
        ("4.3.1", set(NAMED)),
    ],
)
def test_features_of_a_release(release: str, features: set[str]) -> None:
    assert usable(release) == features


def test_fault_13_one_old_broker_disables_a_feature() -> None:
    new = BrokerVersions(served_by("4.3.1"), "new")
    old = assumed_versions("0.9.0")
    headers = NAMED["record headers"]
    assert headers.is_usable(new)
    assert headers.missing(common_versions([new, old])) == [
        "PRODUCE v3 (Kafka 0.11 or newer)",
        "FETCH v4 (Kafka 0.11 or newer)",
    ]


def test_absent_api_is_missing() -> None:
    assert NAMED["offsets by timestamp"].missing(BrokerVersions({}, "empty")) == [
        "LIST_OFFSETS v1 (Kafka 0.10.1 or newer)"
    ]
