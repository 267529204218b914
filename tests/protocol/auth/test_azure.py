"""Azure's identities, by the real library, from servers that respond as Azure's do.

Sources: "How to use managed identities on a VM to acquire an access token" (IMDS); "Managed
identities for App Service". No test reaches Azure.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
)

from kafka_protocol.auth import azure
from kafka_protocol.auth.azure import azure_token
from kafka_protocol.errors import AuthenticationError, BrokerConnectionError, KafkaConfigError
from tests.fakes.http import Received, serving
from tests.secret_check import PASSWORD

HOST = "my-namespace.servicebus.windows.net"
PATH = "/metadata/identity/oauth2/token"
SLOW_S = 3_600
REFUSED = r"^(there is no identity of Azure|Azure refused a token): \S"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        *(
            "AZURE_CLIENT_ID",
            "AZURE_CLIENT_SECRET",
            "AZURE_TENANT_ID",
            "AZURE_FEDERATED_TOKEN_FILE",
        ),
        *("IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT", "AZURE_AUTHORITY_HOST"),
    ):
        monkeypatch.delenv(name, raising=False)
    limits = {"connection_timeout": 1, "read_timeout": 1, "retry_total": 0}
    monkeypatch.setattr(azure, "_LIMITS", limits)


def imds(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", url)


def granted(request: Received) -> tuple[int, Any]:
    if request.headers.get("metadata") != "true":
        return 400, {"error": "bad_request_102", "error_description": "Required metadata header"}
    ends = int(time.time()) + SLOW_S
    token = {"access_token": PASSWORD, "expires_on": str(ends), "expires_in": str(SLOW_S)}
    return 200, {**token, "resource": request.fields["resource"], "token_type": "Bearer"}


@pytest.mark.parametrize("is_managed", [True, False])
def test_a_managed_identity(monkeypatch: pytest.MonkeyPatch, is_managed: bool) -> None:
    with serving(granted) as server:
        imds(monkeypatch, server.url)
        token = azure_token(HOST, None, None, is_managed=is_managed)
    assert token.text.reveal() == PASSWORD
    assert PASSWORD not in repr(token)
    assert abs(token.expires_s - time.time() - SLOW_S) < 60
    (request,) = server.received
    assert (request.path, request.fields["resource"]) == (PATH, f"https://{HOST}")


def test_an_identity_and_a_scope_that_the_user_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(granted) as server:
        imds(monkeypatch, server.url)
        azure_token("broker", "api://kafka/.default", "an-id", is_managed=True)
    assert server.received[0].fields["resource"] == "api://kafka"
    assert server.received[0].fields["client_id"] == "an-id"


def test_app_service(monkeypatch: pytest.MonkeyPatch) -> None:
    def respond(request: Received) -> tuple[int, Any]:
        assert request.headers["x-identity-header"] == "header"
        ends = int(time.time()) + SLOW_S
        return 200, {"access_token": PASSWORD, "expires_on": ends, "token_type": "Bearer"}

    with serving(respond) as server:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{server.url}/msi/token")
        monkeypatch.setenv("IDENTITY_HEADER", "header")
        assert azure_token(HOST, None, None, is_managed=True).text.reveal() == PASSWORD


@pytest.mark.parametrize(
    ("respond", "kind"),
    [
        (
            lambda _: (
                400,
                {"error": "invalid_request", "error_description": "Identity not found"},
            ),
            AuthenticationError,
        ),
        (lambda _: (200, "no JSON"), AuthenticationError),
        (lambda _: (500, {"error": "unknown"}), AuthenticationError),
    ],
    ids=["no identity", "no JSON", "broken"],
)
def test_endpoints_that_refuse(
    monkeypatch: pytest.MonkeyPatch,
    respond: Callable[[Received], tuple[int, Any]],
    kind: type[Exception],
) -> None:
    with serving(respond) as server:
        imds(monkeypatch, server.url)
        with pytest.raises(
            kind, match=r"^(there is no identity of Azure|Azure refused a token): \S"
        ) as caught:
            azure_token(HOST, None, None, is_managed=True)
    assert "\n" not in str(caught.value)


def test_an_endpoint_that_is_silent_or_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(_: Received) -> tuple[int, Any]:
        time.sleep(3)  # longer than the client waits
        return 500, {}

    with serving(silent) as server:
        imds(monkeypatch, server.url)
        began = time.monotonic()
        with pytest.raises((AuthenticationError, BrokerConnectionError)):
            azure_token(HOST, None, None, is_managed=True)
        assert time.monotonic() - began < 60
    with pytest.raises((AuthenticationError, BrokerConnectionError)):
        azure_token(HOST, None, None, is_managed=True)


@pytest.mark.parametrize(
    "host",
    [
        *("broker.example", "evil.example/my.servicebus.windows.net", "servicebus.windows.net"),
        "ns.servicebus.evilapi.net",
    ],
)
def test_only_event_hubs_have_a_scope_of_their_own(host: str) -> None:
    with pytest.raises(KafkaConfigError, match=r"set kafka\.sasl\.oauthbearer\.scope"):
        azure_token(host, None, None, is_managed=True)


@pytest.mark.parametrize(
    "host", [HOST, "a.servicebus.usgovcloudapi.net", "a-b.servicebus.chinacloudapi.cn"]
)
def test_scopes_of_event_hubs(host: str) -> None:
    assert azure.event_hubs_scope(host) == f"https://{host}/.default"


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (
            ClientAuthenticationError('Content: {"access_token": "x"}'),
            AuthenticationError,
            "Azure refused a token: ManagedIdentityCredential: ClientAuthenticationError$",
        ),
        (HttpResponseError("429\nslow down"), BrokerConnectionError, "Credential: 429$"),
        (ServiceRequestError("no route"), BrokerConnectionError, "Credential: no route$"),
        (ServiceRequestError(""), BrokerConnectionError, "Credential: ServiceRequestError$"),
    ],
)
def test_errors_of_the_library(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[Exception], text: str
) -> None:
    def get_token(*_: object) -> None:
        raise error

    monkeypatch.setattr("azure.identity.ManagedIdentityCredential.get_token", get_token)
    with pytest.raises(kind, match=text):
        azure_token(HOST, None, None, is_managed=False)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(KafkaConfigError, match=r"pip install 'pyspark-pykafka\[azure\]'"):
        azure_token(HOST, None, None, is_managed=True)


def test_a_service_principal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AZURE_TENANT_ID": "11111111-1111-1111-1111-111111111111",
        "AZURE_CLIENT_ID": "22222222-2222-2222-2222-222222222222",
        "AZURE_CLIENT_SECRET": PASSWORD,
        "AZURE_AUTHORITY_HOST": "https://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises((AuthenticationError, BrokerConnectionError)) as caught:
        azure_token(HOST, None, None, is_managed=False)
    assert "EnvironmentCredential" in str(caught.value)
    assert PASSWORD not in str(caught.value)


def test_a_workload_identity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It comes before the managed identity. Its authority is away, which the error says."""
    (tmp_path / "token").write_text("a.b.c")
    for name, value in {
        "AZURE_FEDERATED_TOKEN_FILE": str(tmp_path / "token"),
        "AZURE_TENANT_ID": "11111111-1111-1111-1111-111111111111",
        "AZURE_CLIENT_ID": "22222222-2222-2222-2222-222222222222",
        "AZURE_AUTHORITY_HOST": "https://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises((AuthenticationError, BrokerConnectionError), match="WorkloadIdentity"):
        azure_token(HOST, None, None, is_managed=False)
