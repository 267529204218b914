"""The table of releases, compared with the jars of two of them.

tests/integration/test_brokers.py compares it with real brokers.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.versions.releases import first_release, parse_release, release_of, served_by
from kafka_protocol.wire.api_keys import ApiKey
from kafka_protocol.wire.schema import Request, VersionRange
from tests.protocol.catalogue import REQUESTS, name_of
from tests.protocol.kafka_jar import BEFORE_4, CURRENT, KafkaJar

FETCH = FetchRequest.api_key


@pytest.mark.parametrize(
    ("version", "release"),
    [(0, "0.8.0"), (1, "0.9"), (3, "0.10.1"), (4, "0.11"), (5, "0.11"), (18, "4.1"), (19, None)],
)
def test_first_release_with_a_version(version: int, release: str | None) -> None:
    assert first_release(FETCH, version) == release


def test_unknown_api_has_no_release() -> None:
    assert first_release(9999) is None


@pytest.mark.parametrize(
    ("release", "highest"),
    [("0.8.2.2", 0), ("0.9", 1), ("0.10.0.1", 2), ("0.10.2", 3), ("1.1.1", 7), ("99.0", 18)],
)
def test_versions_that_a_release_serves(release: str, highest: int) -> None:
    assert served_by(release)[FETCH] == VersionRange(0, highest)


@pytest.mark.parametrize("release", ["0.8.2", "0.10.2", "1.1", "2.8", "3.9", "4.3", "4.4"])
def test_a_broker_looks_like_its_release(release: str) -> None:
    assert release_of(served_by(release)) == release


def test_a_broker_newer_than_the_table_looks_like_its_last_release() -> None:
    assert release_of({FETCH: VersionRange(0, 99)}) == first_release(FETCH, 18)
    assert release_of({9999: VersionRange(0, 0)}) is None


def test_newer_apis_are_left_out() -> None:
    assert set(served_by("0.8.2")) == set(range(11))


def test_releases_compare_as_numbers() -> None:
    assert parse_release("0.10.0") > parse_release(" 0.9.0.1 ")
    with pytest.raises(ValueError, match="invalid literal"):
        parse_release("newest")


@pytest.mark.parametrize("request_class", REQUESTS, ids=name_of)
def test_every_declared_version_has_a_release(request_class: type[Request]) -> None:
    highest = request_class.versions.highest
    assert first_release(request_class.api_key, highest), "declared but not served"
    assert first_release(request_class.api_key, highest + 1) is None, "served but not declared"


# APIs between brokers and controllers only, without a row in the table.
INTERNAL = {
    ApiKey.ALTER_PARTITION,
    ApiKey.ENVELOPE,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
}
# Kafka 4 removed these APIs with ZooKeeper.
REMOVED = {CURRENT: set(map(ApiKey, range(4, 8))), BEFORE_4: set()}


@pytest.mark.parametrize("release", [CURRENT, BEFORE_4])
def test_table_equals_the_jars(release: str, kafka_jar: Callable[[str], KafkaJar]) -> None:
    theirs = kafka_jar(release).served_by_brokers()
    ours = {key: versions.highest for key, versions in served_by(release).items()}
    assert {k: v for k, v in theirs.items() if k not in INTERNAL} == {
        k: v for k, v in ours.items() if k not in REMOVED[release]
    }
