"""The broker that a connection is meant for, and the one that is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.security_checks import read_security
from kafka_protocol.errors import BrokerError, ErrorCode, MisroutedError
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_protocol.wire.schema import Request, VersionRange
from tests.fakes import faults
from tests.fakes.broker import Close, Handler, ScriptedBroker
from tests.fakes.cluster import FakeCluster

SOON_MS = 5_000
PLAIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="u" password="p";'
    ),
}


@contextmanager
def connected(
    address: Address, cluster_id: str | None, node_id: int | None, **options: Any
) -> Iterator[Broker]:
    config = ClientConfig(bootstrap_servers=(address,), **options)
    deadline = Deadline.after(SOON_MS)
    with closing(Broker(address, node_id, config, deadline, cluster_id)) as broker:
        yield broker


def sent(cluster: FakeCluster) -> list[tuple[str | None, int, int]]:
    """Cluster id, node id and version of each ApiVersions."""
    return [
        (request.cluster_id, request.node_id, version)
        for _, request, version in cluster.asked(ApiVersionsRequest)
    ]


def address_of(cluster: FakeCluster, node: int = 1) -> Address:
    return cluster.nodes[node].broker.address


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "check", "told"),
    [
        ("fake", 1, True, ("fake", 1)),
        ("fake", None, True, (None, -1)),
        (None, 1, True, (None, -1)),
        ("wrong", 9, False, (None, -1)),
    ],
    ids=["both known", "a bootstrap server", "before metadata", "switched off"],
)
def test_what_is_told(
    cluster_id: str | None, node_id: int | None, check: bool, told: tuple[str | None, int]
) -> None:
    with FakeCluster() as cluster:
        address = address_of(cluster)
        options = {"metadata_cluster_check_enable": check}
        with connected(address, cluster_id, node_id, **options) as broker:
            assert broker.versions.range_of(ApiVersionsRequest) == VersionRange(0, 5)
        assert sent(cluster) == [(*told, 5)]


def test_older_brokers_are_not_checked() -> None:
    with FakeCluster(release="4.3") as cluster:
        with connected(address_of(cluster), "wrong", 9):
            pass
        # The field of v5 is left out of v4, as it is in Java.
        assert sent(cluster)[1:] == [(None, -1, 4)]


def test_fault_65_another_cluster_is_named() -> None:
    with FakeCluster(cluster_id="theirs") as cluster:
        address = address_of(cluster)
        with pytest.raises(MisroutedError) as caught, connected(address, "ours", 1):
            pass
    assert str(caught.value) == (
        f"ApiVersions to broker 1 ({address}): metadata of cluster ours says that {address} is "
        "broker 1, but the address leads to a broker of cluster theirs. Check the broker's "
        "advertised.listeners, and DNS entries, port forwards, proxies and load balancers on the "
        "way from here"
    )
    assert caught.value.retriable


def test_fault_65_another_broker_of_the_cluster_is_named() -> None:
    with FakeCluster(nodes=3) as cluster:
        address = address_of(cluster, 2)
        with (
            pytest.raises(
                MisroutedError, match=r"is broker 1, but .* broker 2 of the same cluster"
            ),
            connected(address, "fake", 1),
        ):
            pass
        cluster.nodes[2].broker.wait_for_open_connections(0)


@pytest.mark.parametrize(
    "fault", [faults.closing, faults.refusing_all(ErrorCode.UNKNOWN_SERVER_ERROR)]
)
def test_fault_65_a_broker_that_does_not_say_who_it_is(fault: faults.Fault) -> None:
    with FakeCluster(cluster_id="theirs") as cluster:
        cluster.add_fault(MetadataRequest, fault)
        with (
            pytest.raises(MisroutedError, match=r"leads to (another broker|a broker of cluster)"),
            connected(address_of(cluster), "ours", 1),
        ):
            pass


# --- SASL ----------------------------------------------------------------------------------------


@contextmanager
def sasl_listener(after_login: ApiVersionsResponse | None) -> Iterator[ScriptedBroker]:
    """As Kafka 4.4.0: it looks at the identity only after authentication."""
    versions: list[type[Request]] = [SaslHandshakeRequest, SaslAuthenticateRequest]
    handlers: dict[type[Request], Handler] = {
        SaslHandshakeRequest: lambda _r, _v: SaslHandshakeResponse(mechanisms=["PLAIN"]),
        SaslAuthenticateRequest: lambda _r, _v: SaslAuthenticateResponse(),
    }
    with ScriptedBroker(handlers) as fake:
        before_login = fake.handlers[ApiVersionsRequest]

        def respond(request: ApiVersionsRequest, version: int) -> Any:
            is_first = not any(type(each) in versions for each, _ in fake.requests)
            if is_first:
                assert request.cluster_id is None
                return before_login(request, version)
            if after_login is None:
                raise Close
            return after_login

        fake.handlers[ApiVersionsRequest] = respond
        yield fake


def test_with_sasl_the_broker_is_asked_after_authentication() -> None:
    with (
        sasl_listener(ApiVersionsResponse()) as fake,
        connected(fake.address, "ours", 1, security=read_security(PLAIN)),
    ):
        *_, (last, version) = fake.requests
        assert isinstance(last, ApiVersionsRequest)
        assert (last.cluster_id, last.node_id, version) == ("ours", 1, 5)


def test_fault_65_another_cluster_that_knows_the_user() -> None:
    refusal = ApiVersionsResponse(error_code=int(ErrorCode.REBOOTSTRAP_REQUIRED))
    with sasl_listener(refusal) as fake:
        security = read_security(PLAIN)
        with (
            pytest.raises(MisroutedError, match=r"is broker 1, but .* another broker"),
            connected(fake.address, "ours", 1, security=security),
        ):
            pass
        fake.wait_for_open_connections(0)


def test_another_refusal_is_told_as_it_is() -> None:
    refusal = ApiVersionsResponse(error_code=int(ErrorCode.INVALID_REQUEST))
    with (
        sasl_listener(refusal) as fake,
        pytest.raises(BrokerError, match="INVALID_REQUEST"),
        connected(fake.address, "ours", 1, security=read_security(PLAIN)),
    ):
        pass
