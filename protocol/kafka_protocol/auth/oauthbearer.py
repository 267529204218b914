"""OAUTHBEARER (RFC 7628; KIP-255, KIP-342 for extensions): sends a given access token."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kafka_protocol.auth.mechanism import check_no_more, shown, utf8
from kafka_protocol.auth.secret import Secret
from kafka_protocol.errors import AuthenticationError, KafkaConfigError

# RFC 6750, section 2.1.
_TOKEN: Final = re.compile(rb"[A-Za-z0-9._~+/-]+=*")
# RFC 7628, section 3.1.
_EXTENSION_NAME: Final = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(r"[\x20-\x7e\t\r\n]+")
_SEPARATOR: Final = b"\x01"
_NO_EXTENSIONS: Final[Mapping[str, str]] = MappingProxyType({})


class OAuthBearer:
    """One OAUTHBEARER conversation, with an access token.

    `extensions` are further names and values, for example Confluent Cloud's `logicalCluster`.
    """

    def __init__(self, token: Secret, extensions: Mapping[str, str] = _NO_EXTENSIONS) -> None:
        self._token = token
        self._extensions = extensions
        self._refusal: str | None = None
        self.is_done = False

    def first(self) -> bytes:
        """The token and the extensions.

        Raises:
            KafkaConfigError: The token or an extension has a character that is not allowed.
        """
        token = utf8(self._token.reveal(), "the token")
        if not _TOKEN.fullmatch(token):
            raise KafkaConfigError(
                "the token is invalid: it has characters that RFC 6750 does not allow, for example "
                "white space"
            )
        pairs = [b"auth=Bearer " + token, *map(_pair, self._extensions.items())]
        return b"n,," + b"".join(_SEPARATOR + pair for pair in pairs) + _SEPARATOR * 2

    def respond(self, challenge: bytes) -> bytes | None:
        """None if the server accepts; a dummy byte if it refuses (RFC 7628, 3.2.3).

        Raises:
            AuthenticationError: The server refused, and received the dummy byte.
        """
        if self._refusal is not None:
            raise AuthenticationError(f"the broker refused the token{self._refusal}")
        if self.is_done or not challenge:
            check_no_more(challenge)
            self.is_done = True
            return None
        # The challenge may quote the token.
        self._refusal = _reason(challenge.replace(self._token.reveal().encode(), b"***"))
        return _SEPARATOR


def _pair(extension: tuple[str, str]) -> bytes:
    name, value = extension
    if not _EXTENSION_NAME.fullmatch(name) or name.lower() == "auth":
        raise KafkaConfigError(
            f"The name {name!r} of an OAUTHBEARER extension must be letters only, and not 'auth'"
        )
    if not _EXTENSION_VALUE.fullmatch(value):
        raise KafkaConfigError(
            f"The value of the OAUTHBEARER extension {name!r} must be printable ASCII"
        )
    return f"{name}={value}".encode()


def _reason(challenge: bytes) -> str:
    """The status and scope in a server's JSON, for an error (RFC 7628, 3.2.2)."""
    try:
        content = json.loads(challenge)
    except (ValueError, RecursionError):
        return ""
    fields = content if isinstance(content, dict) else {}
    texts = {name: fields.get(name) for name in ("status", "scope")}
    return "".join(
        f", {name} {shown(text)!r}" for name, text in texts.items() if isinstance(text, str)
    )
