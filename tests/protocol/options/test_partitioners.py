from __future__ import annotations

import pickle

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.partitioners import (
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
def test_names_are_case_insensitive(name: str) -> None:
    assert parse_partitioner("kafka.partitioner", name) == PARTITIONERS[name]
    assert parse_partitioner("kafka.partitioner", f" {name.upper()} ") == PARTITIONERS[name]


def test_the_option_documents_all_names() -> None:
    for name in PARTITIONERS:
        assert f"`{name}`" in Table.PARTITIONER.doc


def test_partitioners_can_be_pickled() -> None:
    for partitioner in PARTITIONERS.values():
        assert pickle.loads(pickle.dumps(partitioner)) == partitioner


@pytest.mark.parametrize("text", ["", "murmur3", "default,sticky", "DefaultPartitioner"])
def test_unknown_names_are_rejected(text: str) -> None:
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
def test_java_classes(name: str, partitioner: Partitioner) -> None:
    assert parse_partitioner_class("kafka.partitioner.class", name) == partitioner


@pytest.mark.parametrize(
    "text", ["", "com.example.Mine", "org.apache.kafka.clients.producer.roundrobinpartitioner"]
)
def test_other_java_classes_are_rejected(text: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        parse_partitioner_class("kafka.partitioner.class", text)
    assert str(caught.value) == (
        f"Option 'kafka.partitioner.class' names '{text}', but Java classes cannot be loaded "
        f"here: set kafka.partitioner to one of {NAMES} instead, or compute a column 'partition'. "
        "The supported Java classes are: "
        "org.apache.kafka.clients.producer.internals.DefaultPartitioner, "
        "org.apache.kafka.clients.producer.UniformStickyPartitioner, "
        "org.apache.kafka.clients.producer.RoundRobinPartitioner."
    )
