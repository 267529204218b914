"""Errors from responses: what they say, and that they stay short whatever the body is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import NotFoundError
from kafka_formats.registry.refusals import Reply, refusal, unusable
from kafka_protocol.client.network.http_request import HttpResponse

URL = "http://a/subjects/s?token=t"


def reply(status: int, body: bytes, content_type: str = "text/html") -> Reply:
    return Reply(URL, HttpResponse(status, body, content_type))


def test_a_refusal_says_what_where_why_and_what_to_do() -> None:
    body = json.dumps({"error_code": 40301, "message": "no\nright"}).encode()
    assert str(refusal("subject 's'", reply(403, body), str)) == (
        "subject 's': http://a/subjects/s responded with 403 (error code 40301: no?right); grant "
        "this client the right to do this in the registry"
    )


def test_a_body_that_is_no_error_is_shown_with_its_type() -> None:
    assert str(refusal("subject 's'", reply(418, b"<teapot>"), str)) == (
        "subject 's': http://a/subjects/s responded with 418 (text/html: '<teapot>'); check the "
        "path in schema.registry.url: Apicurio's is /apis/ccompat/v7, Confluent's is empty"
    )


@pytest.mark.parametrize(
    ("status", "is_retriable"),
    [(200, False), (401, False), (404, False), (408, True), (429, True), (500, True), (599, True)],
)
def test_which_statuses_may_pass(status: int, is_retriable: bool) -> None:
    assert reply(status, b"").is_retriable == is_retriable


@given(st.integers(100, 599), st.binary(max_size=2_000) | st.text().map(str.encode), st.text())
def test_any_response_makes_a_short_and_printable_error(
    status: int, body: bytes, content_type: str
) -> None:
    for error in (
        refusal("x", reply(status, body, content_type), str),
        unusable("x", reply(status, body, content_type), "it is not JSON", str),
    ):
        assert str(error).isprintable()
        assert len(str(error)) < 700
        assert "token=t" not in str(error)
        assert not isinstance(error, NotFoundError)
