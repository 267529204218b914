"""Tokens from a callback or an endpoint, and how long they are cached."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker import oauth
from kafka_protocol.client.broker.oauth import forget_token, token_for
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.http_request import HttpRequest, HttpResponse
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    KafkaConfigError,
    KafkaError,
    KafkaTimeoutError,
    TlsError,
)
from tests.secret_check import PASSWORD

SOON = Deadline.after(60_000)


def called() -> str:
    return PASSWORD


def called_bytes() -> bytes:
    return b"x"


def called_and_raising() -> str:
    raise OSError(PASSWORD)


def called_and_timed_out() -> str:
    raise KafkaTimeoutError("the vault did not respond")


def by_callback(name: str) -> SecurityOptions:
    return SecurityOptions(token_callback=f"{__name__}:{name}")


def test_callback() -> None:
    assert token_for(by_callback("called"), SOON) == Secret(PASSWORD)


@pytest.mark.parametrize(
    ("path", "kind", "reason"),
    [
        (f"{__name__}:called_bytes", AuthenticationError, "returned bytes, and not a str"),
        (f"{__name__}:called_and_raising", AuthenticationError, "raised OSError$"),
        (f"{__name__}:called_and_timed_out", KafkaTimeoutError, "the vault did not respond"),
        (f"{__name__}:missing", KafkaConfigError, "cannot be imported: .*has no attribute"),
        ("no_such_module_at_all:x", KafkaConfigError, "cannot be imported: No module named"),
    ],
    ids=["bytes", "raises", "raises ours", "no function", "no module"],
)
def test_callbacks_that_fail(path: str, kind: type[KafkaError], reason: str) -> None:
    with pytest.raises(kind, match=reason) as caught:
        token_for(SecurityOptions(token_callback=path), SOON)
    # The text of a callback's error may contain a secret, and a traceback shows causes.
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


class Endpoint:
    """Replaces `send`: returns the queued responses, and keeps the requests."""

    def __init__(self) -> None:
        self.responses: list[HttpResponse] = []
        self.requests: list[tuple[str, Mapping[str, str], dict[str, list[str]], str | None]] = []

    def send(self, request: HttpRequest, security: SecurityOptions, *_: object) -> HttpResponse:
        assert request.method == "POST"
        form = parse_qs((request.body or b"").decode())
        self.requests.append((request.url, request.headers, form, security.truststore_location))
        return self.responses.pop(0)

    def will_respond(self, status: int = 200, **values: Any) -> None:
        self.responses.append(HttpResponse(status, json.dumps(values).encode()))


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    made = Endpoint()
    monkeypatch.setattr(oauth, "send", made.send)
    yield made
    oauth._cache.clear()


def client(**options: Any) -> SecurityOptions:
    required: dict[str, Any] = {
        "token_endpoint_url": "https://idp/token",
        "oauth_client_id": "me",
        "oauth_client_secret": Secret(PASSWORD),
    }
    return SecurityOptions(**(required | options))


def web_token(**claims: object) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.c2ln"


def test_the_request_to_the_endpoint(endpoint: Endpoint) -> None:
    endpoint.will_respond(access_token="t")
    assert token_for(client(https_ca_location="/ca.pem"), SOON) == Secret("t")
    ((url, headers, form, ca),) = endpoint.requests
    assert (url, ca) == ("https://idp/token", "/ca.pem")
    assert form == {"grant_type": ["client_credentials"]}
    assert base64.b64decode(headers["Authorization"].split()[1]) == f"me:{PASSWORD}".encode()


def test_an_endpoint_that_cannot_be_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> HttpResponse:
        raise TlsError("idp:443 cannot be trusted")

    monkeypatch.setattr(oauth, "send", refuse)
    with pytest.raises(TlsError, match=r"cannot be trusted \(.*: kafka\.https\.ca\.location\)"):
        token_for(client(), SOON)


def test_scope_and_encoded_credentials(endpoint: Endpoint) -> None:
    endpoint.will_respond(access_token="t")
    token_for(client(oauth_scope="a b", oauth_client_id="a b", oauth_header_urlencode=True), SOON)
    _, headers, form, _ = endpoint.requests[0]
    assert form["scope"] == ["a b"]
    assert base64.b64decode(headers["Authorization"].split()[1]).startswith(b"a+b:")


@pytest.mark.parametrize(
    ("values", "is_cached"),
    [
        ({"access_token": "t", "expires_in": 3600}, True),
        ({"access_token": web_token(iat=100, exp=3700)}, True),
        ({"access_token": web_token(iat=100, exp=3700), "expires_in": 3600.5}, True),
        # the shorter lifetime is used
        ({"access_token": web_token(iat=100, exp=3700), "expires_in": 1e-6}, False),
        ({"access_token": web_token(iat=100, exp=100.000001), "expires_in": 3600}, False),
        # no lifetime
        ({"access_token": "t"}, False),
        ({"access_token": web_token(exp=3700)}, False),
        ({"access_token": "t", "expires_in": "3600"}, False),
        ({"access_token": "t", "expires_in": True}, False),
        ({"access_token": "t", "expires_in": -5}, False),
        ({"access_token": web_token(iat=3700, exp=100)}, False),
        ({"access_token": "a.\N{SNOWMAN}.c"}, False),
        ({"access_token": "a.W10.c"}, False),
    ],
    ids=[
        *("response", "claims", "both", "short in response", "short in claims", "none", "only exp"),
        *("text", "boolean", "negative", "exp before iat", "not base64", "not an object"),
    ],
)
def test_tokens_are_cached_for_their_lifetime(
    endpoint: Endpoint, values: dict[str, Any], is_cached: bool
) -> None:
    for _ in range(2):
        endpoint.will_respond(**values)
    assert token_for(client(), SOON) == token_for(client(), SOON)
    assert len(endpoint.requests) == (1 if is_cached else 2)


def test_each_client_has_its_own_token(endpoint: Endpoint) -> None:
    for name in ("a", "b"):
        endpoint.will_respond(access_token=name, expires_in=3600)
    for _ in range(2):
        for name in ("a", "b"):
            assert token_for(client(oauth_client_id=name), SOON) == Secret(name)


def test_a_refused_token_is_not_used_again(endpoint: Endpoint) -> None:
    for name in ("a", "b"):
        endpoint.will_respond(access_token=name, expires_in=3600)
    token_for(client(), SOON)
    forget_token(client())
    assert token_for(client(), SOON) == Secret("b")
    forget_token(client(oauth_client_id="never requested"))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, AuthenticationError),
        (401, AuthenticationError),
        (302, AuthenticationError),
        (429, BrokerConnectionError),
        (503, BrokerConnectionError),
    ],
)
def test_refusals_do_not_contain_the_secret(
    endpoint: Endpoint, status: int, kind: type[KafkaError]
) -> None:
    endpoint.will_respond(status, error="bad", error_description=f"not {PASSWORD}\n", error_uri="x")
    with pytest.raises(
        kind, match=rf"^the token endpoint at idp responded with {status}: bad: not \*\*\*\?$"
    ):
        token_for(client(), SOON)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"access_token": 1}', b'{"access_token": ""}', b"[" * 100_000],
    ids=["empty", "list", "object", "number", "empty token", "nested"],
)
def test_responses_without_a_token(endpoint: Endpoint, body: bytes) -> None:
    endpoint.responses.append(HttpResponse(200, body))
    with pytest.raises(AuthenticationError, match="responded without an access_token"):
        token_for(client(), SOON)


@given(st.integers(100, 599), st.binary(max_size=50))
def test_any_response_raises_only_kafka_errors(status: int, body: bytes) -> None:
    try:
        oauth._token_in(HttpResponse(status, body), "idp", (PASSWORD,))
    except (AuthenticationError, BrokerConnectionError) as error:
        assert str(error).startswith("idp responded")


def test_secrets_repeated_by_the_endpoint_are_hidden(endpoint: Endpoint) -> None:
    basic = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    endpoint.will_respond(401, error="invalid_client", error_description=f"not {basic} {PASSWORD}")
    with pytest.raises(AuthenticationError, match=r"401: invalid_client: not \*\*\* \*\*\*"):
        token_for(client(), SOON)


def test_credentials_that_are_not_utf_8(endpoint: Endpoint) -> None:
    with pytest.raises(KafkaConfigError, match="the client's credentials"):
        token_for(client(oauth_client_id="\udcff"), SOON)
