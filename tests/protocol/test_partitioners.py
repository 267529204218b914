from __future__ import annotations

import pickle

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.partitioners import (
    DEFAULT,
    PARTITIONERS,
    ROUND_ROBIN,
    STICKY,
    Partitioner,
    parse_partitioner,
    parse_partitioner_class,
)
from kafka_spark_source.options.table import Table

NAMES = (
    "default, sticky, round_robin, random, murmur2, murmur2_random, consistent, "
    "consistent_random, fnv1a, fnv1a_random"
)


@pytest.mark.parametrize("name", PARTITIONERS)
def test_partitioners_have_names_in_any_case(name: str) -> None:
    assert parse_partitioner("kafka.partitioner", name) == PARTITIONERS[name]
    assert parse_partitioner("kafka.partitioner", f" {name.upper()} ") == PARTITIONERS[name]


def test_the_manual_names_them_all() -> None:
    for name in PARTITIONERS:
        assert f"`{name}`" in Table.PARTITIONER.doc


def test_partitioners_travel() -> None:
    for partitioner in PARTITIONERS.values():
        assert pickle.loads(pickle.dumps(partitioner)) == partitioner


@pytest.mark.parametrize("text", ["", "murmur3", "default,sticky", "DefaultPartitioner"])
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        parse_partitioner("kafka.partitioner", text)
    assert str(caught.value) == f"Option 'kafka.partitioner' must be one of {NAMES}, got '{text}'."


@pytest.mark.parametrize(
    ("name", "partitioner"),
    [
        ("org.apache.kafka.clients.producer.internals.DefaultPartitioner", DEFAULT),
        (" org.apache.kafka.clients.producer.UniformStickyPartitioner ", STICKY),
        ("org.apache.kafka.clients.producer.RoundRobinPartitioner", ROUND_ROBIN),
    ],
)
def test_classes_of_java_s_have_twins(name: str, partitioner: Partitioner) -> None:
    assert parse_partitioner_class("kafka.partitioner.class", name) == partitioner


@pytest.mark.parametrize(
    "text", ["", "com.example.Mine", "org.apache.kafka.clients.producer.roundrobinpartitioner"]
)
def test_other_classes_are_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        parse_partitioner_class("kafka.partitioner.class", text)
    assert str(caught.value) == (
        f"Option 'kafka.partitioner.class' names '{text}', and classes of Java's cannot be loaded "
        f"here: set kafka.partitioner to one of {NAMES} instead, or compute a column 'partition'. "
        "Of Java's classes these are known: "
        "org.apache.kafka.clients.producer.internals.DefaultPartitioner, "
        "org.apache.kafka.clients.producer.UniformStickyPartitioner, "
        "org.apache.kafka.clients.producer.RoundRobinPartitioner."
    )
