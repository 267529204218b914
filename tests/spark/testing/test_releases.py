"""The table of releases: complete, and consistent with the lock file."""

import json
import re

import pytest

from kafka_spark_source.testing import NEWEST, RELEASES, LocalBrokerError
from kafka_spark_source.testing.downloads.distribution import REGISTRY
from kafka_spark_source.testing.downloads.jars import LOCK_FILE
from kafka_spark_source.testing.downloads.resolvers import Coordinates
from kafka_spark_source.testing.releases import ListenerStyle, Quorum, find_release

PROMISED = {
    *("4.4.0", "4.3.1", "4.2.0", "3.9.2", "2.8.2", "1.1.1"),
    *("0.10.2.2", "0.10.0.1", "0.9.0.1", "0.8.2.2"),
}


def test_releases_from_the_newest() -> None:
    assert set(RELEASES) == PROMISED
    assert NEWEST == "4.4.0"


def test_error_of_an_unknown_version() -> None:
    with pytest.raises(
        LocalBrokerError, match=r"Kafka 4\.0\.0 is not one of .*4\.3\.1.*0\.8\.2\.2"
    ):
        find_release("4.0.0")


@pytest.mark.parametrize("version", RELEASES)
def test_lock_file_has_each_release_and_its_extra_jars(version: str) -> None:
    release = RELEASES[version]
    locked = json.loads(LOCK_FILE.read_text(encoding="utf-8"))[version]
    assert {release.artifact, *release.extra_artifacts} <= set(locked)
    assert all(re.fullmatch("[0-9a-f]{64}", checksum) for checksum in locked.values())
    names = [Coordinates.parse(coordinates).file_name for coordinates in locked]
    assert len(names) == len(set(names)), "one folder holds all jars"


def test_the_lock_file_has_nothing_else() -> None:
    assert list(json.loads(LOCK_FILE.read_text(encoding="utf-8"))) == [*RELEASES, REGISTRY]


@pytest.mark.parametrize("version", RELEASES)
def test_a_release_is_consistent(version: str) -> None:
    release = RELEASES[version]
    assert "PLAINTEXT" in release.securities
    assert bool(release.sasl_mechanisms) == ("SASL_SSL" in release.securities)
    if release.quorum is Quorum.KRAFT:
        assert release.listeners is ListenerStyle.NAMED
