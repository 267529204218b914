"""The names of tables: hostile topics, names that two topics would share, and functions that fail.

Nothing of a topic's name reaches SQL unquoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import example, given

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.names import MAX_PART, Names, name_of, parse_table
from tests.hostile.names import HOSTILE_NAMES, hostile_names

LONGEST_TOPIC = "a" * 249


def names(table: object = "lake.shop.{topic}") -> Names:
    return Names(parse_table(table))


@pytest.mark.parametrize(
    ("table", "topic", "name"),
    [
        ("{topic}", "orders", "`orders`"),
        ("lake.shop.{topic}", "orders", "`lake`.`shop`.`orders`"),
        ("lake.shop.{topic}", "eu.orders-v2", "`lake`.`shop`.`eu_orders_v2`"),
        ("lake.{topic}.raw_{topic}", "a-b", "`lake`.`a_b`.`raw_a_b`"),
        ("a.b.c.{topic}", "Orders", "`a`.`b`.`c`.`Orders`"),
        ("{topic}", "__consumer_offsets", "`__consumer_offsets`"),
        ("{topic}", "2024", "`2024`"),
        ("lake.{topic}", "{topic}", "`lake`.`_topic_`"),
        ("lake.{topic}", "été", "`lake`.`_t_`"),
        (str.upper, "orders", "`ORDERS`"),
        (lambda topic: f"lake.{topic[:2]}", "orders", "`lake`.`or`"),
    ],
)
def test_the_name_of_a_topics_table(table: object, topic: str, name: str) -> None:
    assert names(table).of(topic) == name


def both(topic: str, record_type: str) -> str:
    return f"lake.{topic}_{record_type.rpartition('.')[2]}"


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("lake.{topic}_{type}", "`lake`.`shop_com_x_Order`"),
        ("lake.{type}", "`lake`.`com_x_Order`"),
        (both, "`lake`.`shop_Order`"),
    ],
)
def test_the_name_of_a_record_types_table(table: object, name: str) -> None:
    assert parse_table(table).has_types
    assert names(table).of("shop", "com.x.Order") == name


def test_which_functions_take_record_types() -> None:
    functions = {str.upper: False, str: False, both: True, (lambda t, n=1: t): False}
    for each, has_types in functions.items():
        assert parse_table(each).has_types is has_types


def test_record_types_that_would_share_a_table() -> None:
    made = names("lake.{topic}_{type}")
    made.of("shop", "a.b")
    with pytest.raises(TableError, match=r"topics shop:a\.b and shop:a-b would both be"):
        made.of("shop", "a-b")
    with pytest.raises(TableError, match="would both be the table"):
        made.of("shop_a", "b")


@given(hostile_names(), hostile_names())
def test_a_record_type_fills_a_part_of_such_characters_too(topic: str, record_type: str) -> None:
    try:
        name = names("lake.{topic}.{type}").of(topic, record_type)
    except TableError as error:
        assert not (topic and record_type) or len(topic + record_type) > MAX_PART, error
        return
    assert re.fullmatch(r"`lake`\.`[A-Za-z0-9_]+`\.`[A-Za-z0-9_]+`", name)


@given(hostile_names())
@example("a`.`b")
@example("orders\n")
@example("x; DROP TABLE y")
def test_a_topic_fills_one_part_of_letters_digits_and_underscores(topic: str) -> None:
    try:
        name = names("lake.shop.{topic}").of(topic)
    except TableError as error:
        assert not topic or len(topic) > MAX_PART, error
        return
    assert re.fullmatch(r"`lake`\.`shop`\.`[A-Za-z0-9_]+`", name)
    assert len(name) == len("`lake`.`shop`.``") + len(topic)


def test_the_longest_topic_has_a_table() -> None:
    assert names("lake.raw_{topic}").of(LONGEST_TOPIC) == f"`lake`.`raw_{LONGEST_TOPIC}`"
    assert name_of("a" * MAX_PART, "t") == f"`{'a' * MAX_PART}`"
    with pytest.raises(TableError, match=f"{MAX_PART + 1}"):
        name_of("a" * (MAX_PART + 1), "t")


def test_a_part_that_is_too_long_is_refused_and_not_shown_whole() -> None:
    with pytest.raises(TableError, match=rf"{len('archive_') + 249} .*{MAX_PART}") as caught:
        names("lake.archive_{topic}").of(LONGEST_TOPIC)
    assert "a" * 250 not in str(caught.value)


@pytest.mark.parametrize("table", ["lake.shop.orders", "", "topic", "{Topic}"])
def test_a_text_without_the_topic_is_refused(table: str) -> None:
    with pytest.raises(KafkaConfigError, match=r"table .*\{topic\}") as caught:
        parse_table(table)
    assert repr(table) in str(caught.value)


@pytest.mark.parametrize("table", [None, 5, b"lake.{topic}", ["{topic}"], {"t": "{topic}"}])
def test_a_table_that_is_neither_text_nor_function_is_refused(table: object) -> None:
    with pytest.raises(KafkaConfigError, match="table must be") as caught:
        parse_table(table)
    assert repr(table) in str(caught.value)


@pytest.mark.parametrize(
    "table",
    ["a b.{topic}", "lake..{topic}", ".{topic}", "{topic}.", "a.b.c.d.{topic}", "`a`.{topic}"],
)
def test_a_text_that_can_name_no_table_is_refused_at_once(table: str) -> None:
    with pytest.raises((KafkaConfigError, TableError), match=r"lake\.shop\.orders"):
        parse_table(table)


@pytest.mark.parametrize(
    "name",
    [None, 5, b"t", ["t"], "", ".", "a.", "a.b.c.d.e", "a b", "a-b", "a;b", "t\n", "`a`", "é"],
)
def test_a_function_that_returns_no_name_is_refused(name: Any) -> None:
    with pytest.raises(TableError, match="orders") as caught:
        names(lambda _: name).of("orders")
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("error", [KeyError("orders"), RecursionError("deep"), TableError("no")])
def test_a_function_that_fails_is_named(error: Exception) -> None:
    def table(_topic: str) -> str:
        raise error

    with pytest.raises(TableError, match=r"`table` failed .*orders") as caught:
        names(table).of("orders")
    assert type(error).__name__ in str(caught.value)
    assert str(error) in str(caught.value)
    assert caught.value.__cause__ is error


def test_what_is_no_failure_of_a_function_is_not_caught() -> None:
    def table(_topic: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        names(table).of("orders")


@pytest.mark.parametrize(
    ("table", "first", "second"),
    [
        ("lake.{topic}", "a.b", "a_b"),
        ("lake.{topic}", "a-b", "a.b"),
        ("lake.{topic}", "Orders", "orders"),
        (lambda _: "lake.all", "a", "b"),
        (lambda topic: f"{'Lake' if topic == 'a' else 'lake'}.all", "a", "b"),
    ],
)
def test_two_topics_never_share_a_table(
    table: str | Callable[[str], str], first: str, second: str
) -> None:
    shared = names(table)
    name = shared.of(first)
    with pytest.raises(TableError, match="both") as caught:
        shared.of(second)
    assert first in str(caught.value)
    assert second in str(caught.value)
    # The first one keeps it.
    assert shared.of(first) == name


def test_topics_of_other_schemas_may_have_the_same_last_part() -> None:
    by_prefix = names(lambda topic: f"lake.{topic.replace('-', '.')}")
    assert by_prefix.of("eu-orders") == "`lake`.`eu`.`orders`"
    assert by_prefix.of("us-orders") == "`lake`.`us`.`orders`"


def test_a_topic_that_was_refused_takes_no_name() -> None:
    answers = iter(["no name!", "lake.a", "lake.a"])
    shared = names(lambda _: next(answers))
    with pytest.raises(TableError):
        shared.of("t")
    assert shared.of("u") == "`lake`.`a`"
    with pytest.raises(TableError, match="both"):
        shared.of("t")


def test_one_of_many_threads_gets_a_name() -> None:
    shared = names(lambda _: "lake.all")

    def has_it(topic: str) -> bool:
        try:
            shared.of(topic)
        except TableError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(has_it, map(str, range(100)))) == 1


def test_each_hostile_name_is_tried() -> None:
    refused = []
    for topic in HOSTILE_NAMES:
        try:
            names().of(topic)
        except TableError:
            refused.append(topic)
    assert refused == ["", "x" * 5_000]
