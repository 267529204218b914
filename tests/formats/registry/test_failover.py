"""Requests to a registry that is down, slow, moved or not one: fail-over, retries and errors."""

from __future__ import annotations

import json
import socket
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.config import REGISTRY, RegistryConfig
from kafka_formats.registry.failover import Call, Exchange
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.errors import KafkaConfigError
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.tls import authority_pem, certificate, foreign_server, server_context
from tests.formats.registry.server import (
    FakeRegistry,
    Reply,
    config_of,
    error,
    hang,
    nowhere,
    ok,
    response,
    running,
    trickle,
)
from tests.secret_check import PASSWORD

PATH = "/schemas/ids/7"
CALL = Call("schema id 7", PATH)
HTML = response(200, b"<html>\x1b[31m" + b"x" * 500)


def response_to(*urls: str, call: Call = CALL, **values: Any) -> Any:
    return Exchange(config_of(*urls, **values)).response_to(call, lambda value: value)


def failure(*urls: str, call: Call = CALL, **values: Any) -> str:
    """The text of the RegistryError, which has no secret and nothing that is not printable."""
    with pytest.raises(RegistryError) as caught:
        response_to(*urls, call=call, **values)
    assert not isinstance(caught.value, NotFoundError)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    assert str(caught.value).isprintable()
    assert str(caught.value).startswith("schema id 7: ")
    return str(caught.value)


def half_a_response(sock: socket.socket) -> None:
    sock.sendall(ok({"a": "b" * 100})[:-10])


def half_a_chunk(sock: socket.socket) -> None:
    sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc")


def nothing(sock: socket.socket) -> None:
    """Close without a response."""


def test_the_requests() -> None:
    with running() as registry:
        registry.on(PATH, ok({"a": 1}))
        assert response_to(registry.url) == {"a": 1}
        assert response_to(registry.url, call=CALL._replace(body={"é": None})) == {"a": 1}
    get, post = registry.requests
    assert (get.method, get.body) == ("GET", "")
    assert "content-type" not in get.headers
    assert (post.method, post.body) == ("POST", {"é": None})
    assert post.headers["content-type"] == "application/vnd.schemaregistry.v1+json"
    assert "authorization" not in post.headers


def test_the_path_of_a_url_is_kept() -> None:
    with running() as registry:
        registry.on(f"/apis/ccompat/v7{PATH}", ok([]))
        assert response_to(f"{registry.url}/apis/ccompat/v7") == []


def test_a_schema_of_many_megabytes() -> None:
    text = "x" * (15 * 1024 * 1024)
    with running() as registry:
        registry.on(PATH, ok(text))
        assert response_to(registry.url) == text


@pytest.mark.parametrize(
    "fault",
    [half_a_response, half_a_chunk, nothing, b"SSH-2.0\r\n"]
    + [error(status, status) for status in (408, 429, 500, 502, 503, 504)],
    ids=["half", "half a chunk", "closed", "SSH", "408", "429", "500", "502", "503", "504"],
)
def test_a_fault_that_may_pass_is_retried(fault: Reply) -> None:
    with running() as registry:
        registry.on(PATH, fault, fault, ok({}))
        assert response_to(registry.url) == {}
        assert len(registry.requests) == 3


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (half_a_response, "closed the connection in the middle of its response"),
        (nothing, "is not HTTP: RemoteDisconnected"),
        (error(503, 50301, "no leader"), "responded with 503 (error code 50301: no leader)"),
        (response(502, b"<html>proxy"), "responded with 502 (text/html: '<html>proxy')"),
    ],
    ids=["half", "closed", "503", "proxy"],
)
def test_retries_end_with_the_reason(fault: Reply, reason: str) -> None:
    with running() as registry:
        registry.on(PATH, fault)
        text = failure(registry.url, max_retries=2)
        assert len(registry.requests) == 3
    assert "no usable response of the registry (tries: 3): " in text
    assert reason in text
    assert registry.url in text
    assert "Check schema.registry.url" in text


