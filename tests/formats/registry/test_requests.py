"""Requests to a registry: credentials, fail-over, retries and refusals."""

from __future__ import annotations

import base64
import json
import socket
import threading
import traceback
from typing import Any

import pytest

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry import requests
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.requests import Call, call
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.security_options import SecurityOptions
from tests.fakes.registry import Received, Reply, registry
from tests.secret_check import PASSWORD

GET = Call("GET", "/x?y=1", "the thing")


def config_of(*urls: str, **options: str) -> RegistryConfig:
    quick = {"max.retries": "2", "retries.wait.ms": "1", "http.read.timeout.ms": "5000"}
    more = {name.replace("__", "."): value for name, value in options.items()}
    return RegistryConfig.from_options({"url": ",".join(urls)} | quick | more)


def refused(*urls: str, **options: str) -> RegistryError:
    with pytest.raises(RegistryError) as caught:
        call(config_of(*urls, **options), GET)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    return caught.value


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_request_and_its_response() -> None:
    with registry(lambda _request: Reply(values={"a": [1]})) as fake:
        wanted = Call("POST", "/subjects/a%2Fb", "it", {"schema": "ä"})
        assert call(config_of(f"{fake.url}/base"), wanted) == {"a": [1]}
    (received,) = fake.received
    assert (received.method, received.path) == ("POST", "/base/subjects/a%2Fb")
    assert received.body == {"schema": "ä"}
    assert received.headers["Content-Type"] == "application/vnd.schemaregistry.v1+json"
    assert "Authorization" not in received.headers


@pytest.mark.parametrize(
    ("options", "authorization"),
    [
        (
            {"basic__auth__user__info": f"me:{PASSWORD}"},
            "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode(),
        ),
        ({"bearer__auth__token": PASSWORD}, f"Bearer {PASSWORD}"),
    ],
)
def test_credentials_are_sent(options: dict[str, str], authorization: str) -> None:
    with registry(lambda _request: Reply(values={})) as fake:
        call(config_of(fake.url, **options), GET)
    assert fake.received[0].headers["Authorization"] == authorization


def test_a_cluster_and_an_identity_pool_are_named() -> None:
    named = {"bearer__auth__logical__cluster": "lsrc-1", "bearer__auth__identity__pool__id": "p-2"}
    with registry(lambda _request: Reply(values={})) as fake:
        call(config_of(fake.url, **named), GET)
    assert fake.received[0].headers["target-sr-cluster"] == "lsrc-1"
    assert fake.received[0].headers["Confluent-Identity-Pool-Id"] == "p-2"


def test_a_refused_token_is_requested_anew_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter(["old", "new", "newer"])
    current: list[str] = []

    def token_for(_security: SecurityOptions, _deadline: object) -> Secret:
        current[:] = current or [next(tokens)]
        return Secret(current[0])

    monkeypatch.setattr(requests, "token_for", token_for)
    monkeypatch.setattr(requests, "forget_token", lambda _security: current.clear())

    def respond(request: Received) -> Reply:
        return Reply(values={}) if request.headers["Authorization"].endswith("new") else Reply(401)

    oauth = {
        "bearer__auth__issuer__endpoint__url": "http://idp",
        "bearer__auth__client__id": "me",
        "bearer__auth__client__secret": PASSWORD,
    }
    with registry(respond) as fake:
        assert call(config_of(fake.url, **oauth), GET) == {}
        assert len(fake.received) == 2
        fake.respond = lambda _request: Reply(401, {"error_code": 401})
        assert "status 401" in str(refused(fake.url, **oauth))
        assert len(fake.received) == 4


def test_fail_over_to_the_next_address() -> None:
    with registry(lambda _request: Reply(503)) as down:
        with registry(lambda _request: Reply(values=[1])) as up:
            assert call(config_of(closed_port(), down.url, up.url), GET) == [1]
    assert len(down.received) == len(up.received) == 1


def test_retries_end() -> None:
    with registry(lambda _request: Reply(503, {"error_code": 50001, "message": "busy"})) as fake:
        error = refused(fake.url)
    assert len(fake.received) == 3
    assert str(error) == (
        f"The schema registry at {fake.url} responded to the request for the thing with status "
        "503, error 50001: busy (after 2 retries)"
    )
    assert error.retriable


def test_a_retry_can_succeed() -> None:
    replies = iter([Reply(500), Reply(429), Reply(values={"ok": 1})])
    with registry(lambda _request: next(replies)) as fake:
        assert call(config_of(fake.url), GET) == {"ok": 1}


def test_back_off_grows_with_jitter_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(requests, "sleep_ms", slept.append)
    config = {"retries__wait__ms": "100", "retries__max__wait__ms": "300", "max__retries": "4"}
    refused(closed_port(), **config)
    for pause, middle in zip(slept, [100, 200, 300, 300], strict=True):
        assert 0.8 * middle <= pause <= 1.2 * middle


