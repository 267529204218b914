"""Names that topics can have, and others."""

from __future__ import annotations

import pytest

from kafka_protocol.options.topic_names import check_topic_name, is_topic_name
from tests.config_error import config_error


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "...", "x" * 249, "__consumer_offsets"])
def test_names(name: str) -> None:
    assert is_topic_name(name)
    check_topic_name("topic", name)


@pytest.mark.parametrize("name", ["", ".", "..", "my topic", "a\n", "a/b", "t\u00e9", "x" * 250])
def test_names_that_no_broker_accepts(name: str) -> None:
    assert not is_topic_name(name)
    assert "brokers accept 1 to 249 letters" in config_error(check_topic_name, "topic", name)


def test_an_error_quotes_the_beginning_of_a_long_name() -> None:
    error = config_error(check_topic_name, "subscribe", "x" * 300)
    assert error.startswith(f"Option 'subscribe' names the topic '{'x' * 60}...' (300 characters)")