def test_a_registry_that_is_down() -> None:
    url = nowhere()
    text = failure(url, max_retries=1)
    assert f"(tries: 2): {url}: 127.0.0.1:" in text
    assert "connection refused" in text


@pytest.mark.parametrize("fault", [hang, trickle])
def test_fault_63_a_slow_registry_is_given_up(fault: Callable[[socket.socket], None]) -> None:
    with running() as registry:
        registry.on(PATH, fault)
        text = failure(registry.url, max_retries=0, request_timeout_ms=200)
    assert "the time to read from localhost:" in text


def test_several_slow_urls_take_no_longer_than_one() -> None:
    with running() as registry:
        registry.on(PATH, hang)
        urls = [f"{registry.url}{path}" for path in ("", "/a", "/b", "/c")]
        for path in ("/a", "/b", "/c"):
            registry.on(path + PATH, hang)
        text = failure(*urls, max_retries=3, request_timeout_ms=100)
    # A round takes as long as all four tries of one URL.
    assert "(tries: 1)" in text or "(tries: 2)" in text


def test_pauses_double_up_to_their_maximum() -> None:
    with sleeps_take_no_time() as skipped:
        failure(nowhere(), max_retries=5, retries_wait_ms=100, retries_max_wait_ms=500)
    expected = (100, 200, 400, 500, 500)
    pauses = skipped.pauses_ms
    assert all(0.8 * e <= p <= 1.2 * e for p, e in zip(pauses, expected, strict=True))
    assert len(set(pauses[3:])) == 2, "they have jitter"


def test_the_next_url_is_used_and_remembered() -> None:
    with running() as broken, running() as good:
        broken.on(PATH, error(500, 50001))
        good.on(PATH, ok(1))
        conversation = Exchange(config_of(nowhere(), broken.url, good.url))
        for _ in range(2):
            assert conversation.response_to(CALL, lambda value: value) == 1
        assert (len(broken.requests), len(good.requests)) == (1, 2)
        good.on(PATH, error(503, 50301))
        broken.on(PATH, ok(2))
        assert conversation.response_to(CALL, lambda value: value) == 2


def test_all_urls_are_named_if_none_responds() -> None:
    urls = nowhere(), nowhere()
    text = failure(*urls, max_retries=0)
    assert all(url in text for url in urls)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (HTML, f"it is not JSON (text/html: '<html>?[31m{'x' * 89}...')"),
        (response(200, b"", "a/b\tc"), "it is not JSON (a/b?c: '')"),
        (response(200, b"[" * 100_000, ""), "it is not JSON (no content type: '[[["),
        (response(204, b""), "responded with 204 (text/html: '')"),
        (response(303, b"", location="/x"), "responded with 303"),
        (error(401, 401), "responded with 401 (error code 401: no); check schema.registry.basic.a"),
        (error(403, 40301), "403 (error code 40301: no); grant this client the right"),
        (error(404, 404), "404 (error code 404: no); check the path in schema.registry.url"),
        (error(409, 409, "a\nb" * 100), "409: a?ba?b"),
        (error(422, 42201), "error code 42201: no); the registry does not accept this schema"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + bytes(16 * 2**20 + 1),
            "longer t",
        ),
    ],
    ids=[
        *("HTML", "empty", "nested", "204", "303", "401", "403", "404", "409", "422", "too long"),
    ],
)
def test_fault_63_what_no_retry_changes_is_an_error_at_once(reply: bytes, reason: str) -> None:
    with running() as registry:
        registry.on(PATH, reply)
        text = failure(registry.url, nowhere())
        assert len(registry.requests) == 1
        assert registry.url in text
    assert reason in text
    assert len(text) < 1_000


