"""Tokens for OAUTHBEARER by a service credential of Unity Catalog, on Databricks.

Databricks gives the credential where the code runs: in Python workers by
`databricks.service_credentials`, in a notebook's process by `dbutils`. It does its own I/O.

Source: "Use Unity Catalog service credentials to connect to external cloud services".
"""

from __future__ import annotations

from typing import Any, Final

from kafka_protocol.auth.azure import event_hubs_scope
from kafka_protocol.auth.mechanism import shown
from kafka_protocol.auth.secret import Secret
from kafka_protocol.auth.token import AccessToken
from kafka_protocol.errors import AuthenticationError, KafkaConfigError

_NAME: Final = "kafka.sasl.oauthbearer.client.credentials.client.id"


def databricks_token(host: str, scope: str | None, name: str | None) -> AccessToken:
    """Request a token.

    Args:
        host: The broker's host name.
        scope: The scope to request; None for the one of Event Hubs at this host.
        name: The name of the service credential.

    Raises:
        AuthenticationError: Databricks refused, or gave something else than a token.
        KafkaConfigError: This is not Databricks, or the credential is not one of Azure.
    """
    if not name:
        raise KafkaConfigError(f"Option '{_NAME}' must be the name of the service credential")
    credential = _credential(name)
    get_token = getattr(credential, "get_token", None)
    if get_token is None:
        raise KafkaConfigError(
            f"the service credential {shown(name)!r} gives no tokens of Azure: for other clouds "
            "name a function in kafka.sasl.oauthbearer.token.callback"
        )
    token = get_token(scope or event_hubs_scope(host))
    text, expires_s = getattr(token, "token", None), getattr(token, "expires_on", None)
    if not isinstance(text, str) or not isinstance(expires_s, int | float):
        raise AuthenticationError(f"the service credential {shown(name)!r} gave no token")
    return AccessToken(Secret(text), float(expires_s))


def _credential(name: str) -> Any:
    try:
        from databricks.service_credentials import getServiceCredentialsProvider
    except ImportError:
        pass
    else:
        return getServiceCredentialsProvider(name)
    try:
        from databricks.sdk.runtime import dbutils
    except ImportError as error:
        raise KafkaConfigError(
            "there are no service credentials: this process is not one of Databricks, or its "
            "runtime is older than 15.4"
        ) from error
    return dbutils.credentials.getServiceCredentialsProvider(name)
