"""Credentials in requests, tokens of an endpoint, and texts without secrets."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import RegistryError
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.credentials import Credentials
from kafka_formats.registry.failover import Call, Exchange
from kafka_protocol.auth.secret import Secret
from kafka_protocol.auth.token import AccessToken
from kafka_protocol.client.broker import oauth
from kafka_protocol.client.clock import Deadline, now_ms
from tests.fakes.tls import authority_pem, server_context
from tests.formats.registry.server import (
    SOON_MS,
    FakeRegistry,
    config_of,
    error,
    nowhere,
    ok,
    response,
    running,
)
from tests.secret_check import PASSWORD

PATH = "/schemas/ids/7"


@pytest.fixture(autouse=True)
def no_tokens() -> Iterator[None]:
    yield
    oauth._cache.clear()


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    """A registry, whose path /token is a token endpoint."""
    with running() as running_registry:
        running_registry.on(PATH, ok({}))
        running_registry.on("/token", token("t1"), token("t2"), token("t3"))
        yield running_registry


def token(text: str) -> bytes:
    return ok({"access_token": text, "expires_in": 3600})


def by_endpoint(registry: FakeRegistry, **values: Any) -> RegistryConfig:
    return config_of(
        registry.url,
        bearer_source="OAUTHBEARER",
        **{
            "token_endpoint_url": Secret(f"{registry.url}/token"),
            "client_id": "me",
            "client_secret": Secret(PASSWORD),
            **values,
        },
    )


def response_to(config: RegistryConfig) -> Any:
    return Exchange(config).response_to(Call("schema id 7", PATH), lambda value: value)


def failure(config: RegistryConfig) -> str:
    with pytest.raises(RegistryError) as caught:
        response_to(config)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def sent(registry: FakeRegistry) -> list[str]:
    """The credentials in the requests for a schema."""
    return [r.headers.get("authorization", "") for r in registry.requests if r.target == PATH]


def test_basic_authentication(registry: FakeRegistry) -> None:
    response_to(config_of(registry.url, user_info=Secret("ü:p:q")))
    assert sent(registry) == ["Basic " + base64.b64encode("ü:p:q".encode()).decode()]


def test_a_static_token(registry: FakeRegistry) -> None:
    values = {"bearer_source": "STATIC_TOKEN", "bearer_token": Secret("t")}
    response_to(
        config_of(registry.url, **values, logical_cluster="lsrc-1", identity_pool_id="pool-1")
    )
    response_to(config_of(registry.url, **values))
    first, second = registry.requests
    assert sent(registry) == ["Bearer t", "Bearer t"]
    assert first.headers["target-sr-cluster"] == "lsrc-1"
    assert first.headers["confluent-identity-pool-id"] == "pool-1"
    assert not {"target-sr-cluster", "confluent-identity-pool-id"} & second.headers.keys()


def test_a_token_of_an_endpoint_is_used_again(registry: FakeRegistry) -> None:
    for _ in range(2):
        response_to(by_endpoint(registry, scope="s"))
    request, *others = [r for r in registry.requests if r.target == "/token"]
    assert others == []
    assert parse_qs(request.body) == {"grant_type": ["client_credentials"], "scope": ["s"]}
    assert sent(registry) == ["Bearer t1", "Bearer t1"]


def test_a_refused_token_is_replaced_once(registry: FakeRegistry) -> None:
    registry.on(PATH, error(401, 401), ok({}))
    assert response_to(by_endpoint(registry)) == {}
    assert sent(registry) == ["Bearer t1", "Bearer t2"]
    registry.on(PATH, error(401, 401))
    assert "responded with 401" in failure(by_endpoint(registry))
    assert sent(registry)[2:] == ["Bearer t2", "Bearer t3"]


@pytest.mark.parametrize("kind", ["OAUTHBEARER_AZURE_IMDS", "OAUTHBEARER_AZURE"])
def test_an_identity_of_the_machine(
    registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A refused token is replaced once, as one of an endpoint."""
    asked: list[object] = []

    def azure_token(*given: object, is_managed: bool) -> AccessToken:
        asked.append((*given, is_managed))
        return AccessToken(Secret(f"{kind}-{len(asked)}"), now_ms() / 1000 + 100)

    monkeypatch.setattr("kafka_protocol.auth.azure.azure_token", azure_token)
    config = config_of(registry.url, bearer_source=kind, scope="api://r/.default", client_id="c")
    for _ in range(2):
        response_to(config)
    registry.on(PATH, error(401, 401), ok({}))
    response_to(config)
    assert asked == [("", "api://r/.default", "c", kind.endswith("IMDS"))] * 2
    assert sent(registry) == [f"Bearer {kind}-{each}" for each in (1, 1, 1, 2)]


