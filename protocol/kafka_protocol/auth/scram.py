"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677; KIP-84, KIP-48 for delegation tokens).

Both sides prove that they know the password without sending it. Text is plain UTF-8 without
SASLprep, because Java's ScramFormatter computes the stored keys that way.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from typing import Final, Literal

from kafka_protocol.auth.mechanism import check_no_more, shown, utf8
from kafka_protocol.auth.secret import Secret
from kafka_protocol.errors import AuthenticationError

# Java's client has the same minimum (RFC 7677); the maximum limits the CPU time per connection.
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 1_000_000

# No channel binding, no authorization id.
_GS2_HEADER: Final = b"n,,"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?"
# Optional extensions may follow (RFC 5802, section 5.1). A mandatory one, "m=", is first, and a
# client that does not know it must stop.
_EXTENSIONS: Final = r"(?:,[A-Za-z]+=[^,]+)*"
_SERVER_FIRST: Final = re.compile(
    rf"r=(?P<nonce>{_PRINTABLE}),s=(?P<salt>{_BASE64}),i=(?P<iterations>[0-9]{{1,10}}){_EXTENSIONS}"
)
_SERVER_FINAL: Final = re.compile(rf"v=(?P<signature>{_BASE64}){_EXTENSIONS}")
_SERVER_ERROR: Final = re.compile(r"e=(?P<error>[^,]+).*", re.DOTALL)


class Scram:
    """One SCRAM conversation.

    Args:
        hash_name: The hash of the mechanism.
        username: The user name, or the id of a delegation token.
        password: The password, or the HMAC of a delegation token.
        nonce: The client's part of the nonce, for tests; random by default.
        token_auth: Whether the credentials belong to a delegation token.
    """

    def __init__(
        self,
        hash_name: Literal["sha256", "sha512"],
        username: str,
        password: Secret,
        *,
        nonce: str | None = None,
        token_auth: bool = False,
    ) -> None:
        self._hash_name = hash_name
        self._username = username
        self._password = password
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._extensions = b",tokenauth=true" if token_auth else b""
        self._first_bare = b""
        self._server_signature = b""
        self._expect: Callable[[bytes], bytes | None] = self._server_first
        self.is_done = False

    def first(self) -> bytes:
        """User name and nonce.

        Raises:
            KafkaConfigError: The user name is empty or has a NUL.
        """
        name = utf8(self._username, "the user name").replace(b"=", b"=3D").replace(b",", b"=2C")
        self._first_bare = b"n=%s,r=%s%s" % (name, self._nonce.encode(), self._extensions)
        return _GS2_HEADER + self._first_bare

    def respond(self, challenge: bytes) -> bytes | None:
        """The client's proof after the server's salt; None after the server's proof.

        Raises:
            AuthenticationError: The server refused, violated RFC 5802, or lacks the password.
            KafkaConfigError: The password is empty or has a NUL.
        """
        return self._expect(challenge)

    def _server_first(self, challenge: bytes) -> bytes:
        attributes = self._parse(_SERVER_FIRST, challenge)
        nonce, iterations = attributes["nonce"], int(attributes["iterations"])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise AuthenticationError(
                "the broker's nonce does not extend the client's: the response is for another "
                "client, or forged"
            )
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise AuthenticationError(
                f"the broker requires {iterations} iterations, accepted are {MIN_ITERATIONS} to "
                f"{MAX_ITERATIONS}; set the user's credentials again (kafka-configs)"
            )
        salted = hashlib.pbkdf2_hmac(
            self._hash_name,
            utf8(self._password.reveal(), "the password"),
            base64.b64decode(attributes["salt"]),
            iterations,
        )
        without_proof = b"c=%s,r=%s" % (base64.b64encode(_GS2_HEADER), nonce.encode())
        auth_message = b",".join((self._first_bare, challenge, without_proof))
        client_key = self._hmac(salted, b"Client Key")
        stored_key = hashlib.new(self._hash_name, client_key).digest()
        signature = self._hmac(stored_key, auth_message)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), auth_message)
        self._expect = self._server_final
        return b"%s,p=%s" % (without_proof, base64.b64encode(proof))

    def _server_final(self, challenge: bytes) -> None:
        signature = base64.b64decode(self._parse(_SERVER_FINAL, challenge)["signature"])
        if not hmac.compare_digest(signature, self._server_signature):
            raise AuthenticationError(
                "the broker's signature is wrong: it does not know the password, so it is not "
                "authentic"
            )
        self._expect = check_no_more
        self.is_done = True

    def _parse(self, expected: re.Pattern[str], challenge: bytes) -> re.Match[str]:
        text = challenge.decode(errors="replace")
        if match := expected.fullmatch(text):
            return match
        if refused := _SERVER_ERROR.fullmatch(text):
            raise AuthenticationError(f"the broker refused: {shown(refused['error'])}")
        raise AuthenticationError(f"the broker's token of {len(challenge)} bytes violates RFC 5802")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash_name)
