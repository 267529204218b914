"""Tokens of Google for OAUTHBEARER, in the form that the brokers of Managed Kafka take.

google-auth (the extra `gcp`) finds the credentials: by the metadata server, in a file of a service
account, or by workload identity federation. It does its own I/O.

Source: "Authentication types for Kafka brokers" of Managed Service for Apache Kafka, and Google's
handler for Java, whose token has three parts: a header, claims, and the access token.
"""

from __future__ import annotations

import base64
import json
import re
from contextlib import closing
from datetime import timezone
from typing import Any, Final

from kafka_protocol.auth.mechanism import shown
from kafka_protocol.auth.secret import Secret
from kafka_protocol.auth.token import AccessToken
from kafka_protocol.errors import AuthenticationError, BrokerConnectionError, KafkaConfigError

_MISSING: Final = "Google's identities need google-auth: pip install 'pyspark-pykafka[gcp]'"
_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
_QUOTED: Final = re.compile(r"[{\[<]|\bb'|\\")
_HEADER: Final = {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
# For one request, in s; google-auth waits for two minutes otherwise.
_TIMEOUT_S: Final = 10


def google_token(scope: str | None, now_s: float) -> AccessToken:
    """Request a token of the default credentials.

    Args:
        scope: The scope of the access token; None for Google's own for all services.
        now_s: The time, in s since 1970.

    Raises:
        AuthenticationError: There are no credentials, or Google refused.
        BrokerConnectionError: The server of the credentials cannot be reached.
        KafkaConfigError: google-auth is missing.
    """
    try:
        import google.auth
        import google.auth.transport.requests
        from google.auth.exceptions import (
            DefaultCredentialsError,
            GoogleAuthError,
            RefreshError,
            TransportError,
        )
    except ImportError as error:
        raise KafkaConfigError(_MISSING) from error

    request = google.auth.transport.requests.Request()

    def limited(*arguments: Any, **more: Any) -> Any:
        return request(*arguments, **{**more, "timeout": _TIMEOUT_S})

    try:
        with closing(request.session):
            credentials, _ = google.auth.default(scopes=[scope or _SCOPE], request=limited)
            credentials.refresh(limited)
    except DefaultCredentialsError as error:
        raise AuthenticationError(f"no credentials of Google: {_reason(error)}") from None
    except (TransportError, RefreshError) as error:
        text = f"no token of Google: {_reason(error)}"
        may_pass = isinstance(error, TransportError) or error.retryable
        raise (BrokerConnectionError if may_pass else AuthenticationError)(text) from None
    except GoogleAuthError as error:
        raise AuthenticationError(f"no token of Google: {_reason(error)}") from None
    expires_s = credentials.expiry.replace(tzinfo=timezone.utc).timestamp()
    return AccessToken(_for_brokers(credentials, expires_s, now_s), expires_s)


def _for_brokers(credentials: Any, expires_s: float, now_s: float) -> Secret:
    account = getattr(credentials, "service_account_email", None)
    if not account or account == "default":
        raise AuthenticationError(
            "the credentials of Google have no service account, whose name brokers expect: let "
            "them impersonate one"
        )
    claims = {"exp": int(expires_s), "iat": int(now_s), "iss": "Google", "scope": "kafka"}
    parts = (json.dumps(_HEADER), json.dumps({**claims, "sub": account}), credentials.token)
    encoded = (base64.urlsafe_b64encode(part.encode()).rstrip(b"=") for part in parts)
    return Secret(b".".join(encoded).decode())


def _reason(error: Exception) -> str:
    """The first line of an error's own text: its others are responses, which may have a token.

    A file that cannot be decoded is quoted in the text.
    """
    text = next((each for each in error.args if isinstance(each, str)), "")
    line = next(iter(_QUOTED.split(text.strip())[0].splitlines()), "")
    return shown(line.strip(" :(")) or type(error).__name__
