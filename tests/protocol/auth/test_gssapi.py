"""GSSAPI: the exchange of RFC 4752 with a scripted library, because tests have no KDC."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from kafka_protocol.auth.gssapi import Gssapi
from kafka_protocol.auth.mechanism import Conversation
from kafka_protocol.errors import AuthenticationError, KafkaConfigError
from tests.fakes.gssapi import GSSError, Library, installed_library


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    return installed_library(monkeypatch)


def established(conversation: Gssapi) -> Gssapi:
    conversation.first()
    assert conversation.respond(b"AP-REP") == b""
    return conversation


def test_the_whole_exchange(library: Library) -> None:
    conversation: Conversation = Gssapi("kafka", "broker.example")
    assert conversation.first() == b"AP-REQ"
    assert library.context == {
        "name": (b"kafka@broker.example", "service"),
        "creds": None,
        "mech": "krb5",
        "usage": "initiate",
        "flags": 2 | 32,
    }
    # The empty token must be sent: the broker waits for it.
    assert (conversation.respond(b"AP-REP"), conversation.is_done) == (b"", False)
    choice = conversation.respond(b"wrapped:\x07\x00\xff\xff")
    # Bare frames end here; SaslAuthenticate has one more response.
    assert (choice, conversation.is_done) == (b"wrapped:\x01\x00\x00\x00", True)
    assert conversation.respond(b"") is None
    with pytest.raises(AuthenticationError, match="after the end of the exchange"):
        conversation.respond(b"more")


def test_context_of_many_steps(library: Library) -> None:
    library.steps = {None: b"1", b"2": b"3", b"4": b"5"}
    conversation = Gssapi("kafka", "broker.example")
    assert conversation.first() == b"1"
    assert conversation.respond(b"2") == b"3"
    assert conversation.respond(b"4") == b"5"
    assert conversation.respond(b"wrapped:\x01\x00\x00\x00") == b"wrapped:\x01\x00\x00\x00"


def test_credentials_of_the_ticket_cache(library: Library) -> None:
    assert credentials_of(library, None, None) is None
    name = (b"me@R", "principal")
    expected = {"name": name, "usage": "initiate", "store": None}
    assert credentials_of(library, "me@R", None) == expected


def credentials_of(library: Library, principal: str | None, keytab: str | None) -> Any:
    library.steps = {None: b"AP-REQ"}
    Gssapi("kafka", "broker.example", principal, keytab).first()
    return library.context["creds"]


def store_of(library: Library, principal: str | None, keytab: str) -> dict[str, str]:
    store: dict[str, str] = credentials_of(library, principal, keytab)["store"]
    return store


def test_keytab_does_not_use_the_users_ticket_cache(library: Library) -> None:
    """Otherwise the user's ticket would hide a missing or wrong keytab."""
    store = store_of(library, "me@R", "/k")
    assert store["client_keytab"] == "/k"
    assert store["ccache"].startswith("MEMORY:")
    assert store == store_of(library, "me@R", "/k")
    others = [store_of(library, "you@R", "/k"), store_of(library, None, "/l")]
    assert len({store["ccache"], *(other["ccache"] for other in others)}) == 3


@pytest.mark.parametrize(
    "offer", [b"", b"\x01", b"\x06\x00\xff\xff", b"\x00\x00\x00\x00", b"\x01\x00\x00\x00\x00"]
)
def test_fault_52_broker_that_requires_a_layer(library: Library, offer: bytes) -> None:
    conversation = established(Gssapi("kafka", "broker.example"))
    with pytest.raises(AuthenticationError, match="requires a SASL security layer"):
        conversation.respond(b"wrapped:" + offer)
    assert not conversation.is_done


def test_fault_52_broker_that_is_not_authentic(library: Library) -> None:
    conversation = Gssapi("kafka", "broker.example")
    conversation.first()
    with pytest.raises(AuthenticationError, match="Invalid token") as caught:
        conversation.respond(b"forged")
    assert isinstance(caught.value.__cause__, GSSError)


def test_fault_52_forged_offer(library: Library) -> None:
    conversation = established(Gssapi("kafka", "broker.example"))
    with pytest.raises(AuthenticationError, match="invalid signature"):
        conversation.respond(b"\x01\x00\x00\x00")
    assert not conversation.is_done


def test_no_ticket(library: Library) -> None:
    library.steps = {}
    with pytest.raises(AuthenticationError, match="Major"):
        Gssapi("kafka", "broker.example").first()


def test_invalid_names(library: Library) -> None:
    with pytest.raises(KafkaConfigError, match="the name of the Kafka service"):
        Gssapi("kafka", "broker\0").first()
    with pytest.raises(KafkaConfigError, match="the principal"):
        Gssapi("kafka", "broker", "me\0").first()


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(KafkaConfigError, match=r"pip install 'pyspark-pykafka\[gssapi\]'"):
        Gssapi("kafka", "broker.example").first()