def test_nothing_listens() -> None:
    url = closed_port()
    error = refused(url)
    assert str(error).startswith(f"The schema registry at {url} cannot be asked for the thing: ")
    assert "connection refused" in str(error)


def test_fault_63_a_registry_that_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        error = refused(url, http__read__timeout__ms="50", max__retries="1")
    assert "cannot be asked for the thing" in str(error)


@pytest.mark.parametrize("code", [40401, 40402, 40403])
def test_what_does_not_exist(code: int) -> None:
    with registry(lambda _request: Reply(404, {"error_code": code, "message": "no"})) as fake:
        error = refused(fake.url)
    assert isinstance(error, NotFoundError)
    assert str(error) == f"The schema registry at {fake.url} does not have the thing (error {code})"


REFUSALS = {
    401: "check schema.registry.basic.auth.user.info",
    403: "the user may not do this",
    404: "check the path in schema.registry.url",
    409: "not compatible",
    422: "takes the schema for invalid",
}


@pytest.mark.parametrize("status", REFUSALS)
def test_refusals_are_not_repeated_and_say_what_to_do(status: int) -> None:
    with registry(lambda _request: Reply(status, {"message": "because\n\x1b"})) as fake:
        error = refused(fake.url)
    assert len(fake.received) == 1
    assert f"with status {status}, because??" in str(error)
    assert REFUSALS[status] in str(error)
    assert not isinstance(error, NotFoundError)


@pytest.mark.parametrize(
    "body", [b"<html>login</html>", b"", b"\xff\xfe", b"{", b"[" * 100_000, b"null"]
)
@pytest.mark.parametrize("status", [200, 404])
def test_fault_63_html_and_nonsense(body: bytes, status: int) -> None:
    reply = Reply(status, body=body, headers={"Content-Type": "text/html"})
    with registry(lambda _request: reply) as fake:
        error = refused(fake.url)
    assert f"with status {status}, with a body that is no JSON (content type text/html)" in str(
        error
    )
    assert len(str(error)) < 600
    assert not isinstance(error, NotFoundError)


def test_secrets_that_a_server_repeats_are_hidden() -> None:
    info = f"me:{PASSWORD}"
    for body in (json.dumps({"message": f"{info} {PASSWORD}"}).encode(), PASSWORD.encode()):
        with registry(lambda _request, body=body: Reply(403, body=body)) as fake:  # type: ignore[misc]
            assert "***" in str(refused(fake.url, basic__auth__user__info=info))


def test_redirects_on_the_same_server_are_followed() -> None:
    def respond(request: Received) -> Reply:
        if request.path == "/moved?z=1":
            return Reply(values={"ok": 1})
        return Reply(307, headers={"Location": "/moved?z=1"})

    with registry(respond) as fake:
        assert call(config_of(fake.url), GET) == {"ok": 1}


def test_redirects_to_other_servers_are_refused() -> None:
    with registry(lambda _request: Reply(values={})) as other:
        moved = Reply(302, headers={"Location": f"{other.url}/login?token={PASSWORD}"})
        with registry(lambda _request: moved) as fake:
            error = refused(fake.url, basic__auth__user__info=f"me:{PASSWORD}")
    assert other.received == []
    assert len(fake.received) == 1
    assert "redirects the thing to another server, '127.0.0.1', which is not followed" in str(error)


@pytest.mark.parametrize("location", ["http://[", "//[::1", "ftp://x/y", "http://127.0.0.1:x/"])
def test_fault_63_redirects_to_no_address(location: str) -> None:
    with registry(lambda _request: Reply(302, headers={"Location": location})) as fake:
        assert "to another server" in str(refused(fake.url))
    assert len(fake.received) == 1


def test_endless_redirects_end() -> None:
    with registry(lambda _request: Reply(301, headers={"Location": "/x"})) as fake:
        error = refused(fake.url)
    assert len(fake.received) == 4
    assert "redirects the thing again and again" in str(error)


def test_a_schema_of_a_megabyte() -> None:
    text = "x" * 1_000_000
    with registry(lambda _request: Reply(values={"schema": text})) as fake:
        assert call(config_of(fake.url), GET) == {"schema": text}


def test_fault_63_a_response_without_end() -> None:
    with registry(lambda _request: Reply(body=b" " * (17 * 1024 * 1024))) as fake:
        assert "longer than 16777216 bytes" in str(refused(fake.url))


def test_threads_do_not_share_a_connection() -> None:
    found: list[Any] = []
    with registry(lambda request: Reply(values=request.path)) as fake:
        config = config_of(fake.url)

        def run(number: int) -> None:
            path = f"/{number}"
            found.append(call(config, Call("GET", path, "it")) == path)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert found == [True] * 8
