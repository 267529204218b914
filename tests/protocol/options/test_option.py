"""An option finds its value among those that are given."""

from __future__ import annotations

import pytest

from kafka_protocol.options.option import Option


def parse(name: str, text: str) -> tuple[str, str]:
    return name, text.upper()


OPTION = Option("maxSize", parse, default="one")


def test_names_are_matched_without_case() -> None:
    assert OPTION.value_in({"maxsize": "two"}) == ("maxSize", "TWO")
    assert OPTION.value_if_in({"maxsize": "two"}) == ("maxSize", "TWO")


def test_the_default_is_parsed_as_a_given_text() -> None:
    assert OPTION.value_in({}) == ("maxSize", "ONE")
    assert OPTION.value_if_in({}) is None


def test_without_a_default_a_value_is_required() -> None:
    with pytest.raises(KeyError):
        Option("maxSize", parse).value_in({})


def test_a_description_changes_nothing_else() -> None:
    described = OPTION.about("How large.")
    assert (described.doc, described.value_in({})) == ("How large.", OPTION.value_in({}))


def test_the_first_name_is_kafkas_own() -> None:
    assert Option("a.b", parse, aliases=("ab",)).names == ("a.b", "ab")
