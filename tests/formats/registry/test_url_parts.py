"""The URLs of registries: accepted, refused, and where a redirect leads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.registry.url_parts import Url, parse_url, redirect_target, without_query


@pytest.mark.parametrize(
    ("text", "plain", "user_info"),
    [
        ("http://a", "http://a", None),
        ("HTTPS://A:8081/", "https://A:8081", None),
        ("https://a/apis/ccompat/v7/", "https://a/apis/ccompat/v7", None),
        ("http://u:p%40%2F@a:1/x", "http://a:1/x", "u:p@/"),
        ("http://u:p@q@a", "http://a", "u:p@q"),
        ("http://@a", "http://a", ""),
        ("http://[::1]:8081/x", "http://[::1]:8081/x", None),
    ],
)
def test_urls(text: str, plain: str, user_info: str | None) -> None:
    assert parse_url(text) == Url(plain, user_info)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "a:8081",
            "ftp://a",
            "http://",
            "http:///x",
            "http://a:0",
            "http://a:x",
            "http://[::1",
        ),
        *("http://a?b", "http://a/#", "http://a/?", "http://a b", "http://a\n", "http://é"),
    ],
)
def test_refused_urls(text: str) -> None:
    with pytest.raises(ValueError, match=r"^it (is not https|has a query)|^Invalid IPv6|^Port"):
        parse_url(text)


@given(st.text(max_size=30))
def test_an_accepted_url_has_no_user_and_is_ascii(text: str) -> None:
    try:
        url = parse_url(f"http://{text}")
    except ValueError:
        return
    assert "@" not in url.text.removeprefix("http://").split("/")[0]
    assert url.text.isascii()
    assert url.text.isprintable()
    assert parse_url(url.text) == Url(url.text, None)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/y", "http://a:8081/y"),
        ("y?z#part", "http://a:8081/x/y?z"),
        ("http://A:8081/y", "http://A:8081/y"),
        ("//a:8081/y", "http://a:8081/y"),
        ("https://a:8081/y", None),
        ("http://a/y", None),
        ("http://b:8081/y", None),
        ("http://u@a:8081/y", None),
    ],
)
def test_a_redirect_is_followed_to_the_same_server(location: str, target: str | None) -> None:
    assert redirect_target("http://a:8081/x/x", location) == target


def test_default_ports_are_the_same_server() -> None:
    assert redirect_target("https://a/x", "https://a:443/y") == "https://a:443/y"
    assert redirect_target("http://a:80/x", "http://a/y") == "http://a/y"


@pytest.mark.parametrize("location", ["file:///etc", "http://[", "/é", "/a b", "http://a:99999"])
def test_locations_that_are_no_url(location: str) -> None:
    with pytest.raises(ValueError, match=r"^it is not|^Invalid IPv6|^Port"):
        redirect_target("http://a/x", location)


def test_the_target_of_a_redirect_is_shown_without_user_and_query() -> None:
    assert without_query("http://a", "https://u:p@b:1/login?token=t") == "https://b:1/login"
