"""Tokens from a callback or an endpoint, and how long they are cached."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from email.message import Message
from functools import wraps
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.secret import Secret
from kafka_protocol.auth.token import AccessToken
from kafka_protocol.client.broker import oauth, token_sources
from kafka_protocol.client.broker.oauth import forget_token, token_for
from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.http_request import HttpResponse
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    KafkaConfigError,
    KafkaError,
    KafkaTimeoutError,
    TlsError,
)
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.tls import authority_pem, listening, server_context
from tests.secret_check import PASSWORD

HOST = "broker"


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


def called_with_defaults(host: str = "mine", *more: str, **claims: str) -> str:
    assert (host, more, claims) == ("mine", (), {})
    return PASSWORD


@pytest.mark.parametrize("name", ["called", "called_with_defaults"])
def test_callback(name: str) -> None:
    assert token_for(by_callback(name), HOST, soon()) == Secret(PASSWORD)


def injecting(function: Callable[[str, str], str]) -> Callable[[], str]:
    @wraps(function)
    def wrapper() -> str:
        return function("a", "b")

    return wrapper


@injecting
def called_with_injected(first: str, second: str) -> str:
    return f"{PASSWORD}{first}{second}"


def test_a_decorated_callback_gets_what_its_decorator_takes() -> None:
    assert token_for(by_callback("called_with_injected"), HOST, soon()) == Secret(f"{PASSWORD}ab")


def called_with_text() -> AccessToken:
    return AccessToken(PASSWORD)  # type: ignore[arg-type]


def called_with_no_time() -> AccessToken:
    return AccessToken(Secret(PASSWORD), None)  # type: ignore[arg-type]


def called_with_nan() -> AccessToken:
    return AccessToken(Secret(PASSWORD), float("nan"))


@pytest.mark.parametrize("name", ["called_with_text", "called_with_no_time", "called_with_nan"])
def test_a_token_of_other_types(name: str) -> None:
    with pytest.raises(AuthenticationError, match=r"returned an AccessToken that is not") as caught:
        token_for(by_callback(name), HOST, soon())
    assert PASSWORD not in str(caught.value) + repr(token_sources._kept)


def test_a_module_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "failing_module_of_a_test.py").write_text(f"raise KeyError('{PASSWORD}')")
    monkeypatch.syspath_prepend(str(tmp_path))
    given = SecurityOptions(token_callback="failing_module_of_a_test:token")
    with pytest.raises(KafkaConfigError, match=r"whose module raises KeyError$"):
        token_for(given, HOST, soon())


def test_an_identity_that_is_silent_or_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may say how long to wait: the library does, and the client does not."""
    given = SecurityOptions(metadata_authentication="gcp")
    ended = Event()
    monkeypatch.setattr(token_sources, "_LIMIT_S", 0.2)
    monkeypatch.setattr("kafka_protocol.auth.google.google_token", lambda *_: ended.wait(60))
    try:
        with pytest.raises(BrokerConnectionError, match=r"identity 'gcp' within 0.2 s"):
            token_for(given, HOST, soon())
    finally:
        ended.set()

    def broken(*_: object) -> AccessToken:
        raise OverflowError(PASSWORD)

    monkeypatch.setattr(token_sources, "_LIMIT_S", 30)
    monkeypatch.setattr("kafka_protocol.auth.google.google_token", broken)
    with pytest.raises(AuthenticationError, match=r"identity 'gcp': OverflowError$") as caught:
        token_for(given, HOST, soon())
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


def test_a_callback_of_c() -> None:
    """Python does not know its arguments, so that it gets none."""
    given = SecurityOptions(token_callback="builtins:iter")
    with pytest.raises(AuthenticationError, match="builtins:iter raised TypeError"):
        token_for(given, HOST, soon())


