"""The options of a schema registry, with the names of Confluent's clients after `schema.registry.`.

No I/O. Secrets are `Secret` values, and never appear in errors.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.option import declared_in, integer, one_of, option, read_options
from kafka_protocol.client.config.security_checks import read_security
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.errors import KafkaConfigError

PREFIX: Final = "schema.registry."
_USER_INFO: Final = "USER_INFO"
_FROM_URL: Final = "URL"
_STATIC_TOKEN: Final = "STATIC_TOKEN"  # noqa: S105 - a name
_OAUTHBEARER: Final = "OAUTHBEARER"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryConfig:
    """The options of a registry. Each field is one option; its metadata has name and meaning."""

    # It may have a password.
    addresses: Secret = option(
        "url",
        Secret,
        Secret(""),
        "Addresses of the registry: `https://host:port`, several with commas; all serve the same "
        "schemas.",
    )
    basic_source: str = option(
        "basic.auth.credentials.source",
        one_of(_USER_INFO, _FROM_URL),
        _USER_INFO,
        "`URL`: user and password are those in `url`.",
    )
    user_info: Secret | None = option(
        "basic.auth.user.info", Secret, None, "User and password: `user:password`."
    )
    bearer_source: str | None = option(
        "bearer.auth.credentials.source",
        one_of(_STATIC_TOKEN, _OAUTHBEARER),
        None,
        "`STATIC_TOKEN` or `OAUTHBEARER`. Default: that of the given options.",
    )
    token: Secret | None = option("bearer.auth.token", Secret, None, "A token to send.")
    token_endpoint_url: str | None = option(
        "bearer.auth.issuer.endpoint.url",
        str,
        None,
        "The URL that returns a token for the client's credentials (OIDC).",
    )
    client_id: str | None = option("bearer.auth.client.id", str, None, "The client's id.")
    client_secret: Secret | None = option(
        "bearer.auth.client.secret", Secret, None, "The client's secret."
    )
    scope: str | None = option("bearer.auth.scope", str, None, "The scope to request.")
    logical_cluster: str | None = option(
        "bearer.auth.logical.cluster", str, None, "The id of a registry of Confluent Cloud."
    )
    identity_pool_id: str | None = option(
        "bearer.auth.identity.pool.id", str, None, "The id of an identity pool of Confluent Cloud."
    )
    timeout_ms: int = option(
        "http.read.timeout.ms", integer(1), 10_000, "The longest wait for a response, in ms."
    )
    max_retries: int = option(
        "max.retries", integer(0, 100), 3, "How often a request is sent again to all addresses."
    )
    retry_backoff_ms: int = option(
        "retries.wait.ms", integer(0), 1_000, "The wait before the first retry, in ms; then longer."
    )
    retry_backoff_max_ms: int = option(
        "retries.max.wait.ms", integer(0), 20_000, "The longest wait before a retry, in ms."
    )
    security: SecurityOptions = SecurityOptions()

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> RegistryConfig:
        """Read options without `schema.registry.`; `ssl.*` are those of the Kafka client.

        Raises:
            KafkaConfigError: A name is unknown, a value cannot be used, or options contradict each
                other. Never contains a secret.
        """
        own = declared_in(cls)
        tls = {name: text for name, text in options.items() if name.startswith("ssl.")}
        for name in sorted(options.keys() - own.keys() - tls.keys()):
            raise _unknown(name, [*own])
        given = {name: text for name, text in options.items() if name in own}
        config = cls(**read_options(cls, given, PREFIX), security=_tls_of(tls))
        for check in (_check_urls, _check_basic, _check_bearer):
            check(config)
        return config

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses without user and password."""
        return tuple(map(_without_user, _split(self.addresses)))

    @property
    def basic_auth(self) -> Secret | None:
        """User and password, with a colon between them; None to send none."""
        if self.basic_source == _FROM_URL:
            parts = urlsplit(_split(self.addresses)[0])
            return Secret(f"{unquote(parts.username or '')}:{unquote(parts.password or '')}")
        return self.user_info

    @property
    def token_endpoint(self) -> SecurityOptions | None:
        """The endpoint for tokens and the client's credentials for it; None without one."""
        if self.token_endpoint_url is None:
            return None
        return SecurityOptions(
            token_endpoint_url=self.token_endpoint_url,
            oauth_client_id=self.client_id,
            oauth_client_secret=self.client_secret,
            oauth_scope=self.scope,
            https_ca_location=self.security.truststore_location,
        )


