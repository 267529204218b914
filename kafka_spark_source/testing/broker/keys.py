"""Creates the TLS files of a cluster or registry with the JDK's keytool.

Each has a certificate authority, and one certificate for `localhost` and 127.0.0.1, which all
brokers of a cluster share.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from typing import TYPE_CHECKING

from kafka_spark_source.testing.broker.layout import KeyFiles
from kafka_spark_source.testing.errors import LocalBrokerError

if TYPE_CHECKING:
    from pathlib import Path

_SECONDS = 60
_PASSWORD_VARIABLE = "PYKAFKA_STORE_PASSWORD"  # noqa: S105 - the name, not the password
_KEY = ("-keyalg", "RSA", "-keysize", "2048", "-validity", "365")
_STEPS = (
    ("-genkeypair", "-alias", "ca", "-dname", "CN=pykafka local CA", "-ext", "bc:c", *_KEY),
    (
        *("-genkeypair", "-alias", "broker", "-dname", "CN=localhost", "-signer", "ca"),
        *("-ext", "san=dns:localhost,ip:127.0.0.1", *_KEY),
    ),
    ("-exportcert", "-alias", "ca", "-rfc", "-file", "ca.pem"),
    # Otherwise the broker could use the authority's own key.
    ("-delete", "-alias", "ca"),
)


def make_keys(java: Path, folder: Path) -> KeyFiles:
    """Creates the files in `folder`.

    Raises:
        LocalBrokerError: There is no keytool beside `java`, or it fails.
    """
    beside = str(java.resolve().with_name("keytool"))
    keytool = shutil.which(beside) or shutil.which("keytool")
    if keytool is None:
        raise LocalBrokerError(f"TLS needs the JDK's keytool, but there is no {beside}")
    folder.mkdir()
    password = secrets.token_urlsafe(16)
    for step in _STEPS:
        _run(keytool, step, folder, password)
    return KeyFiles(folder / "ca.pem", folder / "broker.p12", password)


def _run(keytool: str, step: tuple[str, ...], folder: Path, password: str) -> None:
    store = ("-keystore", "broker.p12", "-storetype", "PKCS12")
    done = subprocess.run(
        [keytool, *step, *store, "-storepass:env", _PASSWORD_VARIABLE],
        cwd=folder,
        env={**os.environ, _PASSWORD_VARIABLE: password},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    if done.returncode:
        raise LocalBrokerError(f"keytool {step[0]} failed: {(done.stdout + done.stderr).strip()}")
