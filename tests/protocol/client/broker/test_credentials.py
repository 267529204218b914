"""SASL conversations from options; without SASL their modules are not loaded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_protocol.auth.aws_msk_iam import AwsMskIam
from kafka_protocol.auth.gssapi import Gssapi
from kafka_protocol.auth.oauthbearer import OAuthBearer
from kafka_protocol.auth.plain import Plain
from kafka_protocol.auth.scram import Scram
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker import oauth, token_sources
from kafka_protocol.client.broker.credentials import _CONVERSATIONS, conversation_for, forget
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.security_options import MECHANISMS, SecurityOptions
from tests.secret_check import PASSWORD

HOST = "b-1.demo.abc.c2.kafka.eu-west-1.amazonaws.com"
SOON = Deadline.after(60_000)


def token() -> str:
    return PASSWORD


def options(mechanism: str) -> SecurityOptions:
    return SecurityOptions(
        mechanism=mechanism,
        username="alice",
        password=Secret(PASSWORD),
        token_callback=f"{__name__}:token",
        oauth_extensions=(("logicalCluster", "lkc-1"),),
    )


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        ("PLAIN", Plain),
        ("SCRAM-SHA-256", Scram),
        ("SCRAM-SHA-512", Scram),
        ("OAUTHBEARER", OAuthBearer),
        ("AWS_MSK_IAM", AwsMskIam),
        ("GSSAPI", Gssapi),
    ],
)
def test_each_mechanism_makes_its_conversation(mechanism: str, kind: type[object]) -> None:
    conversation = conversation_for(options(mechanism), HOST, SOON)
    assert isinstance(conversation, kind)
    assert not conversation.is_done
    assert PASSWORD not in repr(conversation)


def test_all_mechanisms_have_a_conversation() -> None:
    assert tuple(_CONVERSATIONS) == MECHANISMS


def test_first_tokens_contain_the_credentials() -> None:
    password = PASSWORD.encode()
    assert conversation_for(options("PLAIN"), HOST, SOON).first() == b"\0alice\0" + password
    assert conversation_for(options("SCRAM-SHA-512"), HOST, SOON).first().startswith(b"n,,n=alice,")
    first = conversation_for(options("OAUTHBEARER"), HOST, SOON).first()
    assert first == b"n,,\1auth=Bearer " + password + b"\1logicalCluster=lkc-1\1\1"


def test_a_refused_token_is_forgotten() -> None:
    by_endpoint = replace(options("OAUTHBEARER"), token_callback=None)
    by_callback = token_sources.TokenSource("callback", None, options("OAUTHBEARER").token_callback)
    kept = token_sources.KeptToken(Secret("t"), SOON)
    oauth._cache[oauth._grant_in(by_endpoint)] = kept
    token_sources._kept[by_callback, HOST] = token_sources._kept[by_callback, "other"] = kept
    forget(by_endpoint)
    assert oauth._grant_in(by_endpoint) not in oauth._cache
    assert (by_callback, HOST) in token_sources._kept
    forget(options("OAUTHBEARER"))
    assert not {(by_callback, HOST), (by_callback, "other")} & token_sources._kept.keys()