@pytest.mark.parametrize(
    ("path", "kind", "reason"),
    [
        (
            f"{__name__}:called_bytes",
            AuthenticationError,
            "returned bytes, and not a str or an",
        ),
        (f"{__name__}:called_and_raising", AuthenticationError, "raised OSError$"),
        (f"{__name__}:called_and_timed_out", KafkaTimeoutError, "the vault did not respond"),
        (f"{__name__}:missing", KafkaConfigError, "cannot be imported: .*has no attribute"),
        ("no_such_module_at_all:x", KafkaConfigError, "cannot be imported: No module named"),
    ],
    ids=["bytes", "raises", "raises ours", "no function", "no module"],
)
def test_callbacks_that_fail(path: str, kind: type[KafkaError], reason: str) -> None:
    with pytest.raises(kind, match=reason) as caught:
        token_for(SecurityOptions(token_callback=path), HOST, soon())
    # The text of a callback's error may contain a secret, and a traceback shows causes.
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


REQUESTS: list[tuple[str, str | None]] = []


def called_with_request(host: str, scope: str | None) -> AccessToken:
    REQUESTS.append((host, scope))
    return AccessToken(Secret(f"{PASSWORD}{len(REQUESTS)}"), now_ms() / 1000 + 100)


def test_a_callback_gets_the_broker_and_says_when_its_token_ends() -> None:
    REQUESTS.clear()
    given = replace(by_callback("called_with_request"), oauth_scope="s")
    with sleeps_take_no_time() as pass_seconds:
        first = token_for(given, "a", soon())
        assert token_for(given, "a", soon()) == first
        assert token_for(given, "b", soon()) != first
        pass_seconds(79)
        assert token_for(given, "a", soon()) == first
        pass_seconds(2)
        second = token_for(given, "a", soon())
        assert second != first
        forget_token(given)  # a broker refused it
        assert token_for(given, "a", soon()) != second
    assert REQUESTS == [("a", "s"), ("b", "s"), ("a", "s"), ("a", "s")]
    assert REQUESTS and PASSWORD not in repr(token_sources._kept)


