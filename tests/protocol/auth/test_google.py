"""Google's credentials, by the real library, from servers that respond as Google's do.

Sources: "Using OAuth 2.0 for server to server applications"; "Access Compute Engine metadata". No
test reaches Google.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth.exceptions import GoogleAuthError

from kafka_protocol.auth.google import google_token
from kafka_protocol.errors import AuthenticationError, BrokerConnectionError, KafkaConfigError
from tests.fakes.http import Received, serving
from tests.secret_check import PASSWORD

ACCOUNT = "reader@my-project.iam.gserviceaccount.com"
LIFETIME_S = 3_600


NO_REQUEST = Received("", {}, {})


def granted(_: Received) -> tuple[int, Any]:
    return 200, {"access_token": PASSWORD, "expires_in": LIFETIME_S, "token_type": "Bearer"}


def key() -> str:
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return made.private_bytes(*pem, serialization.NoEncryption()).decode()


KEY = key()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A file of a service account, whose tokens come from a URL."""

    def write(url: str) -> None:
        path = tmp_path / "account.json"
        content = {
            "type": "service_account",
            "project_id": "my-project",
            "private_key_id": "1",
            "private_key": KEY,
            "client_email": ACCOUNT,
            "token_uri": url,
        }
        path.write_text(json.dumps(content))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))

    return write


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_a_service_account(file: Callable[[str], None]) -> None:
    with serving(granted) as server:
        file(f"{server.url}/token")
        token = google_token(None, 1_700_000_000.5)
    header, claims, access = token.text.reveal().split(".")
    assert json.loads(decoded(header)) == {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
    assert json.loads(decoded(claims)) == {
        "exp": int(token.expires_s),
        "iat": 1_700_000_000,
        "iss": "Google",
        "scope": "kafka",
        "sub": ACCOUNT,
    }
    assert decoded(access).decode() == PASSWORD
    assert abs(token.expires_s - time.time() - LIFETIME_S) < 60
    assert PASSWORD not in repr(token)
    (request,) = server.received
    assertion = json.loads(decoded(request.fields["assertion"].split(".")[1]))
    assert assertion["scope"] == "https://www.googleapis.com/auth/cloud-platform"


@pytest.mark.parametrize(
    ("status", "values", "kind"),
    [
        (400, {"error": "invalid_grant", "error_description": "Invalid JWT"}, AuthenticationError),
        (503, {"error": "backend"}, BrokerConnectionError),
    ],
)
def test_endpoints_that_refuse(
    file: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    values: Any,
    kind: type[Exception],
) -> None:
    monkeypatch.setattr("google.auth._exponential_backoff.time.sleep", lambda _: None)
    with serving(lambda _: (status, values)) as server:
        file(f"{server.url}/token")
        with pytest.raises(kind, match=r"^no token of Google: ") as caught:
            google_token(None, 0)
    assert "\n" not in str(caught.value)


def test_an_endpoint_that_is_away(
    file: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("google.auth._exponential_backoff.time.sleep", lambda _: None)
    with serving(granted) as server:
        pass
    file(f"{server.url}/token")
    with pytest.raises(BrokerConnectionError, match=r"^no token of Google: "):
        google_token(None, 0)


def test_no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(AuthenticationError, match=r"^no credentials of Google: "):
        google_token(None, 0)


def test_the_metadata_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine of Google, whose service account the metadata server knows."""
    paths = {
        "/computeMetadata/v1/instance/service-accounts/default/": {"email": ACCOUNT, "scopes": []},
        "/computeMetadata/v1/instance/service-accounts/default/token": granted(NO_REQUEST)[1],
        f"/computeMetadata/v1/instance/service-accounts/{ACCOUNT}/token": granted(NO_REQUEST)[1],
        "/computeMetadata/v1/project/project-id": "my-project",
        "/computeMetadata/v1/universe/universe-domain": "googleapis.com",
    }
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    with serving(lambda request: (200, paths.get(request.path, ""))) as server:
        place = server.url.removeprefix("http://")
        for name in ("_GCE_METADATA_HOST", "_GCE_DEFAULT_MDS_IP"):
            monkeypatch.setattr(f"google.auth.compute_engine._metadata.{name}", place)
        token = google_token(None, 0)
    _, claims, access = token.text.reveal().split(".")
    assert json.loads(decoded(claims))["sub"] == ACCOUNT
    assert decoded(access).decode() == PASSWORD


def test_credentials_of_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers expect the name of a service account."""
    path = tmp_path / "person.json"
    content = {"type": "authorized_user", "client_id": "i", "client_secret": "s"}
    path.write_text(json.dumps({**content, "refresh_token": "r"}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    with serving(granted) as server:
        monkeypatch.setattr(
            "google.oauth2.credentials._GOOGLE_OAUTH2_TOKEN_ENDPOINT", f"{server.url}/token"
        )
        with pytest.raises(AuthenticationError, match="have no service account"):
            google_token(None, 0)


def test_another_error_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def default(**_: object) -> None:
        raise GoogleAuthError("odd\ntwo")

    monkeypatch.setattr("google.auth.default", default)
    with pytest.raises(AuthenticationError, match=r"^no token of Google: odd$"):
        google_token(None, 0)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth.transport.requests", None)
    with pytest.raises(KafkaConfigError, match=r"pip install 'pyspark-pykafka\[gcp\]'"):
        google_token(None, 0)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_no_error_quotes_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    path = tmp_path / "account.json"
    path.write_text(f'{{"type": "ü", "private_key": "{PASSWORD}"}}', encoding)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    with pytest.raises((AuthenticationError, UnicodeDecodeError)) as caught:
        google_token(None, 0)
    if isinstance(caught.value, AuthenticationError):
        assert PASSWORD not in str(caught.value)
        assert "private_key" not in str(caught.value)


@pytest.mark.parametrize("name", ["access_token", "id_token"])
def test_no_error_quotes_a_response(file: Callable[[str], None], name: str) -> None:
    with serving(lambda _: (401, {name: PASSWORD})) as server:
        file(f"{server.url}/token")
        with pytest.raises(AuthenticationError, match=r"^no token of Google") as caught:
            google_token(None, 0)
    assert PASSWORD not in str(caught.value)