@pytest.mark.parametrize("code", [40401, 40402, 40403])
def test_what_does_not_exist_is_an_error_of_its_own(code: int) -> None:
    with running() as registry:
        registry.on(PATH, error(404, code, "gone"))
        with pytest.raises(NotFoundError, match=rf"^schema id 7: .*error code {code}: gone\); "):
            response_to(registry.url)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_the_same_server_keeps_the_request(status: int) -> None:
    with running() as registry:
        registry.on(PATH, response(status, b"", location="/new?x=1"))
        registry.on("/new?x=1", ok({}))
        call = CALL._replace(body=[1])
        assert response_to(registry.url, call=call, user_info=Secret("u:p")) == {}
    assert [request.body for request in registry.requests] == [[1], [1]]
    assert len({request.headers["authorization"] for request in registry.requests}) == 1


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("https://idp/login?token=t", "redirects to https://idp/login, and"),
        (f"http://u:{PASSWORD}@x/", "redirects to http://x/, and"),
        (f"http://x/{PASSWORD}", "redirects to http://x/***, and"),
        ("http://[", "redirects to http://[, and"),
        ("", "redirects to nowhere, and"),
    ],
)
def test_a_redirect_to_another_server_is_not_followed(location: str, place: str) -> None:
    with running() as registry:
        registry.on(PATH, response(302, b"", location=location))
        text = failure(registry.url, user_info=Secret(f"u:{PASSWORD}"))
        assert len(registry.requests) == 1
    assert place in text
    assert "token=t" not in text


def test_redirects_without_end() -> None:
    with running() as registry:
        registry.on(PATH, response(302, b"", location=f"{PATH}?a=1"))
        registry.on(f"{PATH}?a=1", response(302, b"", location=f"{PATH}?a=1"))
        text = failure(registry.url)
        assert len(registry.requests) == 4
    assert f"more than 3 redirects, the last one to {registry.url}{PATH};" in text


def test_a_server_that_repeats_the_credentials() -> None:
    info = f"u:{PASSWORD}"

    def reply(registry: FakeRegistry) -> Callable[[socket.socket], None]:
        def send(sock: socket.socket) -> None:
            repeated = f"{json.dumps(registry.requests[-1].headers)} {info} {PASSWORD}"
            sock.sendall(response(200, repeated[-90:].encode(), PASSWORD))

        return send

    with running() as registry:
        registry.on(PATH, reply(registry))
        assert "***" in failure(registry.url, user_info=Secret(info))
        registry.on(PATH, error(403, 403, f"not for {PASSWORD}"))
        assert "not for ***" in failure(
            registry.url, bearer_source="STATIC_TOKEN", bearer_token=(Secret(PASSWORD))
        )


def test_over_tls(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(authority_pem())
    with running(server_context()) as registry:
        registry.on(PATH, ok({}))
        options = {"url": registry.url, "ssl.truststore.location": str(tmp_path / "ca.pem")}
        trusting = RegistryConfig.from_options(options)
        assert Exchange(trusting).response_to(CALL, lambda value: value) == {}
        text = failure(registry.url)
    assert "set schema.registry.ssl.truststore.location (or .certificates)" in text
    assert "kafka." not in text


def test_a_certificate_of_another_host() -> None:
    with running(server_context(certificate("other"))) as registry:
        tls = SecurityOptions(server=REGISTRY, truststore_certificates=authority_pem())
        text = failure(registry.url, tls=tls)
    assert "see schema.registry.ssl.endpoint.identification.algorithm" in text


def test_a_server_without_tls() -> None:
    with foreign_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        text = failure(f"https://{address}", max_retries=0)
    assert "it does not speak TLS" in text
    assert "use http in the URL" in text


def test_files_of_tls_that_cannot_be_used(tmp_path: Path) -> None:
    tls = SecurityOptions(server=REGISTRY, truststore_location=str(tmp_path / "missing.pem"))
    with running(server_context()) as registry:
        with pytest.raises(
            KafkaConfigError, match=r"'schema\.registry\.ssl\.truststore\.location'"
        ):
            response_to(registry.url, tls=tls)