def _split(addresses: Secret) -> list[str]:
    return [each.strip().rstrip("/") for each in addresses.reveal().split(",") if each.strip()]


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    is_plain = not (parts.query or parts.fragment)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and is_plain


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _tls_of(options: Mapping[str, str]) -> SecurityOptions:
    if not options:
        return SecurityOptions()
    known = declared_in(SecurityOptions)
    for name in sorted(options.keys() - known.keys()):
        raise _unknown(name, [each for each in known if each.startswith("ssl.")])
    try:
        # The address says whether TLS is used.
        found = read_security({**options, "security.protocol": "SSL"})
    except KafkaConfigError as error:
        raise KafkaConfigError(
            f"{error} (of the registry: the options begin with {PREFIX}ssl.)"
        ) from error
    return replace(found, protocol="PLAINTEXT")


def _unknown(name: str, known: list[str]) -> KafkaConfigError:
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f"; did you mean '{PREFIX}{nearest[0]}'?" if nearest else f": {', '.join(known)}"
    return KafkaConfigError(f"Option '{PREFIX}{name}' is not known to pykafka{hint}")


def _check_urls(config: RegistryConfig) -> None:
    urls = _split(config.addresses)
    if not urls or not all(map(_is_address, urls)):
        raise KafkaConfigError(
            f"Option '{PREFIX}url' must be the address of the registry: http://host:port or "
            "https://host:port, several with commas between them."
        )
    has_user = ["@" in urlsplit(url).netloc for url in urls]
    if any(has_user) and config.basic_source != _FROM_URL:
        raise KafkaConfigError(
            f"Option '{PREFIX}url' has a user: set {PREFIX}basic.auth.credentials.source to URL, "
            f"or give it in {PREFIX}basic.auth.user.info instead."
        )
    if config.basic_source == _FROM_URL and not has_user[0]:
        raise KafkaConfigError(
            f"Option '{PREFIX}basic.auth.credentials.source' is URL, but '{PREFIX}url' has no user."
        )


def _check_basic(config: RegistryConfig) -> None:
    info = config.basic_auth
    if info is not None and not info.reveal().partition(":")[1]:
        raise KafkaConfigError(f"Option '{PREFIX}basic.auth.user.info' must be user:password.")
    if info is not None and (config.token is not None or config.token_endpoint_url is not None):
        raise KafkaConfigError(
            f"Options '{PREFIX}basic.auth.*' and '{PREFIX}bearer.auth.*' exclude each other."
        )


# What each source of tokens needs: names, and the fields.
_BEARER: Final[Mapping[str, Mapping[str, str]]] = {
    _STATIC_TOKEN: {"bearer.auth.token": "token"},
    _OAUTHBEARER: {
        "bearer.auth.issuer.endpoint.url": "token_endpoint_url",
        "bearer.auth.client.id": "client_id",
        "bearer.auth.client.secret": "client_secret",
    },
}


def _check_bearer(config: RegistryConfig) -> None:
    if config.token is not None and config.token_endpoint_url is not None:
        raise KafkaConfigError(
            f"Options '{PREFIX}bearer.auth.token' and '{PREFIX}bearer.auth.issuer.endpoint.url' "
            "exclude each other."
        )
    source = config.bearer_source
    if source is None and config.token_endpoint_url is not None:
        source = _OAUTHBEARER
    needs: Mapping[str, str] = _BEARER[source] if source else {}
    for name, field in needs.items():
        value: Any = getattr(config, field)
        if value is None:
            raise KafkaConfigError(f"Option '{PREFIX}{name}' is missing: {source} needs it.")
