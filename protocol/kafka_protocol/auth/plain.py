"""PLAIN (RFC 4616): user name and password as they are. Use it over TLS only."""

from __future__ import annotations

from kafka_protocol.auth.mechanism import refuse_more, utf8
from kafka_protocol.auth.secret import Secret


class Plain:
    """One PLAIN conversation.

    Args:
        username: Who logs in.
        password: Their password.
        authzid: As whom to act; the same where nothing is said. Kafka accepts no other.
    """

    def __init__(self, username: str, password: Secret, authzid: str = "") -> None:
        self._username = username
        self._password = password
        self._authzid = authzid
        self.is_done = False

    def first(self) -> bytes:
        """All there is to say.

        Raises:
            KafkaConfigError: User name or password is empty or holds a NUL.
        """
        authzid = utf8(self._authzid, "the authorization id") if self._authzid else b""
        username = utf8(self._username, "the user name")
        return b"\0".join((authzid, username, utf8(self._password.reveal(), "the password")))

    def answer(self, challenge: bytes) -> None:
        """The server's empty token: it has accepted."""
        refuse_more(challenge)
        self.is_done = True
