"""The options of a schema registry."""

from __future__ import annotations

import pickle

import pytest

from kafka_formats.registry.config import RegistryConfig
from kafka_protocol.auth.secret import Secret
from tests.config_error import config_error
from tests.secret_check import PASSWORD

URL = {"url": "http://r:8081"}


def test_defaults() -> None:
    config = RegistryConfig.from_options(URL)
    assert config.urls == ("http://r:8081",)
    assert config.basic_auth is None
    assert config.token_endpoint is None
    assert (config.timeout_ms, config.max_retries) == (10_000, 3)


def test_several_addresses() -> None:
    config = RegistryConfig.from_options({"url": " https://a/path/ ,http://b:1"})
    assert config.urls == ("https://a/path", "http://b:1")


@pytest.mark.parametrize(
    "options",
    [
        {"basic.auth.user.info": f"me:{PASSWORD}"},
        {"url": f"http://me:{PASSWORD}@r", "basic.auth.credentials.source": "URL"},
    ],
)
def test_user_and_password_are_secrets(options: dict[str, str]) -> None:
    config = RegistryConfig.from_options(URL | options)
    assert config.basic_auth == Secret(f"me:{PASSWORD}")
    assert PASSWORD not in repr(config)
    assert PASSWORD not in str(config.urls)
    assert pickle.loads(pickle.dumps(config)) == config
    assert hash(config)


def test_a_password_in_an_address_may_be_quoted() -> None:
    url = {"url": "http://me:a%40b@r", "basic.auth.credentials.source": "url"}
    assert RegistryConfig.from_options(url).basic_auth == Secret("me:a@b")


def test_the_endpoint_for_tokens() -> None:
    config = RegistryConfig.from_options(
        URL
        | {
            "bearer.auth.issuer.endpoint.url": "https://idp",
            "bearer.auth.client.id": "me",
            "bearer.auth.client.secret": PASSWORD,
            "bearer.auth.scope": "s",
            "ssl.truststore.location": "/ca.pem",
        }
    )
    endpoint = config.token_endpoint
    assert endpoint is not None
    assert (endpoint.token_endpoint_url, endpoint.oauth_client_id) == ("https://idp", "me")
    assert endpoint.oauth_client_secret == Secret(PASSWORD)
    assert (endpoint.oauth_scope, endpoint.https_ca_location) == ("s", "/ca.pem")
    assert config.security.truststore_location == "/ca.pem"
    assert PASSWORD not in repr(config)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": ""}, "Option 'schema.registry.url' must be the address of the registry"),
        ({"url": "r:8081"}, "'schema.registry.url' must be"),
        ({"url": "http://r,ftp://r"}, "'schema.registry.url' must be"),
        ({"url": "http://r:port"}, "'schema.registry.url' must be"),
        ({"url": "http://r?x=1"}, "'schema.registry.url' must be"),
        ({"url": f"http://me:{PASSWORD}@r"}, "has a user: set schema.registry.basic.auth.cred"),
        ({"basic.auth.credentials.source": "URL"}, "but 'schema.registry.url' has no user"),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "it must be one of USER_INFO, URL"),
        ({"basic.auth.user.info": PASSWORD}, "must be user:password"),
        ({"basic.auth.user.info": "a:b", "bearer.auth.token": "t"}, "exclude each other"),
        (
            {"bearer.auth.token": "t", "bearer.auth.issuer.endpoint.url": "u"},
            "'schema.registry.bearer.auth.token' and 'schema.registry.bearer.auth.issuer",
        ),
        (
            {"bearer.auth.issuer.endpoint.url": "u", "bearer.auth.client.id": "me"},
            "Option 'schema.registry.bearer.auth.client.secret' is missing: OAUTHBEARER needs it",
        ),
        (
            {"bearer.auth.credentials.source": "STATIC_TOKEN"},
            "Option 'schema.registry.bearer.auth.token' is missing: STATIC_TOKEN needs it",
        ),
        ({"basic.auth.user": "x"}, "did you mean 'schema.registry.basic.auth.user.info'?"),
        ({"zzz": "x"}, "Option 'schema.registry.zzz' is not known to pykafka: url, basic.auth"),
        ({"max.retries": "many"}, "Option 'schema.registry.max.retries' has the value 'many'"),
        ({"ssl.truststore.type": "JKS"}, "the options begin with schema.registry.ssl.)"),
        (
            {"ssl.truststore.locations": "x"},
            "did you mean 'schema.registry.ssl.truststore.location'?",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, str], message: str) -> None:
    error = config_error(RegistryConfig.from_options, URL | options)
    assert message in error
    assert PASSWORD not in error
