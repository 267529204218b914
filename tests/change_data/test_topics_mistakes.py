"""Mistakes of a new user of `topics_to_tables`: each is answered with one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_protocol.errors import KafkaError
from kafka_spark_source.testing import KafkaCluster
from tests.change_data.shop import SCHEMA, Shop, orders

pytestmark = [pytest.mark.integration, pytest.mark.spark]

NO_REGISTRY = {"value.format": "avro", "schema.registry.url": "http://127.0.0.1:1"}


@pytest.fixture
def shop(spark: SparkSession, kafka_cluster: KafkaCluster, tmp_path: Path) -> Iterator[Shop]:
    with closing(Shop(spark, kafka_cluster.bootstrap_servers, "delta", tmp_path)) as made:
        yield made


def mistakes(shop: Shop) -> list[tuple[dict[str, Any], dict[str, Any], str]]:
    """Arguments, arguments of `start`, and what the sentence must say."""
    return [
        ({}, {"trigger": "1 minute"}, "trigger must be the arguments of Spark's trigger"),
        ({"table": "lake.shop"}, {}, "one name for all topics: write {topic} where"),
        ({"rows": "apend"}, {}, "did you mean 'append'"),
        ({"provider": "parquet"}, {}, "provider must be one of delta, iceberg"),
        ({"partition_by": "id"}, {}, "partition_by must be a list of texts, not 'id'"),
        ({"partition_by": ["day"]}, {}, "Couldn't find column day"),
        ({"table": "nowhere.{topic}"}, {}, "The schema `spark_catalog`.`nowhere` cannot be found"),
        ({"options": {"startingOffsets": "earlyest"}}, {}, "did you mean 'earliest'"),
        ({"options": {"topic": "a"}}, {}, "name the topics to read in the option 'subscribe'"),
        ({"options": {"value.schema": "id bigintt"}}, {}, "bigintt"),
        ({"rows": "changes"}, {}, "set key.format (for JSON also key.schema), or give `keys`"),
        ({"options": NO_REGISTRY}, {}, "Check schema.registry.url and that the registry is up"),
        ({"options": {"value.schema": "name int"}}, {}, "at offset 0: the value: field name"),
        ({"table": lambda _: None}, {}, "with dots between them, e.g. lake.shop.orders"),
        ({}, {"checkpoint": ""}, "checkpoint is empty: give the path"),
        ({}, {"backfill": "a"}, "backfill must be a list of texts, not 'a'"),
    ]


def test_each_mistake_is_told_in_one_sentence(shop: Shop, tmp_path: Path) -> None:
    shop.send(shop.topic("a", partitions=1), orders([1]))
    for number, (arguments, started, sentence) in enumerate(mistakes(shop)):
        usual = {"checkpoint": str(tmp_path / f"{number}"), "trigger": {"availableNow": True}}
        if "avro" in arguments.get("options", {}).values():
            shop.options.pop("value.schema", None)
        with pytest.raises(KafkaError) as refused:
            shop.tables(**arguments).start(**{**usual, **started}).awaitTermination(100)
        text = str(refused.value)
        assert sentence in text, text
        assert "\n" not in text
        assert "Traceback" not in text
        shop.options["value.schema"] = SCHEMA
