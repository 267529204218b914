"""Tokens of Microsoft Entra ID for OAUTHBEARER, by an identity of the machine or of the pod.

azure-identity (the extra `azure`) finds the identity and requests the token; it does its own I/O
and reads the clock itself. No identity that needs a person or another program is tried.

Sources: Azure Identity client library for Python; "Use Azure Event Hubs from Apache Kafka
applications" (the scope of a token); KIP-768 and librdkafka's CONFIGURATION.md (`azure_imds`).
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
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
    r"[A-Za-z0-9.-]+\.servicebus\.(?:windows\.net|usgovcloudapi\.net|chinacloudapi\.cn)"
)
_QUOTED: Final = re.compile(r"\bContent: |[{\[<]")
_SERVICE_PRINCIPAL: Final = ("AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH")
# For one request: azure-identity waits for minutes otherwise.
_LIMITS: Final = {
    "connection_timeout": 5,
    "read_timeout": 10,
    "retry_total": 2,
    "retry_backoff_max": 5,
    "respect_retry_after_header": False,
}


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
        from azure.identity import ManagedIdentityCredential
    except ImportError as error:
        raise KafkaConfigError(_MISSING) from error
    wanted = scope or event_hubs_scope(host)
    others = () if is_managed else _of_environment(client_id)
    credentials = (*others, ManagedIdentityCredential(client_id=client_id, **_LIMITS))
    return _first_token(credentials, wanted)


def _first_token(credentials: Iterable[TokenCredential], scope: str) -> AccessToken:
    """The token of the first identity that is there."""
    from azure.core.exceptions import (
        AzureError,
        ClientAuthenticationError,
        ServiceRequestError,
        ServiceResponseError,
    )
    from azure.identity import CredentialUnavailableError

    reasons = []
    network = (ServiceRequestError, ServiceResponseError)
    for credential in credentials:
        name = type(credential).__name__
        try:
            with closing(credential):
                token = credential.get_token(scope)
        except CredentialUnavailableError as error:
            reasons.append(f"{name}: {_reason(error)}")
            if isinstance(error.__cause__ or error.__context__, network):
                raise BrokerConnectionError(f"no token of Azure: {reasons[-1]}") from None
        except ClientAuthenticationError as error:
            raise AuthenticationError(f"Azure refused a token: {name}: {_reason(error)}") from None
        except AzureError as error:
            text = f"no token of Azure: {name}: {_reason(error)}"
            raise BrokerConnectionError(text) from None
        else:
            return AccessToken(Secret(token.token), float(token.expires_on))
    raise AuthenticationError(f"there is no identity of Azure: {'; '.join(reasons)}")


def event_hubs_scope(host: str) -> str:
    """The scope of a token for Event Hubs at a host; raises KafkaConfigError if it is another."""
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
    """The first line of an error, up to the response that it may quote, which may have a token."""
    line = next(iter(str(error).strip().splitlines()), "")
    return shown(_QUOTED.split(line)[0].strip()) or type(error).__name__


# It logs responses that it cannot read, with the tokens in them; errors here say what failed.
_logger = logging.getLogger("azure.identity")
_logger.setLevel(_logger.level or logging.ERROR)  # unless somebody has set it
