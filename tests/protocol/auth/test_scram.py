"""SCRAM: the example of the RFC, and a test server that follows RFC 5802 step by step."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import Final, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_protocol.auth.mechanism import Conversation
from kafka_protocol.auth.scram import Scram
from kafka_protocol.auth.secret import Secret
from kafka_protocol.errors import AuthenticationError, KafkaConfigError, KafkaError

Hash = Literal["sha256", "sha512"]

# RFC 7677, section 3.
RFC_NONCE: Final = "rOprNGfwEbeRWgbNEkqO"
RFC_FIRST: Final = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
RFC_SERVER_FIRST: Final = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
RFC_FINAL: Final = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
RFC_SERVER_FINAL: Final = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def rfc_client() -> Scram:
    client = Scram("sha256", "user", Secret("pencil"), nonce=RFC_NONCE)
    client.first()
    return client


def test_example_of_rfc_7677() -> None:
    conversation: Conversation = Scram("sha256", "user", Secret("pencil"), nonce=RFC_NONCE)
    assert conversation.first() == RFC_FIRST
    assert (conversation.respond(RFC_SERVER_FIRST), conversation.is_done) == (RFC_FINAL, False)
    assert (conversation.respond(RFC_SERVER_FINAL), conversation.is_done) == (None, True)
    assert conversation.respond(b"") is None
    with pytest.raises(AuthenticationError, match="after the end of the exchange"):
        conversation.respond(b"more")


# --- A server ----------------------------------------------------------------------------------


class Server:
    """The broker's side (RFC 5802, section 3)."""

    def __init__(self, hash_name: Hash, password: str, salt: bytes, iterations: int) -> None:
        self._hash = hash_name
        self._salt = salt
        self._iterations = iterations
        salted = self._hi(password.encode(), salt, iterations)
        client_key = self._hmac(salted, b"Client Key")
        self._stored_key = hashlib.new(hash_name, client_key).digest()
        self._server_key = self._hmac(salted, b"Server Key")
        self.username = ""
        self.extensions = ""

    def first(self, message: bytes) -> bytes:
        found = re.fullmatch(r"n,,(n=((?:[^=,]|=2C|=3D)+),r=([!-+\--~]+)(.*))", message.decode())
        assert found is not None
        self._bare, name, nonce, self.extensions = found.groups()
        self.username = name.replace("=2C", ",").replace("=3D", "=")
        self._nonce = f"{nonce}server-part"
        salt = base64.b64encode(self._salt).decode()
        self._first = f"r={self._nonce},s={salt},i={self._iterations}"
        return self._first.encode()

    def final(self, message: bytes) -> bytes:
        without_proof, _, proof = message.decode().rpartition(",p=")
        assert without_proof == f"c=biws,r={self._nonce}"
        auth_message = f"{self._bare},{self._first},{without_proof}".encode()
        signature = int.from_bytes(self._hmac(self._stored_key, auth_message), "big")
        given = base64.b64decode(proof, validate=True)
        client_key = (int.from_bytes(given, "big") ^ signature).to_bytes(len(given), "big")
        if hashlib.new(self._hash, client_key).digest() != self._stored_key:
            return b"e=invalid-proof"
        return b"v=" + base64.b64encode(self._hmac(self._server_key, auth_message))

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._hash).digest()

    def _hi(self, password: bytes, salt: bytes, iterations: int) -> bytes:
        block = self._hmac(password, salt + b"\0\0\0\1")
        result = int.from_bytes(block, "big")
        for _ in range(iterations - 1):
            block = self._hmac(password, block)
            result ^= int.from_bytes(block, "big")
        return result.to_bytes(len(block), "big")


