"""The path of a field in an error."""

from __future__ import annotations

import pytest

from kafka_formats.errors import PayloadError, about, named, path_of


@pytest.mark.parametrize(
    ("outer", "inner", "path"),
    [
        ("", "", ""),
        ("lines", "", "lines"),
        ("", "lines", "lines"),
        ("lines", "price", "lines.price"),
        ("lines", "[]", "lines[]"),
        ("lines", "[].price", "lines[].price"),
        ("lines[]", "price", "lines[].price"),
        ("by_name", "{}", "by_name{}"),
        ("", "{}[]", "{}[]"),
    ],
)
def test_paths(outer: str, inner: str, path: str) -> None:
    assert path_of(outer, inner) == path


def test_an_error_goes_outward() -> None:
    error = PayloadError("", "it is not a number").within("price").within("[]").within("lines")
    assert (error.field, error.reason) == ("lines[].price", "it is not a number")
    assert str(error) == "lines[].price: it is not a number"


def test_a_sentence_names_the_field_or_the_whole() -> None:
    assert named("lines[].price") == "the field 'lines[].price'"
    assert named("") == "the payload"
    assert named("", "the type") == "the type"
    assert about("lines", "JSON has no type") == "the field 'lines': JSON has no type"
    assert about("", "JSON has no type") == "JSON has no type"
