"""SSL contexts from options and files, and the texts of TLS errors."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.tls import check_suite, client_context, tls_error
from kafka_protocol.errors import KafkaConfigError, TlsError
from tests.fakes.tls import authority_pem, certificate, pem
from tests.secret_check import PASSWORD

BROKER = Address("broker", 9093)
KEY = pem(certificate().private_key_pem)
CHAIN = "".join(map(pem, certificate().cert_chain_pems))
ENCRYPTED_KEY = (
    load_pem_private_key(KEY.encode(), None)
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(PASSWORD.encode()))
    .decode()
)


def context(**options: Any) -> ssl.SSLContext:
    return client_context(SecurityOptions(protocol="SSL", **options))


def files(folder: Path, **texts: str) -> dict[str, str]:
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: str(folder / name) for name in texts}


def subjects(made: ssl.SSLContext) -> list[object]:
    return [authority["subject"] for authority in made.get_ca_certs()]


def test_defaults_are_safe() -> None:
    made = context()
    assert made.verify_mode is ssl.CERT_REQUIRED
    assert made.check_hostname
    assert made.minimum_version is ssl.TLSVersion.TLSv1_2
    assert made.maximum_version is ssl.TLSVersion.TLSv1_3
    assert (
        made.cert_store_stats()["x509_ca"]
        == ssl.create_default_context().cert_store_stats()["x509_ca"]
    )


def test_without_host_names_certificates_are_still_verified() -> None:
    made = context(endpoint_identification="")
    assert not made.check_hostname
    assert made.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("options", "lowest", "highest"),
    [
        ({"enabled_protocols": ("TLSv1.3",)}, "TLSv1_3", "TLSv1_3"),
        ({"enabled_protocols": ("TLSv1.2",)}, "TLSv1_2", "TLSv1_2"),
        ({"tls_protocol": "TLSv1.2"}, "TLSv1_2", "TLSv1_2"),
        ({"cipher_suites": ("TLS_AES_256_GCM_SHA384",)}, "TLSv1_3", "TLSv1_3"),
        ({"cipher_suites": ("AES256-SHA",)}, "TLSv1_2", "TLSv1_2"),
        ({"cipher_suites": ("AES256-SHA", "TLS_AES_256_GCM_SHA384")}, "TLSv1_2", "TLSv1_3"),
    ],
    ids=["only 1.3", "only 1.2", "protocol 1.2", "1.3 suite", "1.2 suite", "suites of both"],
)
def test_versions(options: dict[str, Any], lowest: str, highest: str) -> None:
    made = context(**options)
    assert (made.minimum_version.name, made.maximum_version.name) == (lowest, highest)


def test_no_version_left() -> None:
    with pytest.raises(KafkaConfigError, match="leave no version of TLS"):
        context(enabled_protocols=("TLSv1.3",), tls_protocol="TLSv1.2")


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", "DHE-RSA-AES256-GCM-SHA384"),
        ("TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_cipher_suites_by_java_names(java: str, openssl: str) -> None:
    made = context(cipher_suites=(java,))
    names = [suite["name"] for suite in made.get_ciphers() if suite["protocol"] != "TLSv1.3"]
    assert names == [openssl]


def test_unknown_cipher_suites() -> None:
    with pytest.raises(KafkaConfigError, match="'SSL_NULL': OpenSSL does not know any of them"):
        context(cipher_suites=("SSL_NULL",))


def test_tls_1_3_suites_are_checked_after_the_handshake() -> None:
    security = SecurityOptions(protocol="SSL", cipher_suites=("TLS_AES_256_GCM_SHA384",))
    check_suite("TLS_AES_256_GCM_SHA384", security, BROKER)
    check_suite("ECDHE-RSA-AES128-GCM-SHA256", security, BROKER)
    check_suite("TLS_AES_128_GCM_SHA256", SecurityOptions(protocol="SSL"), BROKER)
    with pytest.raises(TlsError, match=r"^broker:9093 chose .*TLS_AES_128_GCM_SHA256"):
        check_suite("TLS_AES_128_GCM_SHA256", security, BROKER)


# --- Trusted authorities -------------------------------------------------------------------------


def test_given_authorities_replace_those_of_the_system(tmp_path: Path) -> None:
    file = files(tmp_path, ca=authority_pem())["ca"]
    for made in (
        context(truststore_location=file),
        context(truststore_certificates=authority_pem().replace("\n", "\\n")),
    ):
        assert len(subjects(made)) == 1
        assert made.verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN


def test_authorities_from_a_folder(tmp_path: Path) -> None:
    assert subjects(context(truststore_location=str(tmp_path))) == []  # read later


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xfe\xed\xfe\xed\x00\x00\x00\x02", "is not PEM; key stores of Java .*keytool"),
        (b"\x30\x82\x01\x00\x00", r"is not PEM; .*openssl pkcs12"),
        (b"nothing", "holds no certificate in PEM"),
        (KEY.encode(), "holds no certificate in PEM"),
    ],
    ids=["JKS", "DER", "text", "key"],
)
def test_trust_store_files_without_certificates(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    (tmp_path / "store").write_bytes(content)
    with pytest.raises(
        KafkaConfigError, match=rf"^Option 'kafka\.ssl\.truststore\.location' .*{reason}"
    ):
        context(truststore_location=str(tmp_path / "store"))


def test_missing_trust_store(tmp_path: Path) -> None:
    with pytest.raises(KafkaConfigError, match=r"truststore\.location.*No such file"):
        context(truststore_location=str(tmp_path / "missing"))


@pytest.mark.parametrize(
    "text", ["", "nothing", "\N{SNOWMAN}", KEY], ids=["empty", "text", "not ASCII", "key"]
)
def test_trust_store_text_without_certificates(text: str) -> None:
    with pytest.raises(KafkaConfigError, match=r"truststore\.certificates' .*no certificate"):
        context(truststore_certificates=text)


# --- The client certificate ----------------------------------------------------------------------


def test_client_keys_in_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    named = files(tmp_path, both=KEY + CHAIN, key=KEY, chain=CHAIN, locked=ENCRYPTED_KEY)
    texts = {"keystore_key": Secret(KEY), "keystore_certificate_chain": CHAIN}
    password = {"key_password": Secret(PASSWORD)}
    for options in (
        {"keystore_location": named["both"]},
        {"key_location": named["key"], "certificate_location": named["chain"]},
        {"key_location": named["locked"], "certificate_location": named["chain"]} | password,
        texts,
        texts | {"keystore_key": Secret(KEY.replace("\n", "\\n"))},
        texts | {"keystore_key": Secret(ENCRYPTED_KEY)} | password,
        {"keystore_key": Secret(KEY), "certificate_location": named["chain"]},
    ):
        context(**options)
    assert {file.name for file in tmp_path.iterdir()} == set(named)  # no temporary file is left


OTHER_KEY = pem(certificate("other").private_key_pem)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"keystore_key": Secret(OTHER_KEY)}, "private key does not belong to the certificate"),
        ({"keystore_key": Secret(ENCRYPTED_KEY)}, r"is encrypted: set kafka\.ssl\.key\.password"),
        (
            {"keystore_key": Secret(ENCRYPTED_KEY), "key_password": Secret("wrong")},
            r"kafka\.ssl\.key\.password is not the password",
        ),
        (
            {"keystore_key": Secret(ENCRYPTED_KEY), "key_password": Secret("")},
            r"kafka\.ssl\.key\.password is not the password",
        ),
        ({"keystore_key": Secret("nothing")}, "no private key with its certificate in PEM"),
        ({"keystore_certificate_chain": ""}, "no private key with its certificate in PEM"),
    ],
    ids=["other key", "no password", "wrong password", "empty password", "no key", "no chain"],
)
def test_client_keys_that_cannot_be_used(options: dict[str, Any], reason: str) -> None:
    texts = {"keystore_key": Secret(KEY), "keystore_certificate_chain": CHAIN}
    with pytest.raises(KafkaConfigError, match=reason) as caught:
        context(**(texts | options))
    assert PASSWORD not in str(caught.value)
    assert "PRIVATE KEY" not in str(caught.value)


def test_key_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(KafkaConfigError, match=r"'kafka\.ssl\.keystore\.location'.*No such file"):
        context(keystore_location=str(tmp_path / "missing"))
    (tmp_path / "store").write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(KafkaConfigError, match=r"not PEM; .*keytool -importkeystore"):
        context(keystore_location=str(tmp_path / "store"))


# --- Error texts ---------------------------------------------------------------------------------


def test_unknown_reasons_are_shown_unchanged() -> None:
    assert str(tls_error(ssl.SSLError("odd"), BROKER, SecurityOptions().server)) == (
        "broker:9093: no TLS connection: ('odd',)"
    )


def test_connections_share_a_context_until_a_file_is_replaced(tmp_path: Path) -> None:
    named = files(tmp_path, truststore_location=CHAIN)
    made = context(**named)
    assert context(**named) is made
    assert context(**named, endpoint_identification="") is not made
    replaced = tmp_path / "replaced"
    replaced.write_text(CHAIN)
    replaced.rename(tmp_path / "truststore_location")
    assert context(**named) is not made


def test_equal_options_with_secrets_share_a_context() -> None:
    options = [
        ClientConfig.from_options(
            {
                "bootstrap.servers": "broker:9093",
                "security.protocol": "SSL",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": ENCRYPTED_KEY,
                "ssl.keystore.certificate.chain": CHAIN,
                "ssl.key.password": PASSWORD,
            }
        ).security
        for _ in range(2)
    ]
    first, second = map(client_context, options)
    assert first is second