def converse(client: Scram, server: Server) -> None:
    proof = client.respond(server.first(client.first()))
    assert proof is not None
    assert client.respond(server.final(proof)) is None


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@pytest.mark.many_inputs
@settings(max_examples=max(25, settings().max_examples // 4))
@given(
    hash_name=st.sampled_from(["sha256", "sha512"]),
    username=texts,
    password=texts,
    salt=st.binary(min_size=1, max_size=100),
    iterations=st.integers(4096, 4200),
)
def test_both_sides_agree(
    hash_name: Hash, username: str, password: str, salt: bytes, iterations: int
) -> None:
    client = Scram(hash_name, username, Secret(password))
    server = Server(hash_name, password, salt, iterations)
    converse(client, server)
    assert client.is_done
    assert server.username == username
    assert server.extensions == ""


def test_delegation_token() -> None:
    client = Scram("sha512", "token id", Secret("hmac"), token_auth=True)
    server = Server("sha512", "hmac", b"salt", 4096)
    converse(client, server)
    assert client.is_done
    assert server.extensions == ",tokenauth=true"


def test_user_names_are_escaped() -> None:
    client = Scram("sha256", "a=2C,b=", Secret("x"), nonce="n")
    assert client.first() == b"n,,n=a=3D2C=2Cb=3D,r=n"


def test_nonces_differ() -> None:
    assert (
        Scram("sha256", "user", Secret("x")).first() != Scram("sha256", "user", Secret("x")).first()
    )


@pytest.mark.parametrize("hash_name", ["sha256", "sha512"])
def test_fault_52_wrong_password(hash_name: Hash) -> None:
    client = Scram(hash_name, "user", Secret("pencil"))
    with pytest.raises(AuthenticationError, match=r"^the broker refused: invalid-proof$"):
        converse(client, Server(hash_name, "crayon", b"salt", 4096))
    assert not client.is_done


# --- Wrong servers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "signature",
    [base64.b64encode(bytes(32)), b"", b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95A=="],
    ids=["forged", "empty", "a part"],
)
def test_fault_52_a_server_without_the_password_cannot_finish(signature: bytes) -> None:
    client = rfc_client()
    client.respond(RFC_SERVER_FIRST)
    with pytest.raises(AuthenticationError, match="signature is wrong"):
        client.respond(b"v=" + signature)
    assert not client.is_done


@pytest.mark.parametrize("iterations", [0, 1, 4095, 1_000_001, 2_147_483_647])
def test_fault_52_iteration_count_out_of_range(iterations: int) -> None:
    challenge = RFC_SERVER_FIRST.replace(b"4096", str(iterations).encode())
    with pytest.raises(AuthenticationError, match=f"requires {iterations} iterations"):
        rfc_client().respond(challenge)


@pytest.mark.parametrize(
    "nonce",
    [b"rOprNGfwEbeRWgbNEkqO", b"somebody-elses", b"rOprNGfwEbeRWgbNEkq", b"xrOprNGfwEbeRWgbNEkqOx"],
)
def test_fault_52_nonce_not_extended(nonce: bytes) -> None:
    with pytest.raises(AuthenticationError, match="nonce does not extend"):
        rfc_client().respond(b"r=%s,s=c2FsdA==,i=4096" % nonce)


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        RFC_SERVER_FINAL,
        b"m=must,r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=-1",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=12345678901",
        "r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=\N{ARABIC-INDIC DIGIT FOUR}096".encode(),
        b"r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=c2F%dA==,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqO\xff,s=c2FsdA==,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=4096\n",
        b"r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=4096,",
    ],
)
def test_malformed_server_first(challenge: bytes) -> None:
    with pytest.raises(AuthenticationError, match="violates RFC 5802"):
        rfc_client().respond(challenge)


def test_extensions_are_accepted_and_signed() -> None:
    client = rfc_client()
    assert client.respond(RFC_SERVER_FIRST + b",x=optional") != RFC_FINAL
    # The proof and the server's signature cover the extensions.
    with pytest.raises(AuthenticationError, match="signature is wrong"):
        client.respond(RFC_SERVER_FINAL + b",x=optional")


def test_refusal_instead_of_a_salt() -> None:
    with pytest.raises(AuthenticationError, match=r"the broker refused: unknown-user\?$"):
        rfc_client().respond(b"e=unknown-user\n,x=y")


@given(st.binary() | st.from_regex(rb"[rsivem]=.{0,20},[rsi]=.{0,9},i=\d{0,12}", fullmatch=True))
def test_arbitrary_bytes_raise_kafka_errors(challenge: bytes) -> None:
    client = rfc_client()
    with pytest.raises(KafkaError):
        client.respond(challenge)
    client.respond(RFC_SERVER_FIRST)
    with pytest.raises(KafkaError):
        client.respond(challenge)
    assert not client.is_done


@pytest.mark.parametrize("username", ["", "us\0er"])
def test_invalid_user_names(username: str) -> None:
    with pytest.raises(KafkaConfigError, match="the user name"):
        Scram("sha256", username, Secret("x")).first()


def test_fault_54_invalid_password() -> None:
    client = Scram("sha256", "user", Secret("pencil\0"), nonce=RFC_NONCE)
    client.first()
    with pytest.raises(KafkaConfigError, match="the password") as caught:
        client.respond(RFC_SERVER_FIRST)
    assert "pencil" not in str(caught.value)
