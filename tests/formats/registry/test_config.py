"""The options of a registry's client: accepted values, refused values, and error texts."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.registry.config import RegistryConfig
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.java_names import REFUSED
from kafka_protocol.client.config.option import declared_in
from kafka_protocol.errors import KafkaConfigError
from tests.config_error import config_error
from tests.secret_check import PASSWORD

URL = {"url": "https://a"}
TOKEN = {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": PASSWORD}
ENDPOINT = {
    "bearer.auth.credentials.source": "OAUTHBEARER",
    "bearer.auth.issuer.endpoint.url": "https://idp/token?tenant=1",
    "bearer.auth.client.id": "c",
    "bearer.auth.client.secret": PASSWORD,
}
USER = {"basic.auth.user.info": f"u:{PASSWORD}"}
IN_URL = {"basic.auth.credentials.source": "URL"}


IDENTITY = {
    "bearer.auth.credentials.source": "OAUTHBEARER_AZURE_IMDS",
    "bearer.auth.scope": "api://r/.default",
}


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (URL, {"urls": ("https://a",), "max_retries": 3, "request_timeout_ms": 10_000}),
        ({"url": "https://a/v7/, http://b:1,"}, {"urls": ("https://a/v7", "http://b:1")}),
        (URL | USER, {"basic_source": "USER_INFO", "user_info": Secret(f"u:{PASSWORD}")}),
        (
            {"url": f"https://u:{PASSWORD}@a,https://u:{PASSWORD}@b"} | IN_URL,
            {"urls": ("https://a", "https://b"), "user_info": Secret(f"u:{PASSWORD}")},
        ),
        (
            URL | TOKEN | {"bearer.auth.logical.cluster": " lsrc-1 "},
            {"bearer_token": Secret(PASSWORD), "logical_cluster": "lsrc-1"},
        ),
        (URL | ENDPOINT | {"bearer.auth.scope": "s"}, {"bearer_source": "OAUTHBEARER"}),
        (URL | IDENTITY, {"bearer_source": "OAUTHBEARER_AZURE_IMDS", "scope": "api://r/.default"}),
        (URL | IDENTITY | {"bearer.auth.client.id": "c"}, {"client_id": "c"}),
        (URL | {"max.retries": "0", "retries.wait.ms": "5"}, {"max_retries": 0}),
    ],
    ids=[
        "defaults",
        "urls",
        "user",
        "user in URLs",
        "token",
        "endpoint",
        "identity",
        "client id",
        "numbers",
    ],
)
def test_accepted_options(options: dict[str, str], fields: dict[str, Any]) -> None:
    config = RegistryConfig.from_options(options)
    assert {name: getattr(config, name) for name in fields} == fields


def test_options_of_tls_under_all_their_names() -> None:
    for name in ("ssl.truststore.location", "ssl.ca.location"):
        assert RegistryConfig.from_options(URL | {name: "/ca"}).tls.truststore_location == "/ca"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "Option 'schema.registry.url' must be specified"),
        ({"url": ","}, "Option 'schema.registry.url' must be specified"),
        ({"url": "a:8081"}, "Option 'schema.registry.url' must be https://host"),
        ({"url": f"https://u:{PASSWORD}@a:x"} | IN_URL, "'schema.registry.url' must be https://"),
        (
            {"url": f"https://u:{PASSWORD}@a"} | USER,
            "'schema.registry.url' contains a user, but",
        ),
        (
            {"url": f"https://u:{PASSWORD}@a"} | TOKEN,
            "'schema.registry.url' contains a user, but",
        ),
        ({"url": "https://u:p@a,https://b"}, "the same user:password in each URL"),
        ({"url": "https://u:p@a,https://u:q@b"} | IN_URL, "the same user:password in each URL"),
        (URL | IN_URL, "the same user:password in each URL"),
        ({"url": "https://u@a"} | IN_URL, "'schema.registry.url' must have the form user:password"),
        (URL | IN_URL | USER, "contradict each other: set the first one to USER_INFO"),
        (URL | USER | TOKEN, "exclude each other"),
        (URL | {"basic.auth.user.info": PASSWORD}, "must have the form user:password"),
        (URL | {"basic.auth.user.info": f"{PASSWORD}:\0"}, "has a NUL character"),
        (URL | {"basic.auth.credentials.source": "USER_INFO"}, "user.info' must be specified for"),
        (URL | {"basic.auth.credentials.source": "SASL_INHERIT"}, "one of USER_INFO, URL"),
        (URL | {"bearer.auth.token": PASSWORD}, "no effect: set .*source to STATIC_TOKEN$"),
        (URL | IDENTITY | {"bearer.auth.client.secret": "s"}, "client.secret' has no effect"),
        (
            URL | {"bearer.auth.credentials.source": "OAUTHBEARER_AZURE"},
            "bearer.auth.scope' must be specified for OAUTHBEARER_AZURE",
        ),
        (
            URL | TOKEN | {"bearer.auth.scope": "s"},
            "set .*source to OAUTHBEARER or OAUTH",
        ),
        (URL | USER | {"bearer.auth.logical.cluster": "l"}, "to STATIC_TOKEN or OAUTHBEARER or"),
        (URL | TOKEN | {"bearer.auth.token": f"{PASSWORD}\r\nX: y"}, "not printable ASCII"),
        (URL | TOKEN | {"bearer.auth.token": ""}, "'schema.registry.bearer.auth.token' is empty"),
        (URL | TOKEN | {"bearer.auth.logical.cluster": "a\r\nb"}, "it must be printable ASCII"),
        (URL | ENDPOINT | {"bearer.auth.client.secret": "\udcff"}, "that UTF-8 cannot encode"),
        (
            URL | ENDPOINT | {"bearer.auth.issuer.endpoint.url": f"https://u:{PASSWORD}@i"},
            "'schema.registry.bearer.auth.issuer.endpoint.url' must be https://host/path, without",
        ),
        (
            {"url": "http://a", "ssl.truststore.location": "/ca"},
            r"'schema.registry.ssl.\*' are set, and have no effect",
        ),
        (URL | {"ssl.keystore.key": PASSWORD}, "set 'schema.registry.ssl.keystore.certificate.cha"),
        (
            URL | {"ssl.truststore.location": "/a", "ssl.truststore.certificates": "P"},
            "'schema.registry.ssl.truststore.certificates' exclude each other",
        ),
        (
            URL | {"ssl.truststore.location": "/a", "ssl.ca.location": "/a"},
            "'schema.registry.ssl.ca.location' are two names of one option",
        ),
        (URL | {"ssl.truststore.location": "/a.jks"}, "the type of the trust store to PEM"),
        (URL | {"ssl.truststore.password": PASSWORD}, "PEM has no such password"),
        (URL | {"proxy.host": "p"}, "'schema.registry.proxy.host' is not supported"),
        (URL | {"timeout": "1"}, "set schema.registry.request.timeout.ms"),
        (URL | {"max.retry": "1"}, "not known; did you mean 'schema.registry.max.retries'"),
        (URL | {"sasl.mechanism": "PLAIN"}, "'schema.registry.sasl.mechanism' is not known"),
        (URL | {"max.retries": "-1"}, "'schema.registry.max.retries' has the value '-1': it must"),
    ],
)
def test_refused_options(options: dict[str, str], reason: str) -> None:
    with pytest.raises(KafkaConfigError, match=reason) as caught:
        RegistryConfig.from_options(options)
    assert PASSWORD not in str(caught.value)
    assert "kafka." not in str(caught.value)


@pytest.mark.parametrize("name", [name for name in REFUSED if name.startswith("ssl.")])
def test_refused_options_of_tls_name_those_of_the_registry(name: str) -> None:
    text = config_error(RegistryConfig.from_options, URL | {name: "x"})
    assert text.startswith(f"Option 'schema.registry.{name}' is not supported: ")
    assert "kafka." not in text


def test_options_of_java_without_effect_are_named(caplog: pytest.LogCaptureFixture) -> None:
    RegistryConfig.from_options(URL | {"ssl.provider": "x"})
    assert caplog.messages == ["The option schema.registry.ssl.provider has no effect in pykafka."]


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        ({"url": "http://a"} | USER, "http: the credentials are sent unencrypted"),
        (
            URL | ENDPOINT | {"bearer.auth.issuer.endpoint.url": "http://idp"},
            "http: the credentials are sent unencrypted",
        ),
        (
            URL | {"ssl.endpoint.identification.algorithm": ""},
            "schema.registry.ssl.endpoint.identification.algorithm is empty",
        ),
        ({"url": "http://a"}, None),
        (URL | USER, None),
    ],
    ids=["user", "endpoint", "host names", "no credentials", "https"],
)
def test_warnings(
    options: dict[str, str], warning: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    RegistryConfig.from_options(options)
    assert len(caplog.messages) == (0 if warning is None else 1)
    assert (warning or "") in caplog.text


@pytest.mark.parametrize(
    "options",
    [URL | USER, {"url": f"https://u:{PASSWORD}@a"} | IN_URL, URL | TOKEN, URL | ENDPOINT],
    ids=["user", "user in URL", "token", "endpoint"],
)
def test_a_configuration_travels_and_shows_no_secret(options: dict[str, str]) -> None:
    config = RegistryConfig.from_options(options)
    assert pickle.loads(pickle.dumps(config)) == config
    assert PASSWORD not in repr(config)


@given(
    st.dictionaries(
        st.sampled_from(sorted(declared_in(RegistryConfig))),
        st.sampled_from([PASSWORD, f"u:{PASSWORD}", f"https://u:{PASSWORD}@a"]) | st.text(),
    )
)
def test_any_values_are_accepted_or_refused_without_secrets(options: dict[str, str]) -> None:
    secrets = {"url", "basic.auth.user.info", "bearer.auth.token"}
    secrets |= {"bearer.auth.client.secret", "bearer.auth.issuer.endpoint.url"}
    options = {
        name: text for name, text in options.items() if name in secrets or PASSWORD not in text
    }
    try:
        config = RegistryConfig.from_options(options)
    except KafkaConfigError as error:
        assert PASSWORD not in str(error)
    else:
        assert PASSWORD not in repr(config)