@pytest.mark.parametrize("kind", ["azure", "azure_imds", "gcp"])
def test_the_identities_of_a_machine(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    asked: list[object] = []

    def azure_token(*given: object, is_managed: bool) -> AccessToken:
        asked.append((*given, is_managed))
        return AccessToken(Secret("a"), now_ms() / 1000 + 100)

    def google_token(scope: str | None, now_s: float) -> AccessToken:
        asked.append((scope, abs(now_s - now_ms() / 1000) < 10))
        return AccessToken(Secret("g"))

    monkeypatch.setattr("kafka_protocol.auth.azure.azure_token", azure_token)
    monkeypatch.setattr("kafka_protocol.auth.google.google_token", google_token)
    given = SecurityOptions(metadata_authentication=kind, oauth_client_id="id", oauth_scope="s")
    for _ in range(2):
        token = token_for(given, f"host of {kind}", soon())
    assert token == Secret("g" if kind == "gcp" else "a")
    if kind == "gcp":
        assert asked == [("s", True)] * 2  # its end is not known
    else:
        assert asked == [(f"host of {kind}", "s", "id", kind == "azure_imds")]


class Endpoint:
    """A token endpoint: sends the queued responses, and keeps the requests."""

    def __init__(self) -> None:
        self.url = ""
        self.tls: ssl.SSLContext | None = None
        self.responses: list[HttpResponse] = []
        self.requests: list[tuple[Message, dict[str, list[str]]]] = []

    def serve(self, sock: socket.socket) -> None:
        secured = self.tls.wrap_socket(sock, server_side=True) if self.tls else sock
        with closing(secured), secured.makefile("rwb") as stream:
            assert stream.readline() == b"POST /token HTTP/1.1\r\n"
            headers = http.client.parse_headers(stream)
            body = stream.read(int(headers["Content-Length"])).decode()
            self.requests.append((headers, parse_qs(body)))
            response = self.responses.pop(0)
            head = f"HTTP/1.1 {response.status} x\r\nContent-Length: {len(response.body)}\r\n\r\n"
            stream.write(head.encode() + response.body)

    def will_respond(self, status: int = 200, **values: Any) -> None:
        self.responses.append(HttpResponse(status, json.dumps(values).encode()))

    def client(self, **options: Any) -> SecurityOptions:
        required: dict[str, Any] = {
            "token_endpoint_url": self.url,
            "oauth_client_id": "me",
            "oauth_client_secret": Secret(PASSWORD),
        }
        return SecurityOptions(**(required | options))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    with listening(made.serve) as address:
        made.url = f"http://{address}/token"
        yield made
    oauth._cache.clear()


def soon() -> Deadline:
    return Deadline.after(10_000)


def authorization(headers: Message) -> bytes:
    return base64.b64decode(headers["Authorization"].split()[1])


def web_token(**claims: object) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.c2ln"


def test_the_request_to_an_endpoint_with_tls(endpoint: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(authority_pem())
    endpoint.tls = server_context()
    endpoint.will_respond(access_token="t")
    client = endpoint.client(token_endpoint_url=endpoint.url.replace("http:", "https:"))
    with pytest.raises(TlsError, match=r"not trusted here.* \(.*: kafka\.https\.ca\.location\)"):
        token_for(client, HOST, soon())
    trusting = replace(client, https_ca_location=str(tmp_path / "ca.pem"))
    assert token_for(trusting, HOST, soon()) == Secret("t")
    ((headers, form),) = endpoint.requests
    assert form == {"grant_type": ["client_credentials"]}
    assert authorization(headers) == f"me:{PASSWORD}".encode()


def test_scope_and_encoded_credentials(endpoint: Endpoint) -> None:
    endpoint.will_respond(access_token="t")
    options = {"oauth_scope": "a b", "oauth_client_id": "a b", "oauth_header_urlencode": True}
    token_for(endpoint.client(**options), HOST, soon())
    ((headers, form),) = endpoint.requests
    assert form["scope"] == ["a b"]
    assert authorization(headers).startswith(b"a+b:")


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
    assert token_for(endpoint.client(), HOST, soon()) == token_for(endpoint.client(), HOST, soon())
    assert len(endpoint.requests) == (1 if is_cached else 2)


def test_each_client_has_its_own_token(endpoint: Endpoint) -> None:
    for name in ("a", "b"):
        endpoint.will_respond(access_token=name, expires_in=3600)
    for _ in range(2):
        for name in ("a", "b"):
            assert token_for(endpoint.client(oauth_client_id=name), HOST, soon()) == Secret(name)


def test_a_refused_token_is_not_used_again(endpoint: Endpoint) -> None:
    for name in ("a", "b"):
        endpoint.will_respond(access_token=name, expires_in=3600)
    token_for(endpoint.client(), HOST, soon())
    forget_token(endpoint.client())
    assert token_for(endpoint.client(), HOST, soon()) == Secret("b")
    forget_token(endpoint.client(oauth_client_id="never requested"))


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
    basic = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    description = f"not {basic} {PASSWORD}\n"
    endpoint.will_respond(status, error="bad", error_description=description, error_uri="x")
    text = (
        rf"^the token endpoint at localhost:\d+ responded with {status}: bad: not \*\*\* \*\*\*\?$"
    )
    with pytest.raises(kind, match=text):
        token_for(endpoint.client(), HOST, soon())


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"access_token": 1}', b'{"access_token": ""}', b"[" * 100_000],
    ids=["empty", "list", "object", "number", "empty token", "nested"],
)
def test_responses_without_a_token(endpoint: Endpoint, body: bytes) -> None:
    endpoint.responses.append(HttpResponse(200, body))
    with pytest.raises(AuthenticationError, match="responded without an access_token"):
        token_for(endpoint.client(), HOST, soon())


@given(st.integers(100, 599), st.binary(max_size=50))
def test_any_response_raises_only_kafka_errors(status: int, body: bytes) -> None:
    try:
        oauth._token_in(HttpResponse(status, body), "idp", (PASSWORD,))
    except (AuthenticationError, BrokerConnectionError) as error:
        assert str(error).startswith("idp responded")


def test_credentials_that_are_not_utf_8(endpoint: Endpoint) -> None:
    with pytest.raises(KafkaConfigError, match="the client's credentials"):
        token_for(endpoint.client(oauth_client_id="\udcff"), HOST, soon())
