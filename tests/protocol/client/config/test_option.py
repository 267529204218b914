"""Declaring options, and reading them from text."""

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

NOT_NUMBERS = (
    *("", " ", "\t\n", "-", "1.5", "1e3", "0x10", "1_000", "1 000", "\u0663", "all"),
    "9" * 5_000,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    size: int = option("max.size", integer(1, 9), 5, "A size.", ("size.max", "size"))
    password: Secret | None = option("password", Secret, None, "A password.")
    inner: str = "not an option"


def test_name_and_aliases_set_the_same_field() -> None:
    assert list(declared_in(Table)) == ["max.size", "size.max", "size", "password"]
    for name in ("max.size", "size.max", "size"):
        assert read_options(Table, {name: " 7 "}) == {"size": 7}


def test_defaults() -> None:
    assert Table(**read_options(Table, {})) == Table()


def test_errors_show_another_prefix() -> None:
    for options, start in (
        ({"size": "10"}, "Option 'registry.size' has the value '10'"),
        ({"size": "1", "max.size": "1"}, "Options 'registry.size' and 'registry.max.size' are two"),
    ):
        with pytest.raises(KafkaConfigError) as caught:
            read_options(Table, options, "registry.")
        assert str(caught.value).startswith(start)


def test_a_secret_is_not_shown() -> None:
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
    ids=["integer", "true", "false", "one of", "empty", "only"],
)
def test_values_match_without_case_or_spaces(parse: Any, text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (integer(0), "-1"),
        (integer(0), "2147483648"),
        *((integer(0), text) for text in NOT_NUMBERS),
        (boolean, "yes"),
        (one_of("a", "b"), "c"),
        (only("all"), "1"),
    ],
)
def test_refused_values(parse: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)
