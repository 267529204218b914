"""Refused logins: nearly all are final, some pass by themselves or with a new connection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from typing import Any

import pytest

from kafka_protocol.client.broker import refusals
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.broker.refusals import (
    OtherPrincipalError,
    TooManyConnectionsError,
    refused,
)
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import AuthenticationError, BrokerConnectionError
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.fakes.broker import ScriptedBroker, versions_of
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.protocol.client.broker import test_authenticate
from tests.protocol.client.broker.test_authenticate import (
    Listener,
    expire_session,
    request_metadata,
    soon,
)

TOO_MANY = "[c4c1210b-9221-40ac-9fde-03daf7b747dc]: Too many connects"
OTHER = (
    "Cannot change principals during re-authentication from IAM.arn:aws:sts::1:assumed-role/r/a: "
    "IAM.arn:aws:sts::1:assumed-role/r/b"
)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are of the whole process: each test has its own."""
    monkeypatch.setattr("kafka_protocol.client.broker.broker.pauses", refusals._Pauses())


def token() -> str:
    return "t"


BEARER = {"mechanism": "OAUTHBEARER", "token_callback": f"{__name__}:token"}


def config(address: Address) -> ClientConfig:
    return test_authenticate.config(address, **BEARER)


def connected(scripted: ScriptedBroker) -> AbstractContextManager[Broker]:
    return test_authenticate.connected(scripted, **BEARER)


class Refusing(Listener):
    """Refuses the first logins, with these texts; takes any token then."""

    def __init__(self, *texts: str | None, lifetime_ms: int = 0) -> None:
        super().__init__(*[lifetime_ms] * len(texts))
        self.texts: Iterator[str | None] = iter(texts)

    def authenticate(self, request: SaslAuthenticateRequest, version: int) -> Any:
        text = next(self.texts, None)
        if text is None:
            self.requests.append("token")
            return SaslAuthenticateResponse(session_lifetime_ms=next(self.lifetimes_ms, 0))
        self.requests.append("refused")
        return SaslAuthenticateResponse(error_code=58, error_message=text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (TOO_MANY, TooManyConnectionsError),
        ("too many connections from this host", AuthenticationError),
        (OTHER, OtherPrincipalError),
        ("[7d0ab893]: Access denied", AuthenticationError),
        ("Authentication failed: Invalid username or password", AuthenticationError),
        ("tattoo many connects", AuthenticationError),
        ("", AuthenticationError),
    ],
)
def test_the_meaning_of_a_refusal(text: str, kind: type[Exception]) -> None:
    for mechanism in ("AWS_MSK_IAM", "OAUTHBEARER"):
        assert type(refused(text, mechanism)) is kind
    # A password is sent once, whatever the broker says.
    assert type(refused(text, "PLAIN")) is AuthenticationError
    error = refused(text, "AWS_MSK_IAM")
    assert error.retriable == (kind is TooManyConnectionsError)
    assert str(error) == f"the broker refused: {text or 'it gives no reason'}"


def test_a_broker_with_too_many_connections_is_tried_again_later() -> None:
    listener = Refusing(*[TOO_MANY] * 4)
    with sleeps_take_no_time() as time, listener.serve() as scripted:
        for number in range(4):
            with pytest.raises(TooManyConnectionsError, match=r"^SASL to .*Too many connects"):
                Broker(scripted.address, 1, config(scripted.address), Deadline.after(60_000))
            assert len(time.pauses_ms) == number
        Broker(scripted.address, 1, config(scripted.address), Deadline.after(60_000)).close()
        # Random, so that the processes of a cluster do not come back together.
        for pause_ms, most in zip(time.pauses_ms, (1_000, 2_000, 4_000, 8_000), strict=True):
            assert most / 2 - 100 <= pause_ms <= most
        with connected(scripted):
            assert len(time.pauses_ms) == 4
    assert listener.requests.count("refused") == 4


