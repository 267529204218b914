"""The checks of a write on the driver, on fake brokers."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.errors import BrokerConnectionError, BrokerError, ErrorCode
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.wire.schema import VersionRange
from kafka_spark_source.writing.driver_check import check_write
from tests.fakes import faults
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster

READ, WRITE, DESCRIBE = (1 << code for code in (3, 4, 8))


def config(cluster: FakeCluster) -> ClientConfig:
    return ClientConfig(
        bootstrap_servers=cluster.bootstrap_servers,
        connection_setup_timeout_ms=500,
        retry_backoff_ms=1,
        retry_backoff_max_ms=10,
    )


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of Spark's with a local folder."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))


def test_a_topic_that_is_there(cluster: FakeCluster) -> None:
    check_write(config(cluster), "t")


def test_topics_of_a_column_are_not_looked_for(cluster: FakeCluster) -> None:
    check_write(config(cluster), None)


@pytest.mark.usefixtures("short_metadata_grace")
def test_a_topic_that_does_not_exist(cluster: FakeCluster) -> None:
    with pytest.raises(BrokerError, match="Cannot write to topic 'missing': the broker"):
        check_write(config(cluster), "missing")


def test_a_broker_that_creates_topics_is_asked_to(cluster: FakeCluster) -> None:
    def creating(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            if request.allow_auto_topic_creation and "new" not in cluster.topics:
                cluster.add_topic("new")
            return handler(request, version)

        return handle

    cluster.add_fault(MetadataRequest, creating)
    check_write(config(cluster), "new")
    assert "new" in cluster.topics


@pytest.mark.parametrize(
    "bits",
    [WRITE | DESCRIBE, READ, 0, -(2**31)],
    ids=["granted", "without DESCRIBE", "none", "untold"],
)
def test_rights_that_do_not_forbid(cluster: FakeCluster, bits: int) -> None:
    cluster.add_fault(MetadataRequest, faults.granting(bits))
    check_write(config(cluster), "t")


def test_a_right_that_is_missing(cluster: FakeCluster) -> None:
    cluster.add_fault(MetadataRequest, faults.granting(READ | DESCRIBE))
    with pytest.raises(BrokerError, match="lacks the right WRITE") as caught:
        check_write(config(cluster), "t")
    assert caught.value.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_brokers_that_do_not_tell_rights(cluster: FakeCluster) -> None:
    cluster.offer(MetadataRequest, VersionRange(0, 7))
    check_write(config(cluster), "t")


def stop(cluster: FakeCluster) -> None:
    close_shared_clusters()
    for number in cluster.nodes:
        cluster.stop(number)


@pytest.mark.usefixtures("session")
def test_brokers_that_were_never_reached_are_an_error(cluster: FakeCluster) -> None:
    stop(cluster)
    with pytest.raises(BrokerConnectionError, match="No broker of kafka"):
        check_write(config(cluster), "t")


@pytest.mark.usefixtures("session")
def test_brokers_that_this_session_has_reached_may_be_down(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    known = config(cluster)
    check_write(known, "t")
    stop(cluster)
    with caplog.at_level(logging.WARNING):
        check_write(known, "t")
    assert "The write begins, though its brokers do not respond now" in caplog.text


def test_without_a_folder_of_the_session_each_write_needs_its_brokers(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    known = config(cluster)
    check_write(known, "t")
    stop(cluster)
    with pytest.raises(BrokerConnectionError):
        check_write(known, "t")
