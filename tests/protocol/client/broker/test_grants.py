"""Tokens for an assertion (KIP-1139): the request, the files, and what no error has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker import oauth
from kafka_protocol.client.broker.oauth import token_for
from kafka_protocol.client.config.security_checks import read_security
from kafka_protocol.errors import AuthenticationError, KafkaConfigError
from tests.fakes.tls import listening
from tests.protocol.auth.test_assertion import new_key, pem_of
from tests.protocol.client.broker.test_oauth import HOST, Endpoint, soon
from tests.secret_check import PASSWORD

ASSERTION = "sasl.oauthbearer.assertion."
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    with listening(made.serve) as address:
        made.url = f"http://{address}/token"
        yield made
    oauth._cache.clear()


def token(endpoint: Endpoint, **options: Any) -> Secret:
    """Request a token with these options of an assertion."""
    named = {f"{ASSERTION}{name.replace('_', '.')}": str(each) for name, each in options.items()}
    base = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": endpoint.url,
        "sasl.oauthbearer.scope": "kafka",
    }
    return token_for(read_security(base | named), HOST, soon())


def test_an_assertion_of_a_file_is_read_for_each_token(endpoint: Endpoint, tmp_path: Path) -> None:
    file = tmp_path / "assertion"
    for text in ("first.jwt.sig", "next.jwt.sig"):
        file.write_text(f"{text}\n")
        endpoint.will_respond(access_token="t")
        assert token(endpoint, file=file) == Secret("t")
        headers, form = endpoint.requests.pop()
        assert form == {"grant_type": [GRANT], "assertion": [text], "scope": ["kafka"]}
        assert "Authorization" not in headers


def test_an_assertion_is_signed_with_a_template(endpoint: Endpoint, tmp_path: Path) -> None:
    key, template = tmp_path / "key.pem", tmp_path / "template.json"
    key.write_bytes(pem_of(new_key("ES256"), PASSWORD))
    template.write_text('{"header": {"kid": "k"}, "payload": {"scope": "kafka"}}')
    endpoint.will_respond(access_token="t", expires_in=3600)
    options = {
        **{"private_key_file": key, "private_key_passphrase": PASSWORD, "algorithm": "ES256"},
        **{"template_file": template, "claim_aud": "idp", "claim_iss": "me", "claim_sub": "job"},
        **{"claim_exp_seconds": 60, "claim_nbf_seconds": 5, "claim_jti_include": "true"},
    }
    assert [token(endpoint, **options) for _ in range(2)] == [Secret("t")] * 2
    ((_, form),) = endpoint.requests
    (assertion,) = form["assertion"]
    payload = jwt.decode(
        assertion, new_key("ES256").public_key(), ["ES256"], audience="idp", issuer="me"
    )
    assert (payload["sub"], payload["scope"], payload["exp"] - payload["nbf"]) == (
        "job",
        "kafka",
        65,
    )
    assert jwt.get_unverified_header(assertion)["kid"] == "k"


def test_a_refusal_does_not_contain_the_assertion(endpoint: Endpoint, tmp_path: Path) -> None:
    file = tmp_path / "assertion"
    file.write_text(PASSWORD)
    endpoint.will_respond(400, error="invalid_grant", error_description=f"{PASSWORD} is old")
    with pytest.raises(AuthenticationError, match=r"400: invalid_grant: \*\*\* is old"):
        token(endpoint, file=file)


@pytest.mark.parametrize(
    ("content", "option", "reason"),
    [
        (None, "file", "No such file"),
        (b"", "file", "its text must be an assertion"),
        (b"a\nb", "file", "its text must be an assertion"),
        (b"\xff", "file", "its text must be an assertion"),
        (b"a" * 1_048_577, "file", "longer than 1 MiB"),
        (b"[]", "template_file", "it must be "),
        (b"\xff", "template_file", "it is not UTF-8"),
        (None, "private_key_file", "No such file"),
    ],
)
def test_files_that_cannot_be_used(
    endpoint: Endpoint, tmp_path: Path, content: bytes | None, option: str, reason: str
) -> None:
    path, key = tmp_path / "file", tmp_path / "key.pem"
    key.write_bytes(pem_of(new_key("RS256")))
    if content is not None:
        path.write_bytes(content)
    options = (
        {option: path} if option != "template_file" else {"private_key_file": key, option: path}
    )
    name = f"{ASSERTION}{option.replace('_', '.')}"
    with pytest.raises(KafkaConfigError, match=rf"file of option 'kafka\.{name}' cannot.*{reason}"):
        token(endpoint, **options)
    assert not endpoint.requests


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"file": "f", "private_key_file": "k"}, "exclude each other"),
        ({"file": "f", "claim_aud": "a"}, r"claim\.aud' has no effect without"),
        ({"claim_exp_seconds": "5"}, "must be specified for OAUTHBEARER"),
        ({"private_key_file": "k", "algorithm": "HS256"}, "RS256"),
        ({"private_key_file": "k", "claim_exp_seconds": "0"}, r"claim\.exp\.seconds"),
    ],
)
def test_options_that_contradict(endpoint: Endpoint, options: dict[str, str], text: str) -> None:
    with pytest.raises(KafkaConfigError, match=text):
        token(endpoint, **options)


def test_an_assertion_without_its_mechanism_or_beside_a_secret() -> None:
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"}
    with pytest.raises(KafkaConfigError, match="An assertion has no effect while"):
        read_security(given | {f"{ASSERTION}file": "f"})
    secret = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
        "sasl.oauthbearer.client.secret": PASSWORD,
    }
    with pytest.raises(KafkaConfigError, match="exclude each other"):
        read_security(secret | {f"{ASSERTION}file": "f"})
