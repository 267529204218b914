"""OAUTHBEARER: RFC 7628."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.mechanism import Conversation
from kafka_protocol.auth.oauthbearer import OAuthBearer
from kafka_protocol.auth.secret import Secret
from kafka_protocol.errors import AuthenticationError, KafkaConfigError, KafkaError

TOKEN = "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg=="


def started(token: str = TOKEN) -> OAuthBearer:
    conversation = OAuthBearer(Secret(token))
    conversation.first()
    return conversation


def test_example_of_the_rfc() -> None:
    # RFC 7628, section 4.1, with host and port as extensions.
    extensions = {"host": "server.example.com", "port": "143"}
    conversation: Conversation = OAuthBearer(Secret(TOKEN), extensions)
    assert conversation.first() == (
        b"n,,\x01auth=Bearer " + TOKEN.encode() + b"\x01host=server.example.com\x01port=143\x01\x01"
    )
    assert not conversation.is_done
    assert conversation.respond(b"") is None
    assert conversation.is_done


def test_without_extensions() -> None:
    assert OAuthBearer(Secret("a.b.c")).first() == b"n,,\x01auth=Bearer a.b.c\x01\x01"


def test_token_after_the_end() -> None:
    conversation = started()
    conversation.respond(b"")
    with pytest.raises(AuthenticationError, match="after the end of the exchange"):
        conversation.respond(b"more")


@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        (b'{"status":"invalid_token"}', ", status 'invalid_token'"),
        (
            b'{"status":"insufficient_scope","scope":"kafka","openid-configuration":"https://x"}',
            ", status 'insufficient_scope', scope 'kafka'",
        ),
        (b'{"status": 401}', ""),
        (b"[1]", ""),
        (b"not JSON", ""),
        (b"\xff", ""),
        (b"[" * 100_000, ""),
        (b'{"status":"' + TOKEN.encode() + b'"}', ", status '***'"),
        (json.dumps({"status": "x\n" + "y" * 300}).encode(), f", status 'x?{'y' * 198}...'"),
    ],
)
def test_fault_52_refused_token(challenge: bytes, reason: str) -> None:
    """The client first sends a dummy byte, so that the broker can end the exchange."""
    conversation = started()
    assert conversation.respond(challenge) == b"\x01"
    assert not conversation.is_done
    with pytest.raises(AuthenticationError) as caught:
        conversation.respond(b"")
    assert str(caught.value) == f"the broker refused the token{reason}"
    assert not conversation.is_done


@given(st.binary(min_size=1))
def test_arbitrary_bytes_raise_kafka_errors(challenge: bytes) -> None:
    conversation = started()
    assert conversation.respond(challenge) == b"\x01"
    with pytest.raises(KafkaError):
        conversation.respond(challenge)


@pytest.mark.parametrize("token", ["", "a b", "token\n", "a\x01auth=Bearer b", "=", "\N{SNOWMAN}"])
def test_fault_54_invalid_token(token: str) -> None:
    with pytest.raises(KafkaConfigError, match="the token is") as caught:
        OAuthBearer(Secret(token)).first()
    assert not token or token not in str(caught.value)


@pytest.mark.parametrize("name", ["", "auth", "Auth", "logical-cluster", "a=b"])
def test_invalid_names_of_extensions(name: str) -> None:
    with pytest.raises(KafkaConfigError, match="letters only, and not 'auth'"):
        OAuthBearer(Secret(TOKEN), {name: "x"}).first()


@pytest.mark.parametrize("value", ["", "a\x01b=c", "\N{SNOWMAN}"])
def test_fault_54_invalid_values_of_extensions(value: str) -> None:
    with pytest.raises(KafkaConfigError, match="extension 'tenant' must be printable") as caught:
        OAuthBearer(Secret(TOKEN), {"tenant": value}).first()
    assert not value or value not in str(caught.value)
