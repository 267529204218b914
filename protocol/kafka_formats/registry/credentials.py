"""The credentials of a registry's client: headers of requests, and texts without secrets."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, quote_plus

from kafka_formats.registry.config import IDENTITIES, RegistryConfig
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker.grants import ClientCredentials
from kafka_protocol.client.broker.oauth import (
    endpoint_token,
    forget_endpoint_token,
)
from kafka_protocol.client.broker.token_sources import (
    TokenSource,
    forget_source_token,
    source_token,
)
from kafka_protocol.client.clock import Deadline
from kafka_protocol.errors import AuthenticationError

# For Confluent Cloud, which serves many registries at one URL.
_CLUSTER_HEADER: Final = "target-sr-cluster"
_POOL_HEADER: Final = "Confluent-Identity-Pool-Id"


class Credentials:
    """A client's proof of its identity: nothing, a user and a password, or a token."""

    def __init__(self, config: RegistryConfig) -> None:
        self._config = config
        self._client = _client_in(config)
        self._source = _source_in(config)
        self._secrets = {*_secrets_in(config)}
        self._token: Secret | None = config.bearer_token

    def headers(self, deadline: Deadline) -> dict[str, str]:
        """The headers of a request.

        Raises:
            AuthenticationError: The token endpoint refused, or its token cannot be sent.
            KafkaError: As from `endpoint_token`.
        """
        config = self._config
        if config.user_info is not None:
            encoded = base64.b64encode(config.user_info.reveal().encode()).decode()
            return {"Authorization": f"Basic {encoded}"}
        if config.bearer_source is None:
            return {}
        pairs = (
            ("Authorization", f"Bearer {self._bearer_token(deadline).reveal()}"),
            (_CLUSTER_HEADER, config.logical_cluster),
            (_POOL_HEADER, config.identity_pool_id),
        )
        return {name: value for name, value in pairs if value is not None}

    def renew(self) -> bool:
        """Drop a token that the registry refused; whether another one can be requested."""
        if self._client is not None:
            forget_endpoint_token(self._client)
        if self._source is not None:
            forget_source_token(self._source)
        return self._client is not None or self._source is not None

    def hide(self, text: str) -> str:
        """A text of a server without the secrets that it may repeat."""
        token = [] if self._token is None else _forms(self._token.reveal())
        # The longest first: one may contain another.
        for secret in sorted({*self._secrets, *token}, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def _bearer_token(self, deadline: Deadline) -> Secret:
        if self._client is not None:
            self._token = endpoint_token(self._client, deadline)
        elif self._source is not None:
            self._token = source_token(self._source, "")
        token = self._token or Secret("")
        if not token.reveal().isascii() or not token.reveal().isprintable():
            raise AuthenticationError(
                "the token endpoint responded with a token that is not printable ASCII"
            )
        return token


def _client_in(config: RegistryConfig) -> ClientCredentials | None:
    if config.token_endpoint_url is None or config.client_secret is None:
        return None
    return ClientCredentials(
        config.token_endpoint_url.reveal(),
        config.client_id or "",
        config.client_secret,
        config.scope,
        config.tls,
    )


def _source_in(config: RegistryConfig) -> TokenSource | None:
    kind = IDENTITIES.get(config.bearer_source or "")
    return None if kind is None else TokenSource(kind, config.scope, config.client_id)


def _secrets_in(config: RegistryConfig) -> Iterator[str]:
    if config.user_info is not None:
        info = config.user_info.reveal()
        yield base64.b64encode(info.encode()).decode()
        yield from _forms(info)
        yield from _forms(info.partition(":")[2])
    if config.client_secret is not None:
        yield from _forms(config.client_secret.reveal())


def _forms(secret: str) -> Iterator[str]:
    """A secret as servers repeat it: as it is, in URLs and in JSON."""
    forms = (secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1])
    return filter(None, forms)