def test_a_refused_static_token_is_an_error_at_once(registry: FakeRegistry) -> None:
    registry.on(PATH, error(401, 401, f"{PASSWORD} has expired"))
    config = config_of(registry.url, bearer_source="STATIC_TOKEN", bearer_token=Secret(PASSWORD))
    assert "401 (error code 401: *** has expired); check" in failure(config)
    assert len(registry.requests) == 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (response(400, b'{"error": "invalid_client"}'), "responded with 400: invalid_client"),
        (response(302, b"", location="http://x"), "responded with 302"),
        (ok({}), "responded without an access_token"),
        (token("a\r\nX: y"), "with a token that is not printable ASCII"),
        (token("é"), "with a token that is not printable ASCII"),
    ],
    ids=["refused", "redirect", "no token", "line break", "not ASCII"],
)
def test_an_endpoint_that_refuses_is_an_error_at_once(
    registry: FakeRegistry, reply: bytes, reason: str
) -> None:
    registry.on("/token", reply)
    text = failure(by_endpoint(registry))
    assert registry.targets == ["/token"]
    assert text.startswith(f"schema id 7: {registry.url}: the token endpoint")
    assert reason in text


def test_an_endpoint_that_is_down_is_asked_again(registry: FakeRegistry) -> None:
    registry.on("/token", error(503, 0), token("t1"))
    assert response_to(by_endpoint(registry)) == {}
    text = failure(by_endpoint(registry, token_endpoint_url=Secret(nowhere()), max_retries=1))
    assert "(tries: 2)" in text
    assert "connection refused" in text


def test_an_endpoint_over_tls(registry: FakeRegistry, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(authority_pem())
    with running(server_context()) as endpoint:
        endpoint.on("/token", token("t1"))
        options = {
            "url": registry.url,
            "bearer.auth.credentials.source": "OAUTHBEARER",
            "bearer.auth.issuer.endpoint.url": f"{endpoint.url}/token",
            "bearer.auth.client.id": "me",
            "bearer.auth.client.secret": PASSWORD,
        }
        text = failure(RegistryConfig.from_options(options))
        trust = {"ssl.ca.location": str(tmp_path / "ca.pem")}
        assert response_to(RegistryConfig.from_options(options | trust)) == {}
    assert "set schema.registry.ssl.truststore.location" in text
    assert "kafka." not in text


# Not so short that they are in any text.
@given(st.text(min_size=4).filter(lambda text: not set(text) <= set("*")))
def test_a_repeated_secret_is_hidden(secret: str) -> None:
    hide = Credentials(config_of("http://a", user_info=Secret(f"u:{secret}"))).hide
    forms = [secret, f"u:{secret}", quote(secret, safe=""), json.dumps(secret)[1:-1]]
    forms.append(base64.b64encode(f"u:{secret}".encode()).decode())
    assert [hide(form) for form in forms] == ["***"] * len(forms)


def test_the_last_token_is_hidden(registry: FakeRegistry) -> None:
    registry.on("/token", token(PASSWORD))
    credentials = Credentials(by_endpoint(registry, client_secret=Secret("s3")))
    credentials.headers(Deadline.after(SOON_MS))
    assert credentials.hide(f"{PASSWORD} s3") == "*** ***"
