"""The options of TLS and SASL: accepted values, refused values, and error texts."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.jaas import _EXTENSIONS, _LOGIN_MODULES
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.java_names import REFUSED, WITHOUT_EFFECT
from kafka_protocol.client.config.option import declared_in
from kafka_protocol.client.config.security_checks import read_security, read_tls
from kafka_protocol.client.config.security_options import SecurityOptions, ServerTerms
from kafka_protocol.errors import KafkaConfigError
from tests.secret_check import PASSWORD

SSL = {"security.protocol": "SSL"}
SASL = {"security.protocol": "SASL_SSL"}
USER = SASL | {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": PASSWORD}
TOKEN = SASL | {"sasl.mechanism": "OAUTHBEARER"}
METADATA = "sasl.oauthbearer.metadata.authentication"
IDENTITY = {f"{METADATA}.type": "azure_imds"}
ENDPOINT = TOKEN | {
    "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
    "sasl.oauthbearer.client.id": "c",
    "sasl.oauthbearer.client.secret": PASSWORD,
}
KEY = {"ssl.keystore.key": PASSWORD}
CHAIN = {"ssl.keystore.certificate.chain": "C"}
KAFKA = "org.apache.kafka.common.security"


def jaas(mechanism: str, text: str) -> dict[str, str]:
    return SASL | {"sasl.mechanism": mechanism, "sasl.jaas.config": text}


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({}, {"protocol": "PLAINTEXT"}),
        ({"security.protocol": "sasl_ssl"} | USER, {"protocol": "SASL_SSL", "mechanism": "PLAIN"}),
        (
            SSL | {"ssl.ca.location": "/ca.pem"},
            {"truststore_location": "/ca.pem", "endpoint_identification": "https"},
        ),
        (SSL | {"ssl.ca.pem": "P"}, {"truststore_certificates": "P"}),
        (SSL | {"ssl.truststore.type": "pem", "ssl.keystore.type": "PEM"}, {}),
        (
            SSL | {"ssl.key.pem": PASSWORD, "ssl.certificate.pem": "C"},
            {"keystore_key": Secret(PASSWORD), "keystore_certificate_chain": "C"},
        ),
        (SSL | {"ssl.endpoint.identification.algorithm": ""}, {"endpoint_identification": ""}),
        (SSL | {"ssl.endpoint.identification.algorithm": "none"}, {"endpoint_identification": ""}),
        (
            SSL | {"ssl.enabled.protocols": "TLSv1.2,TLSv1.1,TLSv1"},
            {"enabled_protocols": ("TLSv1.2",)},
        ),
        (SSL | {"ssl.cipher.suites": " A, B"}, {"cipher_suites": ("A", "B")}),
        (
            jaas(
                "SCRAM-SHA-512",
                f'{KAFKA}.scram.ScramLoginModule required username="u" password="{PASSWORD}";',
            ),
            {"username": "u", "password": Secret(PASSWORD), "jaas_config": None},
        ),
        (
            jaas(
                "OAUTHBEARER",
                f"{KAFKA}.oauthbearer.OAuthBearerLoginModule required clientId=c "
                f"clientSecret='{PASSWORD}' scope=s extension_logicalCluster='lkc-1';",
            )
            | {
                "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
                "sasl.login.callback.handler.class": (
                    f"{KAFKA}.oauthbearer.secured.OAuthBearerLoginCallbackHandler"
                ),
            },
            {
                "oauth_client_id": "c",
                "oauth_client_secret": Secret(PASSWORD),
                "oauth_scope": "s",
                "oauth_extensions": (("logicalCluster", "lkc-1"),),
            },
        ),
        (TOKEN | {"sasl.oauthbearer.token.callback": "a.b:c"}, {"token_callback": "a.b:c"}),
        (ENDPOINT | {"sasl.oauthbearer.method": "oidc"}, {"oauth_client_id": "c"}),
        (TOKEN | IDENTITY, {"metadata_authentication": "azure_imds"}),
        (
            TOKEN | IDENTITY | {"sasl.oauthbearer.client.id": "c"},
            {"metadata_authentication": "azure_imds", "oauth_client_id": "c"},
        ),
        (ENDPOINT | IDENTITY | {f"{METADATA}.type": "none"}, {"oauth_client_id": "c"}),
    ],
)
def test_accepted_options(options: dict[str, str], fields: dict[str, object]) -> None:
    security = read_security(options)
    assert {name: getattr(security, name) for name in fields} == fields
    assert PASSWORD not in repr(security)
    assert pickle.loads(pickle.dumps(security)) == security
    assert hash(pickle.loads(pickle.dumps(security))) == hash(security)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        # Java's key stores
        (SSL | {"ssl.truststore.type": "JKS"}, r"'JKS': key stores of Java .*keytool"),
        (SSL | {"ssl.keystore.type": "PKCS12"}, r"keytool -importkeystore .*openssl pkcs12"),
        (SSL | {"ssl.truststore.location": "/a.JKS"}, "key stores of Java are not read"),
        (SSL | {"ssl.keystore.location": "/a.p12"}, "key stores of Java are not read"),
        # values that are not supported
        (SSL | {"ssl.enabled.protocols": "TLSv1.1"}, r"TLSv1\.2 and TLSv1\.3 are supported"),
        (SSL | {"ssl.enabled.protocols": "TLSv1.2,TLSv9"}, r"TLSv1\.2 and TLSv1\.3 are supported"),
        (SSL | {"ssl.protocol": "SSLv3"}, r"must be one of TLS, TLSv1\.2, TLSv1\.3"),
        (SSL | {"ssl.endpoint.identification.algorithm": "ldaps"}, "must be one of https"),
        (SASL | {"sasl.mechanism": "MD5"}, "must be one of PLAIN, SCRAM-SHA-256"),
        (TOKEN | {"sasl.oauthbearer.token.callback": "os.system"}, "must be package.module:func"),
        (TOKEN | {"sasl.oauthbearer.token.callback": "a b:c"}, "must be package.module:function"),
        (TOKEN | {"sasl.oauthbearer.extensions": "a"}, "must be name=value,name=value"),
        (
            TOKEN | {"sasl.login.callback.handler.class": "com.example.Handler"},
            r"'com\.example\.Handler': Java classes cannot be loaded; .*token\.callback",
        ),
        # options without effect
        ({"ssl.ca.location": "/ca.pem"}, r"while kafka\.security\.protocol is PLAINTEXT: set"),
        ({"sasl.username": "u"}, r"while kafka\.security\.protocol is PLAINTEXT: set that to SASL"),
        (SSL | {"sasl.mechanism": "PLAIN"}, r"while kafka\.security\.protocol is SSL: set that"),
        # pairs that exclude each other
        (SSL | {"ssl.ca.location": "/a", "ssl.ca.pem": "P"}, "exclude each other"),
        (SSL | KEY | CHAIN | {"ssl.keystore.location": "/k"}, "exclude each other"),
        (SSL | KEY | CHAIN | {"ssl.key.location": "/k"}, "exclude each other"),
        (USER | {"sasl.mechanisms": "PLAIN"}, "two names of one option"),
        (ENDPOINT | {"sasl.oauthbearer.token.callback": "a:b"}, "exclude each other"),
        (ENDPOINT | IDENTITY, "exclude each other"),
        (TOKEN | IDENTITY | {"sasl.oauthbearer.token.callback": "a:b"}, "exclude each other"),
        (TOKEN | IDENTITY | {f"{METADATA}.type": "aws"}, "must be one of none, azure_imds"),
        (USER | IDENTITY | {"sasl.mechanism": "PLAIN"}, "has no effect while"),
        # missing options
        (SSL | KEY, r"without its certificate: set 'kafka\.ssl\.keystore\.certificate\.chain'"),
        (SSL | CHAIN, r"without its key: set 'kafka\.ssl\.keystore\.key'"),
        (SSL | {"ssl.key.password": PASSWORD}, r"key\.password' is set, and no private key is"),
        (SASL, r"'kafka\.sasl\.mechanism' must be specified for SASL_SSL: one of PLAIN"),
        (
            SASL | {"sasl.mechanism": "PLAIN"},
            r"'kafka\.sasl\.username' and 'kafka\.sasl\.password'",
        ),
        (TOKEN, r"'kafka\.sasl\.oauthbearer\.token\.endpoint\.url' and .*client\.secret' must be"),
        (SASL | {"sasl.jaas.config": PASSWORD}, r"'kafka\.sasl\.mechanism' must be specified wi"),
        # JAAS
        (jaas("PLAIN", PASSWORD), r"'kafka\.sasl\.jaas\.config' lacks its semicolon"),
        (
            jaas("PLAIN", f"{KAFKA}.scram.ScramLoginModule required password='{PASSWORD}';"),
            r"ScramLoginModule, which is for SCRAM-SHA-256 .*kafka\.sasl\.mechanism is PLAIN",
        ),
        (
            USER | jaas("PLAIN", f"{KAFKA}.plain.PlainLoginModule required password='x';"),
            r"'kafka\.sasl\.jaas\.config' and 'kafka\.sasl\.password' set the same value",
        ),
        # token endpoints
        *(
            (ENDPOINT | {"sasl.oauthbearer.token.endpoint.url": url}, "must be https://host/path")
            for url in (
                "idp/token",
                "ftp://idp/token",
                "https://",
                "https://[",
                "https://idp:x/",
                f"https://u:{PASSWORD}@idp/token",
            )
        ),
    ],
)
def test_refused_options(options: dict[str, str], reason: str) -> None:
    with pytest.raises(KafkaConfigError, match=reason) as caught:
        read_security(options)
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        (SSL | {"ssl.endpoint.identification.algorithm": ""}, "any certificate of a trusted"),
        (USER | {"security.protocol": "SASL_PLAINTEXT"}, "sends the credentials unencrypted"),
        (ENDPOINT | {"sasl.oauthbearer.token.endpoint.url": "http://idp/"}, "secret is sent"),
    ],
)
def test_options_accepted_with_a_warning(
    options: dict[str, str], warning: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        read_security(options)
    assert warning in caplog.text


def test_safe_options_give_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for options in ({}, SSL, USER, ENDPOINT):
            read_security(options)
    assert not caplog.records


def test_no_name_is_in_two_lists() -> None:
    accepted = {*declared_in(SecurityOptions), *declared_in(ClientConfig)}
    assert not accepted & WITHOUT_EFFECT
    assert not accepted & REFUSED.keys()
    assert not WITHOUT_EFFECT & REFUSED.keys()


def test_what_login_modules_set_are_declared_options() -> None:
    names = {name for module in _LOGIN_MODULES.values() for name in module.options.values()}
    assert {*names, _EXTENSIONS} <= {*declared_in(SecurityOptions)}


NAMES = st.sampled_from(sorted(declared_in(SecurityOptions)))
VALUES: Any = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["SASL_SSL", "SSL", "PLAIN", "OAUTHBEARER", "PEM", "true", "a:b", "x.jks"]),
)


@given(st.dictionaries(NAMES, VALUES, max_size=8))
def test_any_options_raise_only_config_errors(options: dict[str, str]) -> None:
    try:
        read_security(options)
    except KafkaConfigError as error:
        assert str(error)


REGISTRY = ServerTerms("registry.", "use http", "does it speak TLS?")


def test_tls_of_a_server_that_is_no_broker() -> None:
    tls = read_tls({"ssl.ca.location": "/ca.pem"}, REGISTRY)
    assert tls == SecurityOptions(server=REGISTRY, protocol="SSL", truststore_location="/ca.pem")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"ssl.ca.location": "/a.jks"},
            "^Option 'registry.ssl.ca.location' has .* the type of the trust store to PEM$",
        ),
        ({"ssl.ca.location": "/a", "ssl.ca.pem": "P"}, "^Options 'registry.ssl.truststore.loc.*'"),
        (KEY, "set 'registry.ssl.keystore.certificate.chain', too$"),
    ],
    ids=["value", "exclusive", "key alone"],
)
def test_errors_in_tls_of_another_server_show_its_prefix(
    options: dict[str, str], reason: str
) -> None:
    with pytest.raises(KafkaConfigError, match=reason) as caught:
        read_tls(options, REGISTRY)
    assert "kafka." not in str(caught.value)


def test_tls_without_host_names_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    read_tls({"ssl.endpoint.identification.algorithm": ""}, REGISTRY)
    assert "registry.ssl.endpoint.identification.algorithm is empty" in caplog.text
