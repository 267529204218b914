from __future__ import annotations

import pytest

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.strategies import (
    Assign,
    Strategy,
    Subscribe,
    SubscribePattern,
    names_of,
    parse_assign,
    parse_subscribe,
    parse_subscribe_pattern,
)
from tests.config_error import config_error


@pytest.mark.parametrize(
    ("text", "topics"),
    [("t", ("t",)), (" b , a,,", ("b", "a")), ("a,b,a", ("a", "b")), ("A,a", ("A", "a"))],
)
def test_topics_are_split_at_commas(text: str, topics: tuple[str, ...]) -> None:
    assert parse_subscribe("subscribe", text) == Subscribe(topics)


@pytest.mark.parametrize("text", ["", " ", ",", " , ,"])
def test_no_topics_are_refused(text: str) -> None:
    assert config_error(parse_subscribe, "subscribe", text) == (
        f"No topics to subscribe to as specified value for option 'subscribe' is '{text}': name at "
        "least one topic, several with commas between them."
    )


@pytest.mark.parametrize(
    ("pattern", "topic", "is_match"),
    [
        ("top", "my-topic", True),
        (" top ", "my-topic", True),
        ("^top", "my-topic", False),
        ("topic-[0-9]+$", "topic-12", True),
        ("topic-[0-9]+$", "topic-12b", False),
        ("TOP", "topic", False),
        (r"a\.b", "aXb", False),
        (r"\[|x", "x", True),
        (r"[a\]b]{3}", "ab", False),
        ("[^x]&&|[ab]", "b", True),
    ],
)
def test_a_pattern_is_searched_for(pattern: str, topic: str, is_match: bool) -> None:
    assert parse_subscribe_pattern("subscribePattern", pattern).matches(topic) is is_match


def test_a_pattern_is_kept_trimmed() -> None:
    assert parse_subscribe_pattern("subscribePattern", " a.* ") == SubscribePattern("a.*")


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_pattern_is_refused(text: str) -> None:
    assert config_error(parse_subscribe_pattern, "subscribePattern", text) == (
        "Pattern to subscribe is empty as specified value for option 'subscribePattern' is "
        f"'{text}': write a regular expression, for example orders-.*"
    )


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a(b", "missing ), unterminated subpattern at position 1"),
        ("*", "nothing to repeat at position 0"),
        (r"\p{Alpha}+", r"bad escape \p at position 0"),
        (r"\Qa.b\E", r"bad escape \Q at position 0"),
        ("(?<name>a)", "unknown extension ?<n at position 1"),
        ("[a-z&&[^b]]", "a character class holds another one or &&"),
        ("[a-c[x-z]]", "a character class holds another one or &&"),
        ("[[:alpha:]]", "a character class holds another one or &&"),
        ("[a--b]", "Possible set difference at position 2"),
        ("a{4294967296}", "the repetition number is too large"),
    ],
)
def test_a_pattern_with_another_meaning_in_python_is_refused(pattern: str, reason: str) -> None:
    assert config_error(parse_subscribe_pattern, "subscribePattern", pattern) == (
        "Option 'subscribePattern' must be a regular expression that Python's re module "
        f"understands, got '{pattern}': {reason}. (Syntax that only Java has, such as "
        r"\p{Alpha}, (?<name>...) or [a-z&&[^b]], must be written differently.)"
    )


def test_partitions_are_assigned() -> None:
    partitions = (TopicPartition("t", 0), TopicPartition("t", 1))
    assert parse_assign("assign", '{"t":[1,0]}') == Assign(partitions)


@pytest.mark.parametrize(
    ("strategy", "names"),
    [
        (Subscribe(("b", "a")), ["a", "b"]),
        (SubscribePattern("a.*"), ["a.*"]),
        (parse_assign("assign", '{"b":[0],"a":[1,0]}'), ["a", "b"]),
    ],
    ids=["subscribe", "subscribePattern", "assign"],
)
def test_topic_names_of_a_strategy(strategy: Strategy, names: list[str]) -> None:
    assert names_of(strategy) == names
