"""The waits of the client, as an observer gets them."""

from __future__ import annotations

import pytest

from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.wait_observer import observed_by, waiting_for
from kafka_protocol.errors import BrokerError, ErrorCode
from tests.fakes.cluster import FakeCluster
from tests.fakes.skipping_time import sleeps_take_no_time


def test_a_wait_begins_and_ends() -> None:
    seen: list[str | None] = []
    with observed_by(seen.append):
        with pytest.raises(KeyError), waiting_for(lambda: "a"):
            assert seen == ["a"]
            raise KeyError
    with waiting_for(lambda: "b"):
        pass
    assert seen == ["a", None]


def test_the_client_tells_which_broker_it_waits_for() -> None:
    seen: list[str | None] = []
    with FakeCluster() as cluster, observed_by(seen.append):
        cluster.add_topic("orders")
        client = cluster.client()
        client.topics(["orders"], Deadline.after(10_000))
        client.close()
        (address,) = cluster.bootstrap_servers
    assert seen[1::2] == [None] * len(seen[1::2])
    asked = [f"{address} ({what})" for what in ("connection", "ApiVersions", "Metadata")]
    assert seen[::2] == asked


def test_another_try_is_waited_for() -> None:
    seen: list[str | None] = []
    config = ClientConfig(bootstrap_servers=(Address("a", 1),))
    error = BrokerError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "FindCoordinator")
    with sleeps_take_no_time(), observed_by(seen.append):
        Retry(config, Deadline.after(10_000), 10_000).wait(error)
    assert seen == [f"another try after: {error}", None]
