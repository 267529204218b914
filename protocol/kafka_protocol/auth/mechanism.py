"""The interface of SASL mechanisms (RFC 4422), and their common functions.

An AuthenticationError must never contain a credential, and only printable text from the server.
The sender of the tokens adds mechanism and broker to it.
"""

from __future__ import annotations

from typing import Final, Protocol

from kafka_protocol.errors import AuthenticationError, KafkaConfigError

# The most characters of a server's text in an error.
_MAX_SHOWN: Final = 200


class Conversation(Protocol):
    """One authentication of one connection, used once."""

    def first(self) -> bytes:
        """The client's first token. Called once, before `respond`.

        Raises:
            AuthenticationError: No credentials were found.
            KafkaConfigError: A library is missing, or an option is wrong.
        """
        ...

    def respond(self, challenge: bytes) -> bytes | None:
        """The token to send after the server's token `challenge`; None to send nothing.

        An empty token must be sent.

        Raises:
            AuthenticationError: The server refused, or is not authentic.
        """
        ...

    @property
    def is_done(self) -> bool:
        """Whether the exchange succeeded, as far as this mechanism can check.

        GSSAPI is done with its last token. With bare frames (KIP-43) no server token follows it;
        with SaslAuthenticate, an empty one does.
        """
        ...


def utf8(text: str, what: str) -> bytes:
    """The bytes of a credential; `what` is its name in errors.

    Raises:
        KafkaConfigError: It is empty, or has a NUL or a character that UTF-8 lacks.
    """
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        # Not chained: the exception contains the text.
        raise KafkaConfigError(f"{what} has a character that UTF-8 cannot encode") from None
    if not encoded or b"\0" in encoded:
        raise KafkaConfigError(f"{what} is empty or has a NUL character")
    return encoded


def shown(text: str, max_characters: int = _MAX_SHOWN) -> str:
    """A server's text for an error: short, and only printable characters."""
    printable = "".join(c if c.isprintable() else "?" for c in text[:max_characters])
    return printable + "..." if len(text) > max_characters else printable


def check_no_more(challenge: bytes) -> None:
    """Check the token after the end of the exchange; SaslAuthenticate has an empty one.

    Raises:
        AuthenticationError: The token is not empty.
    """
    if challenge:
        raise AuthenticationError(
            f"the broker sent {len(challenge)} bytes after the end of the exchange"
        )
