"""Tokens: from a callback, from an endpoint, and how long they are kept."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker import oauth
from kafka_protocol.client.broker.oauth import forget_token, token_for
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.http_post import Answer
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    KafkaConfigError,
    KafkaError,
    KafkaTimeoutError,
)
from tests.secret_check import PASSWORD

SOON = Deadline.after(60_000)


def called() -> str:
    return PASSWORD


def called_bytes() -> bytes:
    return b"x"


def called_in_vain() -> str:
    raise OSError(PASSWORD)


def called_too_long() -> str:
    raise KafkaTimeoutError("the vault did not answer")


def by_callback(name: str) -> SecurityOptions:
    return SecurityOptions(token_callback=f"{__name__}:{name}")


def test_callback() -> None:
    assert token_for(by_callback("called"), SOON) == Secret(PASSWORD)


@pytest.mark.parametrize(
    ("path", "kind", "reason"),
    [
        (f"{__name__}:called_bytes", AuthenticationError, "returned bytes, and not a str"),
        (f"{__name__}:called_in_vain", AuthenticationError, "raised OSError$"),
        (f"{__name__}:called_too_long", KafkaTimeoutError, "the vault did not answer"),
        (f"{__name__}:missing", KafkaConfigError, "cannot be imported: .*has no attribute"),
        ("no_such_module_at_all:x", KafkaConfigError, "cannot be imported: No module named"),
    ],
)
def test_callbacks_that_fail(path: str, kind: type[KafkaError], reason: str) -> None:
    with pytest.raises(kind, match=reason) as caught:
        token_for(SecurityOptions(token_callback=path), SOON)
    # What a callback says may hold a secret, and a traceback shows causes too.
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


class Endpoint:
    """Stands in for `post`: answers as it is told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[tuple[str, Mapping[str, str], dict[str, list[str]], str | None]] = []

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, ca: str | None, _: Deadline
    ) -> Answer:
        self.asked.append((url, headers, parse_qs(body.decode()), ca))
        return self.answers.pop(0)

    def will_answer(self, status: int = 200, **told: object) -> None:
        self.answers.append(Answer(status, json.dumps(told).encode()))


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    made = Endpoint()
    monkeypatch.setattr(oauth, "post", made.post)
    yield made
    oauth._kept.clear()


def client(**options: object) -> SecurityOptions:
    given = {
        "token_endpoint_url": "https://idp/token",
        "oauth_client_id": "me",
        "oauth_client_secret": Secret(PASSWORD),
    }
    return SecurityOptions(**(given | options))  # type: ignore[arg-type]


def web_token(**claims: object) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.c2ln"


def test_what_the_endpoint_is_asked(endpoint: Endpoint) -> None:
    endpoint.will_answer(access_token="t")
    assert token_for(client(https_ca_location="/ca.pem"), SOON) == Secret("t")
    ((url, headers, form, ca),) = endpoint.asked
    assert (url, ca) == ("https://idp/token", "/ca.pem")
    assert form == {"grant_type": ["client_credentials"]}
    assert base64.b64decode(headers["Authorization"].split()[1]) == f"me:{PASSWORD}".encode()


def test_scope_and_encoded_credentials(endpoint: Endpoint) -> None:
    endpoint.will_answer(access_token="t")
    token_for(client(oauth_scope="a b", oauth_client_id="a b", oauth_header_urlencode=True), SOON)
    _, headers, form, _ = endpoint.asked[0]
    assert form["scope"] == ["a b"]
    assert base64.b64decode(headers["Authorization"].split()[1]).startswith(b"a+b:")


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"access_token": "t", "expires_in": 3600}, True),
        ({"access_token": web_token(iat=100, exp=3700)}, True),
        ({"access_token": web_token(iat=100, exp=3700), "expires_in": 3600.5}, True),
        # what ends first counts
        ({"access_token": web_token(iat=100, exp=3700), "expires_in": 1e-6}, False),
        ({"access_token": web_token(iat=100, exp=100.000001), "expires_in": 3600}, False),
        # nobody says how long
        ({"access_token": "t"}, False),
        ({"access_token": web_token(exp=3700)}, False),
        ({"access_token": "t", "expires_in": "3600"}, False),
        ({"access_token": "t", "expires_in": True}, False),
        ({"access_token": "t", "expires_in": -5}, False),
        ({"access_token": web_token(iat=3700, exp=100)}, False),
        ({"access_token": "a.\N{SNOWMAN}.c"}, False),
        ({"access_token": "a.W10.c"}, False),
    ],
)
def test_how_long_a_token_is_kept(endpoint: Endpoint, told: dict[str, object], kept: bool) -> None:
    endpoint.will_answer(**told)
    endpoint.will_answer(**told)
    assert token_for(client(), SOON) == token_for(client(), SOON)
    assert len(endpoint.asked) == (1 if kept else 2)


def test_each_client_has_its_own(endpoint: Endpoint) -> None:
    for name in ("a", "b"):
        endpoint.will_answer(access_token=name, expires_in=3600)
    for _ in range(2):
        for name in ("a", "b"):
            assert token_for(client(oauth_client_id=name), SOON) == Secret(name)


def test_a_token_that_was_refused_is_not_shown_again(endpoint: Endpoint) -> None:
    for name in ("a", "b"):
        endpoint.will_answer(access_token=name, expires_in=3600)
    token_for(client(), SOON)
    forget_token(client())
    assert token_for(client(), SOON) == Secret("b")
    forget_token(client(oauth_client_id="never asked for"))


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
def test_refusals_are_shown_without_the_secret(
    endpoint: Endpoint, status: int, kind: type[KafkaError]
) -> None:
    endpoint.will_answer(status, error="bad", error_description=f"not {PASSWORD}\n", error_uri="x")
    with pytest.raises(
        kind, match=rf"^the token endpoint at idp answered {status}: bad: not \*\*\*\?$"
    ):
        token_for(client(), SOON)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"access_token": 1}', b'{"access_token": ""}', b"[" * 100_000]
)
def test_answers_without_a_token(endpoint: Endpoint, body: bytes) -> None:
    endpoint.answers.append(Answer(200, body))
    with pytest.raises(AuthenticationError, match="answered without an access_token"):
        token_for(client(), SOON)


@given(st.integers(100, 599), st.binary(max_size=50))
def test_nothing_but_our_own_errors_comes_out(status: int, body: bytes) -> None:
    try:
        oauth._token_in(Answer(status, body), "idp", (PASSWORD,))
    except (AuthenticationError, BrokerConnectionError) as error:
        assert str(error).startswith("idp answered")


def test_what_an_endpoint_repeats_of_ours_is_not_shown(endpoint: Endpoint) -> None:
    basic = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    endpoint.will_answer(401, error="invalid_client", error_description=f"not {basic} {PASSWORD}")
    with pytest.raises(AuthenticationError, match=r"401: invalid_client: not \*\*\* \*\*\*"):
        token_for(client(), SOON)


def test_credentials_that_no_header_can_carry(endpoint: Endpoint) -> None:
    with pytest.raises(KafkaConfigError, match="the client's credentials"):
        token_for(client(oauth_client_id="\udcff"), SOON)
