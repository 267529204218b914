"""PLAIN: RFC 4616."""

from __future__ import annotations

import pytest

from kafka_protocol.auth.mechanism import Conversation
from kafka_protocol.auth.plain import Plain
from kafka_protocol.auth.secret import Secret
from kafka_protocol.errors import AuthenticationError, KafkaConfigError


@pytest.mark.parametrize(
    ("authzid", "token"),
    [("", b"\0tim\0tanstaaftanstaaf"), ("Kurt", b"Kurt\0tim\0tanstaaftanstaaf")],
)
def test_examples_of_the_rfc(authzid: str, token: bytes) -> None:
    conversation: Conversation = Plain("tim", Secret("tanstaaftanstaaf"), authzid)
    assert conversation.first() == token
    assert not conversation.is_done
    assert conversation.respond(b"") is None
    assert conversation.is_done


def test_utf8() -> None:
    assert Plain("ü", Secret("\N{SNOWMAN}")).first() == b"\0\xc3\xbc\0\xe2\x98\x83"


def test_token_after_the_end() -> None:
    conversation = Plain("tim", Secret("x"))
    conversation.first()
    with pytest.raises(AuthenticationError, match="after the end of the exchange"):
        conversation.respond(b"more")
    assert not conversation.is_done


@pytest.mark.parametrize(
    ("username", "password", "authzid", "what"),
    [
        ("", "x", "", "the user name"),
        ("tim", "", "", "the password"),
        ("ti\0m", "x", "", "the user name"),
        # A NUL would change the separation of the parts.
        ("tim", "tanstaaf\0x", "", "the password"),
        ("tim", "x", "\0", "the authorization id"),
    ],
)
def test_fault_54_invalid_credentials(
    username: str, password: str, authzid: str, what: str
) -> None:
    with pytest.raises(KafkaConfigError, match=f"^{what} is empty or has a NUL") as caught:
        Plain(username, Secret(password), authzid).first()
    assert "tanstaaf" not in str(caught.value)