def test_a_pause_that_is_too_long_costs_no_connection() -> None:
    with sleeps_take_no_time(), Refusing(TOO_MANY).serve() as scripted:
        with pytest.raises(TooManyConnectionsError):
            Broker(scripted.address, 1, config(scripted.address), soon())
        with pytest.raises(TooManyConnectionsError, match=r"is not tried for another \d+ ms"):
            Broker(scripted.address, 1, config(scripted.address), Deadline.after(100))
        assert scripted.connections == 1


def test_an_operation_survives_some_refusals() -> None:
    listener = Refusing(TOO_MANY, TOO_MANY)
    with sleeps_take_no_time(), listener.serve() as scripted:
        with closing(Cluster(config(scripted.address))) as cluster:
            cluster.topics([], Deadline.after(60_000))
    assert listener.requests == [
        *("OAUTHBEARER v1", "refused") * 2,
        "OAUTHBEARER v1",
        "token",
        "metadata",
    ]


@pytest.mark.parametrize("text", ["Invalid username or password", f"Wrong password. {TOO_MANY}"])
def test_a_wrong_password_is_sent_once(text: str) -> None:
    listener = Refusing(text)
    with listener.serve() as scripted:
        with closing(Cluster(test_authenticate.config(scripted.address))) as cluster:
            with pytest.raises(AuthenticationError, match=re.escape(text)):
                cluster.topics([], Deadline.after(60_000))
    assert listener.requests == ["PLAIN v1", "refused"]


def test_threads_that_are_refused_together_pause_once() -> None:
    own, address = refusals._Pauses(), Address("b", 1)
    with sleeps_take_no_time() as time:
        for _ in range(8):
            own.begin(address)
        own.wait(address, Deadline.after(60_000))
        assert time.pauses_ms[0] <= 1_000


def test_another_principal_gets_a_new_connection() -> None:
    """Two requests are in flight: their responses come from the connection before."""
    listener = Refusing(None, OTHER, lifetime_ms=3_600_000)
    with listener.serve() as scripted, connected(scripted) as broker:
        sent = [broker.send(MetadataRequest(topics=[]), soon()) for _ in range(2)]
        expire_session(broker)
        sent.append(broker.send(MetadataRequest(topics=[]), soon()))
        for request in sent:
            assert broker.receive(request, MetadataResponse, soon()).cluster_id == "c"
        # A response of the connection before cannot be taken for one of this one.
        later = broker.send(MetadataRequest(topics=[]), soon())
        assert later.correlation_id > max(each.correlation_id for each in sent)
        broker.receive(later, MetadataResponse, soon())
        assert not broker.is_closed
        assert broker._renew_at is not None
        assert scripted.connections == 2
    assert listener.requests == [
        *("OAUTHBEARER v1", "token", "metadata", "metadata"),
        *("OAUTHBEARER v1", "refused", "OAUTHBEARER v1", "token", "metadata", "metadata"),
    ]


def test_a_refusal_on_the_new_connection_is_final() -> None:
    listener = Refusing(None, OTHER, "Access denied", lifetime_ms=3_600_000)
    with listener.serve() as scripted, connected(scripted) as broker:
        expire_session(broker)
        with pytest.raises(AuthenticationError, match="Access denied"):
            request_metadata(broker)
        assert broker.is_closed
    assert listener.requests.count("refused") == 2


def test_a_new_connection_to_another_release_is_not_used() -> None:
    listener = Refusing(None, OTHER, lifetime_ms=3_600_000)
    with listener.serve() as scripted, connected(scripted) as broker:
        expire_session(broker)
        scripted.handlers[ApiVersionsRequest] = lambda *_: versions_of(
            SaslHandshakeRequest, SaslAuthenticateRequest
        )
        with pytest.raises(BrokerConnectionError, match="other versions of requests than before"):
            request_metadata(broker)
        assert broker.is_closed
