"""What a SASL mechanism is: two calls, and whether the server has kept its side (RFC 4422).

An AuthenticationError holds what went wrong, never a credential, and of the server's words only
what is printable. Who carries the tokens adds mechanism and broker.
"""

from __future__ import annotations

from typing import Final, Protocol

from kafka_protocol.errors import AuthenticationError, KafkaConfigError

# A server's own words in an error: enough for a sentence, too little to flood a log.
_MAX_SHOWN: Final = 200


class Conversation(Protocol):
    """One authentication on one connection: each has its own, and uses it once."""

    def first(self) -> bytes:
        """The client's first token. Called once, before `answer`.

        Raises:
            AuthenticationError: No credentials could be had.
            KafkaConfigError: A library is missing, or an option cannot be used.
        """
        ...

    def answer(self, challenge: bytes) -> bytes | None:
        """What to send after the server's token `challenge`; None for nothing more.

        An empty token is not None: it is to be sent.

        Raises:
            AuthenticationError: The server refused, or is not who it should be.
        """
        ...

    @property
    def is_done(self) -> bool:
        """Whether the server has proven, or accepted, all that this mechanism can check.

        GSSAPI is done when its last token is made. Where tokens travel as bare frames (KIP-43),
        nothing comes after it; inside SaslAuthenticate, an empty token does.
        """
        ...


def utf8(text: str, what: str) -> bytes:
    """The bytes of a credential.

    Args:
        text: The credential.
        what: How to call it in an error.

    Raises:
        KafkaConfigError: It is empty, or has a character that no mechanism can carry.
    """
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        # Not chained: the exception holds the text.
        raise KafkaConfigError(f"{what} has a character that UTF-8 cannot express") from None
    if not encoded or b"\0" in encoded:
        raise KafkaConfigError(f"{what} is empty or holds a NUL character")
    return encoded


def shown(text: str) -> str:
    """A server's own words, as they may stand in an error."""
    printable = "".join(c if c.isprintable() else "?" for c in text[:_MAX_SHOWN])
    return printable + "..." if len(text) > _MAX_SHOWN else printable


def refuse_more(challenge: bytes) -> None:
    """For the token that follows the end: SaslAuthenticate carries an empty one, no other may come.

    Raises:
        AuthenticationError: The token holds something.
    """
    if challenge:
        raise AuthenticationError(
            f"the broker sent {len(challenge)} bytes after the end of the exchange"
        )
