"""How options are declared, and read from text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.option import (
    boolean,
    declared_in,
    integer,
    one_of,
    only,
    option,
    read_options,
)
from kafka_protocol.errors import KafkaConfigError
from tests.secret_check import PASSWORD


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    size: int = option("max.size", integer(1, 9), 5, "How much.", ("size.max", "size"))
    password: Secret | None = option("password", Secret, None, "Who knows.")
    inner: str = "no option"


def test_names_and_aliases_lead_to_the_same_field() -> None:
    assert list(declared_in(Table)) == ["max.size", "size.max", "size", "password"]
    for name in ("max.size", "size.max", "size"):
        assert read_options(Table, {name: " 7 "}) == {"size": 7}


def test_nothing_given_leaves_the_defaults() -> None:
    assert Table(**read_options(Table, {})) == Table()


def test_two_names_for_one_option() -> None:
    with pytest.raises(KafkaConfigError, match=r"^Options 'kafka\.size' and 'kafka\.max\.size'"):
        read_options(Table, {"size": "1", "max.size": "1"})


def test_a_bad_value_is_shown() -> None:
    with pytest.raises(
        KafkaConfigError, match=r"^Option 'kafka\.size' has the value '10': it must be from 1 to 9"
    ):
        read_options(Table, {"size": "10"})


def test_a_secret_is_not() -> None:
    values = read_options(Table, {"password": PASSWORD})
    assert values["password"].reveal() == PASSWORD
    assert PASSWORD not in repr(Table(**values))


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (integer(0), " 0", 0),
        (boolean, " True ", True),
        (boolean, "false", False),
        (one_of("https", ""), "HTTPS", "https"),
        (one_of("https", ""), " ", ""),
        (only("all", "-1"), "-1", "all"),
    ],
)
def test_words_are_matched_without_case_or_spaces(parse: Any, text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (integer(0), "-1"),
        (integer(0), "2147483648"),
        (integer(0), "1.5"),
        (boolean, "yes"),
        (one_of("a", "b"), "c"),
        (only("all"), "1"),
    ],
)
def test_what_does_not_fit(parse: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)
