"""Whom the doctor says that a client is, and the end of its token."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.broker import token_sources
from kafka_protocol.client.clock import now_ms
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.security_options import MECHANISMS
from kafka_spark_source.diagnosis.findings import Result
from kafka_spark_source.diagnosis.sign_in import _NAMED, identity
from tests.secret_check import PASSWORD

TOKENS: list[str] = []


def next_token() -> str:
    """The callback of these tests."""
    return TOKENS[-1]


def token_of(claims: object) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.{PASSWORD}"


def config(**options: str) -> ClientConfig:
    """A configuration with SASL; the names of its options begin with `sasl.`."""
    named = {f"sasl.{name.replace('_', '.')}": value for name, value in options.items()}
    base = {"bootstrap.servers": "b:1", "security.protocol": "SASL_SSL"}
    return ClientConfig.from_options(base | named)


def of_token(token: str) -> tuple[Result, str]:
    token_sources._kept.clear()
    TOKENS.append(token)
    callback = f"{__name__}:next_token"
    (finding,) = identity(config(mechanism="OAUTHBEARER", oauthbearer_token_callback=callback))
    assert PASSWORD not in str(finding)
    return finding.result, finding.detail


def test_without_sasl_there_is_none() -> None:
    assert [*identity(ClientConfig.from_options({"bootstrap.servers": "b:1"}))] == []


def test_each_mechanism_has_a_name() -> None:
    assert {*_NAMED, "OAUTHBEARER"} == {*MECHANISMS}


@pytest.mark.parametrize(
    ("options", "detail"),
    [
        (
            {"mechanism": "PLAIN", "username": "al\nice", "password": PASSWORD},
            "the user 'al?ice'",
        ),
        ({"mechanism": "AWS_MSK_IAM"}, "the profile 'of the default chain'"),
        ({"mechanism": "AWS_MSK_IAM", "aws_role_arn": "arn:x"}, "the role 'arn:x'"),
        ({"mechanism": "GSSAPI"}, "the principal 'of the ticket cache'"),
    ],
)
def test_names_of_options(options: dict[str, str], detail: str) -> None:
    (finding,) = identity(config(**options))
    assert (finding.step, finding.result) == ("identity", Result.GOOD)
    assert finding.detail == detail
    assert PASSWORD not in str(finding)


def test_the_end_of_a_token() -> None:
    now_s = now_ms() / 1000
    result, detail = of_token(token_of({"sub": "job", "exp": now_s + 3_630}))
    assert result is Result.GOOD
    assert detail.startswith("a token of 'job', until 20")
    assert detail.endswith("(60 minutes)")
    assert of_token(token_of({"appid": "x", "exp": now_s + 60}))[0] is Result.COSTLY


@pytest.mark.parametrize("end", [None, "soon", True, -5, 1e300, [1]])
def test_ends_that_are_none(end: object) -> None:
    _, detail = of_token(token_of({"exp": end}))
    assert detail == "a token without a name, without a known end"


ANY = st.none() | st.text() | st.floats() | st.integers() | st.lists(st.integers())


@given(st.dictionaries(st.sampled_from(["sub", "exp", "email", "x"]), ANY))
def test_any_claims_are_shown_in_one_line(claims: dict[str, Any]) -> None:
    assert "\n" not in of_token(token_of(claims))[1]


def test_a_token_that_does_not_come() -> None:
    given = config(mechanism="OAUTHBEARER", oauthbearer_token_callback="no.module:f")
    (finding,) = identity(given)
    assert finding.result is Result.BAD
    assert "which cannot be imported" in finding.detail
