"""The "schema.registry.*" options as one frozen, typed value.

Names and meanings are as in Confluent's clients: Java's SchemaRegistryClientConfig, Python's
SchemaRegistryClient and, for `request.timeout.ms`, .NET's. The options of TLS are as in Kafka's
clients. An unknown option is an error that suggests the nearest name. Options that contradict each
other, or that look secure without an effect, are refused before any request. No I/O.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kafka_formats.registry.url_parts import Url, parse_url
from kafka_protocol.auth.mechanism import utf8
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.java_names import REFUSED, WITHOUT_EFFECT
from kafka_protocol.client.config.option import (
    declared_in,
    integer,
    one_of,
    option,
    options_of,
    quoted,
    read_options,
)
from kafka_protocol.client.config.references import Referring, resolved
from kafka_protocol.client.config.security_checks import read_tls
from kafka_protocol.client.config.security_options import SecurityOptions, ServerTerms
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.nearest_name import did_you_mean

PREFIX: Final = "schema.registry."
REGISTRY: Final = ServerTerms(PREFIX, "use http in the URL", "does it speak TLS?")
_NO_TLS_OPTIONS: Final = SecurityOptions(server=REGISTRY)

# The identities of a machine, by the names of Confluent's clients if they have them.
IDENTITIES: Final = {"OAUTHBEARER_AZURE_IMDS": "azure_imds", "OAUTHBEARER_AZURE": "azure"}

_log = logging.getLogger(__name__)


def _listed(text: str) -> tuple[str, ...]:
    # It cannot fail: an error would show the text, which may contain a password.
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _header_value(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError("it must be printable ASCII")
    return text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryConfig(Referring):
    """The options of a registry's client. Each field is one option; its metadata has its name.

    `urls` have neither a user nor a slash at the end; with the source `URL`, `user_info` is
    the user and password that they had.
    """

    urls: tuple[str, ...] = option(
        "url",
        _listed,
        (),
        "The URLs of the registry: `https://host:port/path`, several with commas. All serve the "
        "same schemas; the client uses the next URL while one does not respond.",
    )
    basic_source: str | None = option(
        "basic.auth.credentials.source",
        one_of("USER_INFO", "URL"),
        None,
        "The place of user and password for basic authentication: `USER_INFO` "
        "(`schema.registry.basic.auth.user.info`) or `URL` (`https://user:password@host`). "
        "Default: the place where they are given.",
    )
    user_info: Secret | None = option(
        "basic.auth.user.info", Secret, None, "`user:password` for basic authentication."
    )
    bearer_source: str | None = option(
        "bearer.auth.credentials.source",
        one_of("STATIC_TOKEN", "OAUTHBEARER", *IDENTITIES),
        None,
        "The source of tokens: `STATIC_TOKEN` (`schema.registry.bearer.auth.token`) or "
        "`OAUTHBEARER` (an OIDC endpoint, by client credentials), or an identity of the machine: "
        "`OAUTHBEARER_AZURE_IMDS` (a managed identity) or `OAUTHBEARER_AZURE` (also a service "
        "principal of the environment, or a workload identity).",
    )
    bearer_token: Secret | None = option(
        "bearer.auth.token", Secret, None, "The token, for `STATIC_TOKEN`."
    )
    token_endpoint_url: Secret | None = option(
        "bearer.auth.issuer.endpoint.url",
        Secret,
        None,
        "The URL that returns a token, for `OAUTHBEARER`. The options of TLS apply to it, too.",
    )
    client_id: str | None = option("bearer.auth.client.id", str, None, "The client's id.")
    client_secret: Secret | None = option(
        "bearer.auth.client.secret", Secret, None, "The client's secret."
    )
    scope: str | None = option(
        "bearer.auth.scope", str, None, "The scope to request, if the endpoint needs one."
    )
    logical_cluster: str | None = option(
        "bearer.auth.logical.cluster",
        _header_value,
        None,
        "The id of the registry in Confluent Cloud (`lsrc-...`), with either kind of token.",
    )
    identity_pool_id: str | None = option(
        "bearer.auth.identity.pool.id",
        _header_value,
        None,
        "The identity pool in Confluent Cloud (`pool-...`), with either kind of token.",
    )
    request_timeout_ms: int = option(
        "request.timeout.ms", integer(1), 10_000, "How long to wait for the response of one URL."
    )
    max_retries: int = option(
        "max.retries",
        integer(0, 1_000),
        3,
        "How often to try all URLs again after errors that may pass: network errors, 408, 429 and "
        "5xx.",
    )
    retries_wait_ms: int = option(
        "retries.wait.ms", integer(0), 1_000, "The first pause before a retry; then it doubles."
    )
    retries_max_wait_ms: int = option(
        "retries.max.wait.ms", integer(0), 20_000, "The longest pause before a retry."
    )
    tls: SecurityOptions = _NO_TLS_OPTIONS

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> RegistryConfig:
        """Read options without their "schema.registry." prefix.

        Raises:
            KafkaConfigError: A name is unknown, a value cannot be used, options contradict each
                other, a reference has no value, or url is missing. Never contains a secret value,
                nor one of a reference.
        """
        known, texts = declared_in(cls), resolved(options, PREFIX)
        own = {name: text for name, text in texts.items() if name in known}
        tls = {name: text for name, text in texts.items() if name in _TLS_NAMES}
        for name in sorted(texts.keys() - own.keys() - tls.keys()):
            if name not in _WITHOUT_EFFECT:
                raise KafkaConfigError(_refusal(name, (*known, *_TLS_NAMES)))
            _log.warning("The option %s%s has no effect in pykafka.", PREFIX, name)
        values: dict[str, Any] = read_options(cls, own, PREFIX)
        config = cls(**values, tls=read_tls(tls, REGISTRY) if tls else _NO_TLS_OPTIONS)
        return _checked(config).keeping(options, texts)


_TLS_NAMES: Final = frozenset(n for n in declared_in(SecurityOptions) if n.startswith("ssl."))
_WITHOUT_EFFECT: Final = frozenset(n for n in WITHOUT_EFFECT if n.startswith("ssl."))
# Names of Confluent's clients for options that do not exist here.
_NOT_SUPPORTED: Final[Mapping[str, str]] = {
    **{name: reason for name, reason in REFUSED.items() if name.startswith("ssl.")},
    **dict.fromkeys(
        ("proxy", "proxy.host", "proxy.port"), "requests are sent to the registry itself"
    ),
    **dict.fromkeys(
        ("timeout", "http.connect.timeout.ms", "http.read.timeout.ms"),
        "set schema.registry.request.timeout.ms",
    ),
}


def _refusal(name: str, known: tuple[str, ...]) -> str:
    if name in _NOT_SUPPORTED:
        return f"Option '{PREFIX}{name}' is not supported: {_NOT_SUPPORTED[name]}"
    shown = {each: f"{PREFIX}{each}" for each in known}
    return f"Option '{PREFIX}{name}' is not known{did_you_mean(name, shown, before='; ')}"


_CLIENT_CREDENTIALS: Final = ("token_endpoint_url", "client_id", "client_secret")
# The options that each source of credentials needs, and others that only it uses.
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "URL": ("user_info",),
    "USER_INFO": ("user_info",),
    "STATIC_TOKEN": ("bearer_token",),
    "OAUTHBEARER": _CLIENT_CREDENTIALS,
    **dict.fromkeys(IDENTITIES, ("scope",)),
}
_OF_CONFLUENT_CLOUD: Final = ("logical_cluster", "identity_pool_id")
_USED: Final[Mapping[str, tuple[str, ...]]] = {
    **_REQUIRED,
    "STATIC_TOKEN": (*_REQUIRED["STATIC_TOKEN"], *_OF_CONFLUENT_CLOUD),
    "OAUTHBEARER": (*_CLIENT_CREDENTIALS, "scope", *_OF_CONFLUENT_CLOUD),
    **dict.fromkeys(IDENTITIES, ("scope", "client_id", *_OF_CONFLUENT_CLOUD)),
}


def _checked(config: RegistryConfig) -> RegistryConfig:
    """The configuration with plain URLs, and with its credentials in their fields."""
    config = _with_plain_urls(_with_default_source(config))
    _check_sources(config)
    _check_secrets(config)
    _check_tls(config)
    _warn(config)
    return config


def _with_default_source(config: RegistryConfig) -> RegistryConfig:
    if config.user_info is not None and config.basic_source is None:
        return replace(config, basic_source="USER_INFO")
    return config


def _with_plain_urls(config: RegistryConfig) -> RegistryConfig:
    if not config.urls:
        raise KafkaConfigError(f"Option {_named('urls')} must be specified: https://host:port/path")
    urls = [_url(text, _named("urls")) for text in config.urls]
    infos = {url.user_info for url in urls}
    config = replace(config, urls=tuple(url.text for url in urls))
    if infos != {None} and config.basic_source is config.bearer_source is None:
        config = replace(config, basic_source="URL")
    if config.basic_source == "URL":
        return _with_user_of_urls(config, infos)
    if infos != {None}:
        raise KafkaConfigError(
            f"Option {_named('urls')} contains a user, but other options set the "
            "credentials: remove the user, or these options"
        )
    return config


def _with_user_of_urls(config: RegistryConfig, infos: set[str | None]) -> RegistryConfig:
    if config.user_info is not None:
        raise KafkaConfigError(
            f"Options {_named('basic_source', 'user_info')} contradict each other: set the first "
            "one to USER_INFO"
        )
    info = infos.pop()
    if infos or info is None:
        raise KafkaConfigError(
            f"Option {_named('urls')} must have the same user:password in each URL"
        )
    return replace(config, user_info=Secret(info))


def _url(text: str, name: str) -> Url:
    try:
        return parse_url(text)
    except ValueError:
        # Without the text, which may contain a password.
        raise KafkaConfigError(
            f"Option {name} must be https://host:port/path in ASCII, with commas between several"
        ) from None


def _check_sources(config: RegistryConfig) -> None:
    sources = [s for s in (config.basic_source, config.bearer_source) if s is not None]
    if len(sources) > 1:
        raise KafkaConfigError(
            f"Options {_named('basic_source', 'bearer_source')} exclude each other: keep one"
        )
    for source in sources:
        missing = [name for name in _REQUIRED[source] if not getattr(config, name)]
        if missing:
            raise KafkaConfigError(f"Options {_named(*missing)} must be specified for {source}")
    used = {name for source in sources for name in _USED[source]}
    for name in dict.fromkeys(name for names in _USED.values() for name in names):
        if name not in used and getattr(config, name) is not None:
            needing = " or ".join(source for source, names in _USED.items() if name in names)
            raise KafkaConfigError(
                f"Option {_named(name)} has no effect: set "
                f"schema.registry.bearer.auth.credentials.source to {needing}"
            )


def _check_secrets(config: RegistryConfig) -> None:
    if config.user_info is not None:
        name = _named("user_info" if config.basic_source == "USER_INFO" else "urls")
        utf8(config.user_info.reveal(), name)
        if ":" not in config.user_info.reveal():
            raise KafkaConfigError(f"Option {name} must have the form user:password")
    if config.bearer_token is not None and not _is_token(config.bearer_token.reveal()):
        raise KafkaConfigError(
            f"Option {_named('bearer_token')} is empty, or has a space or a character that is not "
            "printable ASCII"
        )
    if config.client_secret is not None:
        name = _named("client_id", "client_secret")
        utf8(f"{config.client_id}:{config.client_secret.reveal()}", name)
    if config.token_endpoint_url is not None:
        _check_token_endpoint(config.token_endpoint_url.reveal())


def _check_token_endpoint(text: str) -> None:
    # It may have a query, unlike URLs of registries.
    path, _, query = text.partition("?")
    name = _named("token_endpoint_url")
    if _url(path, name).user_info is not None or not _is_token(f"?{query}"):
        raise KafkaConfigError(f"Option {name} must be https://host/path, without a user")


def _check_tls(config: RegistryConfig) -> None:
    """Refuse options without effect: a user who sets a trust store expects that it is used."""
    if config.tls != _NO_TLS_OPTIONS and not any(u.startswith("https:") for u in _urls(config)):
        raise KafkaConfigError(
            f"Options 'schema.registry.ssl.*' are set, and have no effect while "
            f"{_named('urls')} is http: use https"
        )


def _is_token(text: str) -> bool:
    return text != "" and text.isascii() and text.isprintable() and " " not in text


def _urls(config: RegistryConfig) -> tuple[str, ...]:
    endpoint = config.token_endpoint_url
    return (*config.urls, *([endpoint.reveal()] if endpoint else []))


def _warn(config: RegistryConfig) -> None:
    has_credentials = config.user_info is not None or config.bearer_source is not None
    if has_credentials and any(url.startswith("http:") for url in _urls(config)):
        _log.warning("A URL of schema.registry.* is http: the credentials are sent unencrypted.")


_OPTIONS: Final = options_of(RegistryConfig)


def _named(*field_names: str) -> str:
    return quoted([_OPTIONS[name].name for name in field_names], PREFIX)
