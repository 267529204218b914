"""Tokens of Microsoft Entra ID for OAUTHBEARER, by an identity of the machine or of the pod.

azure-identity (the extra `azure`) finds the identity and requests the token; it does its own I/O
and reads the clock itself. No identity that needs a person or another program is tried.

Sources: Azure Identity client library for Python; "Use Azure Event Hubs from Apache Kafka
applications" (the scope of a token); KIP-768 and librdkafka's CONFIGURATION.md (`azure_imds`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafka_protocol.auth.mechanism import shown
from kafka_protocol.auth.secret import Secret
from kafka_protocol.auth.token import AccessToken
from kafka_protocol.errors import AuthenticationError, BrokerConnectionError, KafkaConfigError

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

_MISSING: Final = "Azure's identities need azure-identity: pip install 'pyspark-pykafka[azure]'"
# Event Hubs in Azure's clouds: the namespace is the resource.
_EVENT_HUBS: Final = re.compile(
    r"[A-Za-z0-9.-]+\.servicebus\.(?:windows\.net|[a-z.]*api\.(?:net|cn))"
)
_SERVICE_PRINCIPAL: Final = ("AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH")
# For one request: azure-identity waits for minutes otherwise.
_LIMITS: Final = {"connection_timeout": 5, "read_timeout": 10, "retry_total": 2}


def azure_token(
    host: str, scope: str | None, client_id: str | None, *, is_managed: bool
) -> AccessToken:
    """Request a token.

    Args:
        host: The broker's host name.
        scope: The scope to request; None for the one of Event Hubs at this host.
        client_id: The client id of an identity that the user assigned; None for the only one.
        is_managed: Whether only a managed identity counts. Else, in this order: a service principal
            of the environment (with a secret or a certificate), a workload identity of Kubernetes,
            a managed identity.

    Raises:
        AuthenticationError: There is no such identity, or Entra ID refused.
        BrokerConnectionError: The endpoint of the identity cannot be reached.
        KafkaConfigError: azure-identity is missing, or the scope is.
    """
    try:
        from azure.core.exceptions import (
            AzureError,
            ClientAuthenticationError,
            HttpResponseError,
        )
        from azure.identity import ChainedTokenCredential, ManagedIdentityCredential
    except ImportError as error:
        raise KafkaConfigError(_MISSING) from error
    wanted = scope or _scope_of(host)
    managed = ManagedIdentityCredential(client_id=client_id, **_LIMITS)
    others = () if is_managed else _of_environment(client_id)
    try:
        with ChainedTokenCredential(*others, managed) as credential:
            token = credential.get_token(wanted)
    except ClientAuthenticationError as error:
        raise AuthenticationError(f"no token of Azure: {_reason(error)}") from None
    except HttpResponseError as error:
        raise AuthenticationError(f"Azure refused a token: {_reason(error)}") from None
    except AzureError as error:
        text = f"Azure's identities cannot be reached: {_reason(error)}"
        raise BrokerConnectionError(text) from None
    return AccessToken(Secret(token.token), float(token.expires_on))


def _scope_of(host: str) -> str:
    if not _EVENT_HUBS.fullmatch(host):
        raise KafkaConfigError(
            f"{shown(host)!r} is not a host of Event Hubs: set kafka.sasl.oauthbearer.scope to the "
            "scope of the token"
        )
    return f"https://{host}/.default"


def _of_environment(client_id: str | None) -> Iterator[TokenCredential]:
    from azure.identity import EnvironmentCredential, WorkloadIdentityCredential

    # It warns if there are only some of its variables, as a workload identity has them.
    if any(name in os.environ for name in _SERVICE_PRINCIPAL):
        yield EnvironmentCredential(**_LIMITS)
    with suppress(ValueError):  # its variables are missing
        yield WorkloadIdentityCredential(
            **({"client_id": client_id} if client_id else {}), **_LIMITS
        )


def _reason(error: Exception) -> str:
    """The lines of an error, one for each identity that was tried, without advice and links."""
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line and not re.search(r"://|^Attempted|^Chained", line)]
    return shown("; ".join(kept) or type(error).__name__)
