"""Assertions: what they claim, and who can verify them."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.assertion import Claims, signed, template_of
from kafka_protocol.auth.secret import Secret
from kafka_protocol.errors import KafkaConfigError
from tests.secret_check import PASSWORD

NOW_S = 1_800_000_000
DAMAGED = f"-----BEGIN PRIVATE KEY-----\n{PASSWORD}\n-----END PRIVATE KEY-----"
CLAIMS = Claims({}, {}, {"aud": "idp", "iss": "me", "sub": "job"}, 300, 60, has_id=False)


@cache
def new_key(algorithm: str) -> Any:
    if algorithm == "RS256":
        return rsa.generate_private_key(65537, 2048)
    return ec.generate_private_key(ec.SECP256R1())


def pem_of(key: Any, passphrase: str | None = None) -> bytes:
    encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    return pem


def verified(assertion: Secret, algorithm: str, **options: Any) -> dict[str, Any]:
    """Header and payload, as a server that has the public key reads them."""
    return jwt.decode_complete(
        assertion.reveal(),
        new_key(algorithm).public_key(),
        [algorithm],
        {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_aud": False},
        **options,
    )


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
@pytest.mark.parametrize("passphrase", [None, PASSWORD])
def test_a_server_with_the_public_key_verifies_it(algorithm: str, passphrase: str | None) -> None:
    pem = pem_of(new_key(algorithm), passphrase)
    secret = passphrase and Secret(passphrase)
    read = verified(signed(CLAIMS, NOW_S, pem, secret or None, algorithm), algorithm)
    assert read["header"] == {"alg": algorithm, "typ": "JWT"}
    assert read["payload"] == {
        **{"aud": "idp", "iss": "me", "sub": "job"},
        **{"iat": NOW_S, "exp": NOW_S + 300, "nbf": NOW_S - 60},
    }


def test_options_replace_what_a_template_says() -> None:
    header, payload = template_of(
        '{"header": {"kid": "k", "alg": "none"}, "payload": {"sub": "other", "exp": 1, "x": [1]}}'
    )
    claims = CLAIMS._replace(header=header, payload=payload, has_id=True)
    pem = pem_of(new_key("RS256"))
    read = [verified(signed(claims, NOW_S, pem, None, "RS256"), "RS256") for _ in range(2)]
    assert read[0]["header"] == {"alg": "RS256", "typ": "JWT", "kid": "k"}
    claimed = read[0]["payload"]
    assert (claimed["sub"], claimed["exp"], claimed["x"]) == ("job", NOW_S + 300, [1])
    assert claimed["jti"] != read[1]["payload"]["jti"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "1", '{"headers": {}}', '{"header": []}', '{"payload": null}', "[" * 99_999],
)
def test_templates_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="it must be"):
        template_of(text)


@given(st.text())
def test_any_text_is_a_template_or_refused(text: str) -> None:
    try:
        header, payload = template_of(text)
    except ValueError:
        return
    assert isinstance(header, dict)
    assert isinstance(payload, dict)


@pytest.mark.parametrize(
    ("pem", "passphrase", "algorithm"),
    [
        (b"", None, "RS256"),
        (DAMAGED.encode(), None, "RS256"),
        ("ES256", None, "RS256"),
        ("RS256", None, "ES256"),
        ("RS256", PASSWORD, "RS256"),
    ],
    ids=["empty", "damaged", "another curve", "another kind", "passphrase"],
)
def test_keys_that_cannot_be_used(pem: bytes | str, passphrase: str | None, algorithm: str) -> None:
    key = pem if isinstance(pem, bytes) else pem_of(new_key(pem))
    secret = None if passphrase is None else Secret(passphrase)
    with pytest.raises(KafkaConfigError, match=f"signed by {algorithm} with the private") as caught:
        signed(CLAIMS, NOW_S, key, secret, algorithm)
    assert PASSWORD not in str(caught.value)
    assert caught.value.__suppress_context__


def test_claims_that_are_not_json() -> None:
    claims = CLAIMS._replace(payload={"x": {1}})
    with pytest.raises(KafkaConfigError, match="TypeError"):
        signed(claims, NOW_S, pem_of(new_key("RS256")), None, "RS256")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(KafkaConfigError, match=r"pip install 'pyspark-pykafka\[jwt\]'"):
        signed(CLAIMS, NOW_S, b"", None, "RS256")
