"""Reads the "kafka.ssl.*" and "kafka.sasl.*" options, and checks them together.

Refuses contradictory and incomplete options before any connection is opened, and options that
look secure without an effect. No I/O, and no secret in an error.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from kafka_protocol.auth.jaas import credentials_of, parse_jaas
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.assertion_options import AssertionOptions
from kafka_protocol.client.config.option import options_of, quoted, read_options
from kafka_protocol.client.config.security_options import (
    BROKER,
    IDENTITIES,
    MECHANISMS,
    SecurityOptions,
    ServerTerms,
)
from kafka_protocol.errors import KafkaConfigError

_log = logging.getLogger(__name__)


def read_security(options: Mapping[str, str]) -> SecurityOptions:
    """Read and check the options of `SecurityOptions` from texts by name, without `kafka.`.

    Raises:
        KafkaConfigError: A value cannot be used, an option is missing, or two contradict.
    """
    values = read_options(SecurityOptions, options)
    jaas = values.pop("jaas_config", None)
    if jaas is not None:
        values = _with_credentials(values, _credentials_in(jaas, values.get("mechanism")))
    security = SecurityOptions(**values)
    for check in _CHECKS:
        check(security)
    _warn(security)
    return security


def read_tls(options: Mapping[str, str], server: ServerTerms) -> SecurityOptions:
    """Read and check the `ssl.*` options for a server that is not a broker.

    Their names are without the prefix; errors show it.

    Raises:
        KafkaConfigError: A value cannot be used, or two options contradict.
    """
    values = read_options(SecurityOptions, options, server.prefix)
    tls = SecurityOptions(server=server, protocol="SSL", **values)
    _check_exclusive(tls)
    _check_client_key(tls)
    if not tls.endpoint_identification:
        _log.warning(
            "%sssl.endpoint.identification.algorithm is empty: any certificate of a trusted "
            "authority is accepted for any server.",
            server.prefix,
        )
    return tls


def _credentials_in(jaas: Secret, mechanism: str | None) -> dict[str, Any]:
    if mechanism is None:
        raise KafkaConfigError(
            "Option 'kafka.sasl.mechanism' must be specified with kafka.sasl.jaas.config: "
            f"one of {', '.join(MECHANISMS)}"
        )
    return read_options(SecurityOptions, credentials_of(parse_jaas(jaas), mechanism))


def _with_credentials(values: dict[str, Any], credentials: dict[str, Any]) -> dict[str, Any]:
    for name in credentials.keys() & values.keys():
        raise KafkaConfigError(
            f"Options 'kafka.sasl.jaas.config' and {_quoted(BROKER, name)} set the same value: "
            "keep one"
        )
    return values | credentials


_OPTIONS: Final = options_of(SecurityOptions)
_DEFAULTS: Final = SecurityOptions()

# Pairs of which only one may be given.
_EXCLUSIVE: Final = (
    ("truststore_location", "truststore_certificates"),
    ("keystore_location", "keystore_key"),
    ("keystore_location", "keystore_certificate_chain"),
    ("keystore_location", "key_location"),
    ("keystore_location", "certificate_location"),
    ("keystore_key", "key_location"),
    ("keystore_certificate_chain", "certificate_location"),
    ("token_callback", "token_endpoint_url"),
    ("assertion_file", "assertion_key_file"),
    ("oauth_client_secret", "assertion_file"),
    ("oauth_client_secret", "assertion_key_file"),
)
_USER_AND_PASSWORD: Final = ("username", "password")
_BY_ASSERTION: Final = ("token_endpoint_url",)
_CLIENT_CREDENTIALS: Final = ("token_endpoint_url", "oauth_client_id", "oauth_client_secret")
# The options that a mechanism requires. A token callback, or an identity of the machine, replaces
# all options of OAUTHBEARER.
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "PLAIN": _USER_AND_PASSWORD,
    "SCRAM-SHA-256": _USER_AND_PASSWORD,
    "SCRAM-SHA-512": _USER_AND_PASSWORD,
    "OAUTHBEARER": _CLIENT_CREDENTIALS,
    "AWS_MSK_IAM": (),
    "GSSAPI": (),
}


def _quoted(server: ServerTerms, *field_names: str) -> str:
    return quoted((_OPTIONS[name].name for name in field_names), server.prefix)


def _check_protocol(security: SecurityOptions) -> None:
    """Refuse options without effect: a user who sets a trust store expects that it is used."""
    used = {"ssl.": security.uses_tls, "sasl.": security.uses_sasl}
    for prefix in (prefix for prefix, is_used in used.items() if not is_used):
        for name, declared in _OPTIONS.items():
            is_default = getattr(security, name) == getattr(_DEFAULTS, name)
            if declared.name.startswith(prefix) and not is_default:
                raise KafkaConfigError(
                    f"Option {_quoted(BROKER, name)} is set, and has no effect while "
                    f"kafka.security.protocol is {security.protocol}: "
                    f"set that to {'SSL or SASL_SSL' if prefix == 'ssl.' else 'SASL_SSL'}"
                )


def _check_exclusive(security: SecurityOptions) -> None:
    for first, second in _EXCLUSIVE:
        if getattr(security, first) is not None and getattr(security, second) is not None:
            raise KafkaConfigError(
                f"Options {_quoted(security.server, first, second)} exclude each other: keep one"
            )


def _check_client_key(security: SecurityOptions) -> None:
    has_key = (security.keystore_key or security.key_location) is not None
    chain = security.keystore_certificate_chain or security.certificate_location
    if has_key and chain is None:
        raise KafkaConfigError(
            "A private key is given without its certificate: set "
            f"{_quoted(security.server, 'keystore_certificate_chain')}, too"
        )
    if chain is not None and not has_key:
        raise KafkaConfigError(
            "A client's certificate is given without its key: set "
            f"{_quoted(security.server, 'keystore_key')}, too"
        )
    if security.key_password is not None and not (has_key or security.keystore_location):
        raise KafkaConfigError(
            f"Option {_quoted(security.server, 'key_password')} is set, and no private key is"
        )


def _check_mechanism(security: SecurityOptions) -> None:
    if not security.uses_sasl:
        return
    if security.mechanism is None:
        raise KafkaConfigError(
            f"Option 'kafka.sasl.mechanism' must be specified for {security.protocol}: one of "
            f"{', '.join(MECHANISMS)}"
        )
    if security.mechanism == "OAUTHBEARER" and _has_own_source(security):
        return
    required = _REQUIRED[security.mechanism]
    if security.mechanism == "OAUTHBEARER" and security.uses_assertion:
        required = _BY_ASSERTION
    missing = [name for name in required if getattr(security, name) is None]
    if missing:
        raise KafkaConfigError(
            f"Options {_quoted(BROKER, *missing)} must be specified for {security.mechanism} "
            "(or kafka.sasl.jaas.config with the same values)"
        )


def _has_own_source(security: SecurityOptions) -> bool:
    return security.token_callback is not None or security.metadata_authentication in IDENTITIES


def _check_identity(security: SecurityOptions) -> None:
    """Refuse other sources of tokens beside an identity of the machine: they have no effect."""
    if security.metadata_authentication not in IDENTITIES:
        return
    if security.mechanism != "OAUTHBEARER":
        raise KafkaConfigError(
            f"Option {_quoted(BROKER, 'metadata_authentication')} has no effect while "
            "kafka.sasl.mechanism is not OAUTHBEARER: set that, or remove it"
        )
    for name in ("token_callback", "token_endpoint_url", "oauth_client_secret"):
        if getattr(security, name) is not None:
            raise KafkaConfigError(
                f"Options {_quoted(BROKER, 'metadata_authentication', name)} exclude each other: "
                "keep one"
            )


def _check_assertion(security: SecurityOptions) -> None:
    """Refuse options of an assertion that is not signed here: they have no effect."""
    if security.uses_assertion and security.mechanism != "OAUTHBEARER":
        raise KafkaConfigError(
            "An assertion has no effect while kafka.sasl.mechanism is not OAUTHBEARER: set that, "
            "or remove the options kafka.sasl.oauthbearer.assertion.*"
        )
    if security.assertion_key_file is not None:
        return
    for name in options_of(AssertionOptions):
        if name != "assertion_file" and getattr(security, name) != getattr(_DEFAULTS, name):
            raise KafkaConfigError(
                f"Option {_quoted(BROKER, name)} has no effect without "
                f"{_quoted(BROKER, 'assertion_key_file')}: an assertion is signed with that key"
            )


def _check_token_endpoint(security: SecurityOptions) -> None:
    if security.token_endpoint_url is None:
        return
    try:
        url = urlsplit(security.token_endpoint_url)
        is_usable = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or url.username is not None:
        # Without the value, which may contain a password.
        raise KafkaConfigError(
            f"Option {_quoted(BROKER, 'token_endpoint_url')} must be https://host/path, without a "
            "user"
        )


_CHECKS: Final = (
    _check_protocol,
    _check_exclusive,
    _check_client_key,
    _check_mechanism,
    _check_identity,
    _check_assertion,
    _check_token_endpoint,
)


def _warn(security: SecurityOptions) -> None:
    if security.uses_tls and not security.endpoint_identification:
        _log.warning(
            "kafka.ssl.endpoint.identification.algorithm is empty: any certificate of a trusted "
            "authority is accepted for any broker."
        )
    if security.protocol == "SASL_PLAINTEXT" and security.mechanism in ("PLAIN", "OAUTHBEARER"):
        _log.warning(
            "%s over SASL_PLAINTEXT sends the credentials unencrypted.", security.mechanism
        )
    if (security.token_endpoint_url or "").startswith("http:"):
        _log.warning(
            "kafka.sasl.oauthbearer.token.endpoint.url is http: the client's secret is sent "
            "unencrypted."
        )
