"""An access token for OAUTHBEARER, with its end. No I/O."""

from __future__ import annotations

from typing import NamedTuple

from kafka_protocol.auth.secret import Secret


class AccessToken(NamedTuple):
    """A token, and when it ends: `AccessToken(Secret("..."), expires_s)`.

    Attributes:
        text: The token, which no log shows.
        expires_s: Its end in s since 1970; 0 if that is not known, so that it is used once.
        principal: Whom it names, for logs; empty if that is not known.
    """

    text: Secret
    expires_s: float = 0
    principal: str = ""
