"""PLAIN (RFC 4616): user name and password without protection. Use it over TLS only."""

from __future__ import annotations

from kafka_protocol.auth.mechanism import check_no_more, utf8
from kafka_protocol.auth.secret import Secret


class Plain:
    """One PLAIN conversation. Kafka accepts no other authorization id than the user name."""

    def __init__(self, username: str, password: Secret, authzid: str = "") -> None:
        self._username = username
        self._password = password
        self._authzid = authzid
        self.is_done = False

    def first(self) -> bytes:
        """The only token.

        Raises:
            KafkaConfigError: User name or password is empty or has a NUL.
        """
        authzid = utf8(self._authzid, "the authorization id") if self._authzid else b""
        username = utf8(self._username, "the user name")
        return b"\0".join((authzid, username, utf8(self._password.reveal(), "the password")))

    def respond(self, challenge: bytes) -> None:
        """Read the server's empty token, which means success."""
        check_no_more(challenge)
        self.is_done = True
