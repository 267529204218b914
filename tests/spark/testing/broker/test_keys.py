"""TLS files, from the real keytool."""

import ssl
from pathlib import Path

import pytest

from kafka_spark_source.testing import LocalBrokerError
from kafka_spark_source.testing.broker.keys import make_keys
from kafka_spark_source.testing.java import find_java
from tests.spark.testing.scripts import script


def test_authority_is_trusted_and_not_in_the_keystore(tmp_path: Path) -> None:
    made = make_keys(find_java(), tmp_path / "keys")
    context = ssl.create_default_context(cafile=str(made.ca_file))
    subjects = [certificate["subject"] for certificate in context.get_ca_certs()]
    assert ((("commonName", "pykafka local CA"),),) in subjects
    assert made.keystore.stat().st_size > 0
    assert made.password not in repr(made)


def test_error_of_keytool(tmp_path: Path) -> None:
    script(tmp_path / "keytool", "#!/bin/sh\necho no space; exit 1\n")
    with pytest.raises(LocalBrokerError, match=r"keytool -genkeypair failed: no space"):
        make_keys(tmp_path / "java", tmp_path / "keys")


def test_java_without_keytool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalBrokerError, match="TLS needs the JDK's keytool"):
        make_keys(tmp_path / "java", tmp_path / "keys")
